"""Pictures of graphs: for a terminal, Mermaid, Graphviz and SVG without any other program.

Takes nodes and edges of two kinds: boxes of text in layers (``Graph``), and boxes whose fields are joined (``FieldGraph``). Must not
know: what they stand for.
"""

from windrow.graphs.fields import Box, FieldGraph, Link, draw_fields
from windrow.graphs.layered import Edge, Graph, Node, draw

__all__ = ["Box", "Edge", "FieldGraph", "Graph", "Link", "Node", "draw", "draw_fields"]
