"""The texts of all rows, sorted on disk into the order of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.errors import InputError
from fastmetrics.base.input_columns import resolve
from fastmetrics.base.limits import SIZES
from fastmetrics.reporting.rows.texts.row_texts import Seen
from fastmetrics.reporting.rows.texts.text_sources import TextSource
from fastmetrics.results.score_run import ScoreRun


class KeptTexts:
    """The texts stored in a run, in the order of ``places``."""

    def __init__(self, run: ScoreRun, names: Sequence[str], places: Any = None, seen: Seen | None = None) -> None:
        canonical = resolve(run.columns, needed=())
        stored = {name: canonical[name] for name in names if name in canonical and canonical[name] not in run.scores}
        self.table = run.read(list(stored.values())).rename_columns(list(stored))
        self.places = places
        if seen is not None:
            seen(dict(zip(stored, self.table.columns, strict=True)))

    def rows(self, start: int, stop: int) -> list[Mapping[str, Any]]:
        """The texts of the rows from ``start`` to ``stop``; empty for a missing row."""
        if not self.table.num_columns:
            return [{}] * (stop - start)
        if self.places is None:
            return list(self.table.slice(start, stop - start).to_pylist())
        places = self.places[start:stop]
        return list(self.table.take(pa.array(places, mask=places < 0)).to_pylist())


class SpilledTexts:
    """The texts of a file or table, read once and written to disk in parts of ``each`` rows of the run."""

    def __init__(
        self,
        folder: Path,
        ids: pa.Array,
        texts: TextSource,
        names: Sequence[str],
        each: int,
        seen: Seen | None = None,
    ) -> None:
        self.folder, self.each = folder, each
        self.folder.mkdir()
        self.ids = ids
        self.expected = 0
        self.met = np.zeros(len(ids), np.bool_)
        self.writers: dict[int, pa.RecordBatchStreamWriter] = {}
        columns, pieces = texts.pieces(names)
        pending: list[pa.Table] = []
        for piece in pieces:
            texts_of_piece = pa.table({name: piece.column(column) for name, column in columns.items()})
            if seen is not None:
                seen(dict(zip(texts_of_piece.column_names, texts_of_piece.columns, strict=True)))
            pending.append(texts_of_piece)
            if sum(part.num_rows for part in pending) >= SIZES.report_text_rows:
                self._lay(pa.concat_tables(pending))
                pending = []
        if pending:
            self._lay(pa.concat_tables(pending))
        for writer in self.writers.values():
            writer.close()
        if len(ids) and not self.met.any():
            raise InputError(f"the answers have none of the ids of the scores, such as {ids[0].as_py()!r}")

    def _lay(self, table: pa.Table) -> None:
        own = table["id"].combine_chunks().cast(pa.large_string())
        if own.equals(self.ids.slice(self.expected, len(own))):
            places = np.arange(self.expected, self.expected + len(own))
        else:
            places = np.asarray(pc.index_in(own, self.ids).fill_null(-1)).astype(np.int64)
        self.expected += len(own)
        has_place = places >= 0
        rows, counts = np.unique(places[has_place], return_counts=True)
        twice = rows[self.met[rows] | (counts > 1)]
        if len(twice):
            raise InputError(
                f"the answers hold the id {self.ids[int(twice[0])].as_py()!r} in several rows; give those of one run"
            )
        self.met[rows] = True
        table = table.drop_columns("id").append_column("row", pa.array(places))
        for part in np.unique(places[has_place] // self.each).tolist():
            inside = table.filter(pa.array(has_place & (places // self.each == part)))
            if part not in self.writers:
                self.writers[part] = pa.ipc.new_stream(self.folder / f"{part}.arrow", inside.schema)
            self.writers[part].write_table(inside)

    def rows(self, start: int, stop: int) -> list[Mapping[str, Any]]:
        """The texts of the rows of one part; empty for a row without texts."""
        texts: list[Mapping[str, Any]] = [{}] * (stop - start)
        part = start // self.each
        if part in self.writers:
            with pa.ipc.open_stream(self.folder / f"{part}.arrow") as stream:
                for row in stream.read_all().to_pylist():
                    texts[row.pop("row") - start] = row
            (self.folder / f"{part}.arrow").unlink()
        return texts
