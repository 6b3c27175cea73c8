"""Parts into the work folder and into the output, while scoring goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from fastmetrics.corpus import add_counts, metadata
from fastmetrics.tables.checkpoint import Part
from fastmetrics.tables.chunks import Place, Reject
from fastmetrics.tables.output import Output
from fastmetrics.tables.sinks import KEY, Encoder, ParquetEncoder, dump, encoder, undefined_as_null, writing

_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class PartWriter:
    """Takes parts in order, saves each, and encodes the output file beside.

    ``observe`` sees each part while undefined (NaN) still differs from missing (null); what it returns is kept with
    the part as JSON, so that a resumed run has it too.
    """

    def __init__(
        self,
        output: Output,
        schema: pa.Schema,
        signature: Mapping[str, Any],
        kept: set[str],
        observe: Callable[[pa.RecordBatch], Any],
    ) -> None:
        self._output = output
        self._schema = schema
        self._signature = signature
        self._kept = kept
        self._observe = observe
        self._encoder: Encoder | None = None
        self.seconds = 0.0
        if not output.folder:
            with writing(output.path):
                self._encoder = encoder(output.temporary, self._signed(), output.format, output.compression)

    def add(self, number: int, batches: list[pa.RecordBatch], rejects: list[Reject], stop: Place) -> None:
        """Save a new part and write it to the output."""
        began = time.perf_counter()
        part = _one(batches, self._schema)
        counts = add_counts(batches)
        observed = self._observe(part.replace_schema_metadata(metadata({}, counts)) if counts else part)
        part = undefined_as_null(part, self._kept)
        data = [self._parquet(part)] if self._output.folder else _ipc(part)
        lines = "".join(reject.to_json() + "\n" for reject in sorted(rejects, key=lambda reject: reject.place))
        self._output.work.save(number, data, rows=part.num_rows, rejects=lines, stop=stop, observed=observed)
        self._encode(part)
        self.seconds += time.perf_counter() - began

    def reuse(self, data: pa.Buffer) -> None:
        """Write a part that an earlier run saved to the output."""
        began = time.perf_counter()
        if not self._output.folder:
            self._encode(pa.ipc.open_stream(data).read_next_batch())
        self.seconds += time.perf_counter() - began

    def _encode(self, part: pa.RecordBatch) -> None:
        if self._encoder is not None:
            with writing(self._output.path):
                self._encoder.write(part)

    def _parquet(self, part: pa.RecordBatch) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        file = ParquetEncoder(sink, self._signed())
        file.write(part)
        file.close({})
        return sink.getvalue()

    def _signed(self) -> pa.Schema:
        return self._schema.with_metadata({KEY: dump(self._signature)})

    def close(self, conclusion: Mapping[str, Any]) -> None:
        """Complete the output under its temporary name and give it its final one."""
        began = time.perf_counter()
        parts: dict[int, Part] = self._output.work.parts
        if self._output.folder and not parts:
            empty = pa.RecordBatch.from_pylist([], schema=self._schema)
            self._output.work.save(
                0, [self._parquet(empty)], rows=0, rejects="", stop=Place(0, 0), observed=self._observe(empty)
            )
        with writing(self._output.path):
            if self._encoder is not None:
                self._encoder.close(conclusion)
                self._encoder = None
        self._output.commit(dump({**self._signature, **conclusion}), sum(part.rejects for part in parts.values()))
        self.seconds += time.perf_counter() - began

    def abandon(self) -> None:
        """Give up the unfinished file; the parts stay."""
        if self._encoder is not None:
            self._encoder.abandon()
            self._encoder = None
            self._output.temporary.unlink(missing_ok=True)


def _one(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """The batches as one, copied, so that the files do not show how the work was cut."""
    table = pa.Table.from_batches(batches, schema=schema)
    arrays = [pa.concat_arrays([*column.chunks, *[pa.array([], column.type)] * 2]) for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _ipc(part: pa.RecordBatch) -> list[pa.Buffer]:
    """The part as an Arrow IPC stream, in pieces whose sizes are known, which a growing buffer's is not."""
    return [part.schema.serialize(), part.serialize(), pa.py_buffer(_END_OF_STREAM)]
