"""The row protocol, as far as several packages share it: columns that rows have beside those of the user, each declared once.

Those that users may name are described in ``windrow.model.system``. What only rows in Spark have is in ``windrow.spark.row_columns``, what
only partials and state have in ``windrow.windowing.columns``; what a single module uses for itself stays in it, under a name of its own.
Names that saved states hold never change.
"""

from __future__ import annotations

EVENT_TIME = "_event_time"
TOPIC = "_topic"
KEY = "_key"
HEADERS = "_headers"
START, END = "_window_start", "_window_end"
EMISSION, REVISION = "_emission", "_revision"

SEQ = "_seq"  # anything orderable that gives the order of the input; within a batch, the place at which a row arrived
PLACE = "_place"  # of a row among those that are handled together
TIME = "_t"  # as whole microseconds: the event time of a row, or the time that the bound of its join is about

# Greatest event time before the row, microseconds, before any delay is taken off; NULL where nothing came before.
OWN_WATERMARK = "_own_mark"
SOURCE_WATERMARK = "_source_mark"
