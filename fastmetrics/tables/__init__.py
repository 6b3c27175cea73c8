"""Reading and writing data files as record batches; no other package opens data files.

Reading: :func:`open_source` opens any files, local or in a store (``s3://``), as one :class:`FileSource`; :func:`cut`
splits its rows into batches and parts.  Writing: :class:`Output` is an atomic file or folder; its :class:`WorkFolder`
stores finished parts, so that a killed run can be resumed.
"""

from fastmetrics.tables.file_columns import Selection
from fastmetrics.tables.input_files import ReadSettings
from fastmetrics.tables.opening import FileSettings, open_source
from fastmetrics.tables.run_outputs import Output, read_metadata
from fastmetrics.tables.sources import FileSource
from fastmetrics.tables.table_chunks import Chunk, Limits, Position, Reject, Split, cut

__all__ = [
    "Chunk",
    "FileSettings",
    "FileSource",
    "Limits",
    "Output",
    "Position",
    "ReadSettings",
    "Reject",
    "Selection",
    "Split",
    "cut",
    "open_source",
    "read_metadata",
]
