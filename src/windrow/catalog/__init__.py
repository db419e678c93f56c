"""Names -> facts: what streams, tables, functions and options there are, and which types expressions have.

Takes a parsed script and gives a ``Catalog``; the facts about Spark's functions are a data file made by ``tools/generate_functions.py``.
Must not know: rules and messages (that is ``windrow.check``), Spark, the network.
"""

from windrow.catalog.schema import Catalog, Relation, build_catalog

__all__ = ["Catalog", "Relation", "build_catalog"]
