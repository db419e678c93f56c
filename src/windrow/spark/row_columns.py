"""The row protocol: every hidden column that one module gives a row and another reads, declared once.

A column that a single module uses for itself stays there, under a name that no other uses. What other packages know, too, is in
``windrow.model.row_protocol``; what sources and sinks have besides, in ``windrow.connectors.runtime``; partial aggregates and emissions, in
``windrow.windowing.columns``.
"""

from __future__ import annotations

from windrow.model import row_protocol
from windrow.model.fate import Fate
from windrow.model.row_protocol import SEQ
from windrow.model.system import SYSTEM_COLUMNS

# Given by the scan.
FATE = "_fate"  # what became of a row at its source: the number of its fate
RAW_TEXT = "_raw_text"  # what was read, where it could not be decoded

PLACE = row_protocol.PLACE

OWN_WATERMARK, SOURCE_WATERMARK = row_protocol.OWN_WATERMARK, row_protocol.SOURCE_WATERMARK
ROW_WATERMARKS = (OWN_WATERMARK, SOURCE_WATERMARK)

# What travels with a row beside its columns, from one operator to the next.
TRAVELLING = (*(column.name for column in SYSTEM_COLUMNS), SEQ, *ROW_WATERMARKS)

# Given by whoever judges rows, for the accounts.
JUDGED = "_judged"  # what became of a row: the number of its fate
ROWS_COUNT = "_rows"  # rows behind a partial, each counted once however many windows it belongs to
ROW = "_row"  # a row that is set aside, whole and as text; empty for all others
TIME = row_protocol.TIME
# Watermarks when a row came, where rows are judged one by one.
PARTITION_WATERMARK, WATERMARK_THEN = "_partition_watermark", "_source_watermark"
CLOCK = "_clock"  # prefix of the columns with a partition's greatest event time
INCLUDED = "_included"  # rows that INCLUDE_IN_NEXT moved to a later window

# Columns of the accounts: partition, how far event time came in it, rows behind the watermark, rows that the statement passes on.
SOURCE_PARTITION, GREATEST, BEHIND, PASSED = "_source_partition", "_greatest", "_behind", "_passed"
WARNED = "_warned"  # prefix of the columns that count rows which violate a constraint and pass
# Columns by which rows that are in the driver are accounted for.
RIDING = (JUDGED, SOURCE_PARTITION, ROW, GREATEST, BEHIND)

# Rows with these fates do not move a clock.
WATERMARK_NEUTRAL_FATES = (Fate.UNDECODABLE, Fate.BAD_FIELD, Fate.NO_EVENT_TIME, Fate.FUTURE)
