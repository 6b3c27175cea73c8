"""How many rows or bytes are read, scored, asked for and written at a time: the only home of such sizes.

They trade memory for speed and change no value.  Limits that a user sets are options; sizes that the arithmetic of an
algorithm or compiled code fixes stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class BatchSizes:
    """The sizes that all modules look up in :data:`SIZES` when they need them; tests set smaller ones there."""

    batch_rows: int = 4_096
    """Rows scored together: few enough for a batch's words to stay in the cache."""
    least_batch_rows: int = 512
    """A small table is cut evenly over the threads, into batches of at least this many rows."""
    batch_bytes: int = 8 << 20
    """Bytes scored together, where rows are long."""

    wordbook_words: int = 1 << 19
    """Words of a vocabulary that successive batches share, before a new one begins."""
    compared_values: int = 1 << 16
    """Pairs of values: up to so many, the values of a row are all compared with each other."""
    compared_claims: int = 1 << 16
    """Claims × occurrences of their words: from this product on, a row's frequent words are processed separately."""
    vector_tile_rows: int = 1024
    """Rows of vectors on each side of a tile of scalar products."""
    question_block_rows: int = 2048
    """Questions whose nearest earlier ones are looked for together."""
    question_tile_rows: int = 4096
    """Earlier questions that such a block is compared with at a time."""

    line_block_bytes: int = 8 << 20
    """Bytes of a file of JSON lines read at a time."""
    json_block_bytes: int = 1 << 20
    """Bytes of such a block that one thread parses at a time."""
    csv_block_bytes: int = 4 << 20
    """Bytes of a CSV or TSV file parsed at a time."""
    line_numbers: int = 1 << 20
    """Recent records of a CSV or TSV file whose line numbers are remembered."""
    trec_block_bytes: int = 16 << 20
    """Bytes of a TREC run or judgements parsed at a time."""
    stream_block_bytes: int = 1 << 20
    """Bytes of standard input, a pipe or a compressed file read or copied at a time."""
    run_rows: int = 1 << 17
    """Rows of a retrieval run read at a time."""
    held_run_rows: int = 1 << 24
    """Rows held at once of a run that is not grouped by query; the rows of one query, if it has more."""
    log_rows: int = 65_536
    """Rows of a log counted at a time."""
    log_answers: int = 16_384
    """Answers of a log looked at together: few enough for their distinct words to stay in the cache."""

    parquet_buffer_bytes: int = 1 << 20
    """Bytes of a local Parquet file read ahead."""
    parquet_run_rows: int = 65_536
    """Rows of neighbouring small row groups that are read together."""
    remote_ahead_bytes: int = 4 << 20
    """Bytes of a remote file read ahead."""
    remote_fetch_bytes: int = 64 << 20
    """Row groups of a remote Parquet file up to this size are fetched as a whole."""

    remote_files: int = 16
    """Remote files opened at the same time to read their headers."""

    span_bytes: int = 32 << 20
    """Bytes of a span of whole files (see docs/design.md, "Spans")."""
    parquet_span_rows: int = 131_072
    """Rows of a span of Parquet row groups."""
    parquet_span_bytes: int = 256 << 20
    """Bytes of a span of Parquet row groups."""

    read_batch_rows: int = 8_192
    """Rows read from a file into one batch, the unit of work."""
    read_batch_bytes: int = 16 << 20
    """Bytes of such a batch."""
    part_rows: int = 32_768
    """Rows of a part, the unit of saving, where the output is one file."""
    part_bytes: int = 64 << 20
    """Bytes of input of a part."""
    folder_part_rows: int = 131_072
    """Rows of each file, where the output is a folder."""
    answered_part_rows: int = 8_192
    """Rows saved at a time of an output that a model's replies fill."""
    upload_block_bytes: int = 8 << 20
    """Bytes uploaded at a time."""
    uploaded_files: int = 4
    """Files uploaded at the same time."""

    report_part_rows: int = 16_384
    """Rows of a part of the texts and figures of a report on all rows."""
    report_lines: int = 256
    """Rows of the report's table in one of its files."""
    report_text_chars: int = 200_000
    """Characters of texts in one of the report's files, from which on the file ends."""
    report_text_rows: int = 32_768
    """Rows of texts looked up at a time."""

    asked_rows: int = 512
    """Rows whose calls are made and looked up together."""
    exported_calls: int = 4_096
    """Stored calls exported at a time."""


SIZES = BatchSizes()
"""The sizes in use in this process."""


@dataclass(frozen=True)
class ReadSizes:
    """The sizes of what a reader hands on, in rows and in bytes; they change no value that is read."""

    parquet_rows: int = 8_192
    """The rows of a batch of Parquet, fewer if they are long."""
    parquet_bytes: int = 16 << 20
    """The bytes of such a batch."""
    arrow_rows: int = 65_536
    """The rows of a piece of an Arrow file's batch."""


STANDARD = ReadSizes()
"""What suits scoring."""
WHOLE = ReadSizes(parquet_rows=1 << 30, parquet_bytes=1 << 60, arrow_rows=1 << 30)
"""Pieces as large as they lie in the file, for those who need all rows at once and no copy of them."""
