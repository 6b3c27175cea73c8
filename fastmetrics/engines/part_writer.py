"""Writing finished parts to the work folder and the output while scoring continues."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from fastmetrics.engines.scored_parts import Finished
from fastmetrics.tables.encoders import Encoder, described, dump, writing
from fastmetrics.tables.file_formats import encoder
from fastmetrics.tables.run_outputs import FinishedPart, Output


class PartWriter:
    """Receives parts in order, saves each, and encodes the output in parallel; ``signed`` is the output's schema."""

    def __init__(self, output: Output, signed: pa.Schema) -> None:
        self._output = output
        self._signed = signed
        self._encoder: Encoder | None = None
        self.seconds = 0.0
        self.guarded = 0
        """After the output is complete, the number of its cells with a leading quote."""
        if not output.folder:
            with writing(output.path):
                self._encoder = encoder(output.temporary, signed, output.format, output.compression, guard=output.guard)

    def add(self, number: int, make: Callable[[], Finished]) -> None:
        """Save a new part, completed by ``make``, and write it to the output."""
        began = time.perf_counter()
        part = make()
        self._output.work.save(
            number, part.data, rows=part.rows, rejects=part.rejects, stop=part.stop, observed=part.observed
        )
        if self._encoder is not None:
            self._encode(_batch_of(pa.py_buffer(part.data[0])) if part.batch is None else part.batch)
        self.seconds += time.perf_counter() - began

    def reuse(self, data: pa.Buffer) -> None:
        """Write a part saved by an earlier run to the output."""
        began = time.perf_counter()
        if not self._output.folder:
            self._encode(_batch_of(data))
        self.seconds += time.perf_counter() - began

    def _encode(self, part: pa.RecordBatch) -> None:
        if self._encoder is not None:
            with writing(self._output.path):
                self._encoder.write(part)

    def close(self, signature: Mapping[str, Any], conclusion: Mapping[str, Any]) -> None:
        """Complete the output under its temporary name and rename it."""
        began = time.perf_counter()
        parts: dict[int, FinishedPart] = self._output.work.parts
        beside: dict[str, Any] = {}
        with writing(self._output.path):
            if self._encoder is not None:
                self._encoder.close(conclusion)
                self.guarded = self._encoder.guarded
                if self._output.sidecar is not None:
                    beside = described(self._signed, self._encoder, self._output.temporary)
                self._encoder = None
        self._output.commit(dump({**signature, **conclusion, **beside}), sum(part.rejects for part in parts.values()))
        self.seconds += time.perf_counter() - began

    def discard(self) -> None:
        """Discard the unfinished file; the parts stay."""
        if self._encoder is not None:
            self._encoder.discard()
            self._encoder = None
            self._output.temporary.unlink(missing_ok=True)


def _batch_of(data: pa.Buffer) -> pa.RecordBatch:
    return pa.ipc.open_stream(data).read_next_batch()
