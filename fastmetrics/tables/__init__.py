"""Files to record batches and back: the only room that touches data files.

Reading: :func:`open_source` makes one :class:`Source` of any files, here or in a store (``s3://``); :func:`cut` cuts
its rows into batches and parts.
Writing: :class:`Output` is a file or folder that appears whole or not at all; its :class:`WorkFolder` keeps finished
parts, so that a killed run can go on.
"""

from fastmetrics.tables.chunks import Chunk, Limits, Place, Reject, Span, cut
from fastmetrics.tables.column_types import Selection
from fastmetrics.tables.output.output import Output, read_metadata
from fastmetrics.tables.source import Source, open_source

__all__ = [
    "Chunk",
    "Limits",
    "Output",
    "Place",
    "Reject",
    "Selection",
    "Source",
    "Span",
    "cut",
    "open_source",
    "read_metadata",
]
