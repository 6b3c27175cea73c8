"""Limits: rows or bytes that are read, scored and written at a time, and how long the package waits for networks."""

from __future__ import annotations

from dataclasses import dataclass

# Numbers of rows or bytes that are read, scored, requested and written at a time; all such sizes are defined here.
#
# They trade memory for speed and change no value.  Those of reading are arguments of what opens a file
# (``open_source``, ``Triples``), and the instances here are their defaults.  Limits set by users are options; sizes
# determined by an algorithm or by compiled code are defined in its module.


@dataclass(slots=True)
class BatchSizes:
    """The sizes that all modules look up in :data:`SIZES` when they need them; tests set smaller ones there."""

    batch_rows: int = 8_192
    """Rows scored together: enough that what a batch costs besides its rows is a small part of its time."""
    least_batch_rows: int = 512
    """Minimum rows per batch when a small table is divided evenly over the threads."""
    batch_bytes: int = 8 << 20
    """Maximum bytes scored together, for long rows."""

    vocabulary_words: int = 1 << 19
    """Maximum words of a vocabulary that successive batches share, before a new one is created."""
    compared_values: int = 1 << 16
    """Maximum pairs of values of a row that are all compared with each other."""
    compared_claims: int = 1 << 16
    """Claims × occurrences of their words: from this product on, equal claims of a row are compared once."""
    vector_tile_rows: int = 1024
    """Rows of vectors on each side of a tile of scalar products."""
    question_block_rows: int = 2048
    """Questions whose nearest earlier questions are searched together."""
    question_tile_rows: int = 4096
    """Earlier questions compared with a block of questions at a time."""

    query_batch_bytes: int = 4 << 20
    """Bytes of a batch of rows from PostgreSQL."""
    json_block_bytes: int = 1 << 20
    """Bytes of a block of JSON lines that one thread parses at a time."""
    parquet_run_rows: int = 65_536
    """Rows of adjacent small row groups that are read together."""
    stream_block_bytes: int = 1 << 20
    """Bytes of standard input, a pipe or a compressed file read or copied at a time."""
    log_rows: int = 65_536
    """Rows of a log counted at a time."""
    log_answers: int = 16_384
    """Answers of a log processed together: few enough that their distinct words stay in the CPU cache."""

    remote_files: int = 16
    """Remote files opened at the same time to read their headers."""

    read_batch_rows: int = 8_192
    """Rows read from a file into one batch, the unit of work."""
    read_batch_bytes: int = 16 << 20
    """Bytes of a batch read from a file."""
    part_rows: int = 32_768
    """Rows of a part, the unit of saving, if the output is one file."""
    part_bytes: int = 64 << 20
    """Bytes of a part that are in memory before they are written."""
    folder_part_rows: int = 131_072
    """Rows of each file, if the output is a folder."""
    answered_part_rows: int = 8_192
    """Rows saved at a time in outputs of model replies."""
    upload_block_bytes: int = 8 << 20
    """Bytes uploaded at a time."""
    uploaded_files: int = 4
    """Files uploaded at the same time."""

    report_part_rows: int = 16_384
    """Rows of a part of the texts and figures of a report on all rows."""
    report_lines: int = 256
    """Rows of the report's table in one of its files."""
    report_text_chars: int = 200_000
    """Characters of texts after which a file of the report ends."""
    report_text_rows: int = 32_768
    """Rows of texts looked up at a time."""

    call_rows: int = 512
    """Rows whose model calls are made and looked up together."""


SIZES = BatchSizes()
"""The sizes in use in this process."""


@dataclass(frozen=True)
class ReadSizes:
    """The sizes with which a file is opened and read, in rows and in bytes; they do not change the values."""

    parquet_rows: int = 8_192
    """Rows of a batch of Parquet, fewer for long rows."""
    parquet_bytes: int = 16 << 20
    """Bytes of a batch of Parquet."""
    arrow_rows: int = 65_536
    """Rows of a slice of an Arrow file's batch."""

    line_block_bytes: int = 8 << 20
    """Bytes of a file of JSON lines read at a time."""
    csv_block_bytes: int = 4 << 20
    """Bytes of a CSV or TSV file parsed at a time."""

    parquet_buffer_bytes: int = 1 << 20
    """Bytes of a local Parquet file read ahead."""
    remote_ahead_bytes: int = 4 << 20
    """Bytes of a remote file read ahead."""


STANDARD = ReadSizes()
"""The sizes for scoring."""
WHOLE = ReadSizes(parquet_rows=1 << 30, parquet_bytes=1 << 60, arrow_rows=1 << 30)
"""The original sizes of batches in the file, for reading all rows at once without copies."""


@dataclass(frozen=True)
class RankingSizes:
    """The sizes with which rankings and judgements are read."""

    rows: int = 1 << 17
    """Rows of a ranking read at a time."""
    trec_block_bytes: int = 16 << 20
    """Bytes of a TREC run or judgements parsed at a time."""


RANKINGS = RankingSizes()
"""The standard sizes for rankings."""


# How long and how often the package waits for networks: the only home of such limits.


@dataclass(slots=True)
class RetryLimits:
    """The limits that all modules look up in :data:`RETRY_LIMITS` when they need them; tests set smaller ones there."""

    connect_seconds: float = 5.0
    """Seconds that a store has to accept a connection."""
    request_seconds: float = 30.0
    """Seconds that a store has to answer a request."""
    store_attempts: int = 3
    """How often Arrow's S3 client sends a request before it reports the failure."""

    read_tries: int = 3
    """How often a read is tried before its failure counts."""
    pause_seconds: float = 0.2
    """Seconds before the second try of a read; each later one waits twice as long."""

    lock_seconds: float = 30.0
    """Seconds that a write waits for a table of PostgreSQL that another connection, maybe of the same run, reads."""


RETRY_LIMITS = RetryLimits()
"""The limits in use in this process."""
