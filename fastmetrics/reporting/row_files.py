"""All rows of a report in files that its page loads on demand: one column per metric, lines, and texts."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fastmetrics.base.arrays import Floats
from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import SIZES
from fastmetrics.reporting.row_texts import TEXTS, ScoredClaims, cut, shown_names, shown_texts, stored_texts
from fastmetrics.reporting.rows import PairedRows
from fastmetrics.results.score_table import ScoreTable
from fastmetrics.results.worst_rows import TextSource

# The texts of all rows, sorted on disk into the order of the scores.


class KeptTexts:
    """The texts stored in a run, in the order of ``places``."""

    def __init__(self, run: ScoreTable, names: Sequence[str], places: Any = None) -> None:
        self.table = stored_texts(run, names)
        self.places = places

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
    ) -> None:
        self.folder, self.each = folder, each
        self.folder.mkdir()
        self.ids = ids
        self.expected = 0
        self.met = np.zeros(len(ids), np.bool_)
        self.writers: dict[int, pa.RecordBatchStreamWriter] = {}
        pending: list[pa.Table] = []
        for piece in texts.pieces(names)[1]:
            pending.append(piece)
            if sum(part.num_rows for part in pending) >= SIZES.report_text_rows:
                self._write_rows(pa.concat_tables(pending))
                pending = []
        if pending:
            self._write_rows(pa.concat_tables(pending))
        for writer in self.writers.values():
            writer.close()
        if len(ids) and not self.met.any():
            raise InputError(f"the answers have none of the ids of the scores, such as {ids[0].as_py()!r}")

    def _write_rows(self, table: pa.Table) -> None:
        """Append the texts of some rows to the files of the parts of the run that they belong to."""
        # Mostly the texts are in the order of the run; only if the next ids differ are they looked up one by one.
        own = table["id"].combine_chunks()
        if own.equals(self.ids.slice(self.expected, len(own))):
            places = np.arange(self.expected, self.expected + len(own))
        else:
            places = np.asarray(pc.index_in(own, self.ids).fill_null(-1)).astype(np.int64)
        self.expected += len(own)
        has_place = places >= 0
        rows, counts = np.unique(places[has_place], return_counts=True)
        twice = rows[self.met[rows] | (counts > 1)]  # in an earlier table, or in this one
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


# All rows of a report in files that its page loads on demand: one column per metric, lines, and texts.


MARK = "folder.json"
"""The file that marks a folder as a report."""
_LINE = 120
"""Maximum characters of a question in a line."""
_EXACT = 2.0**24
"""Largest integer up to which float32 represents all integers exactly."""


class RowFiles:
    """Writes all rows into a folder; ``page`` is the data that the script needs to read them."""

    def __init__(self, folder: Path, rows: PairedRows) -> None:
        self.folder, self.rows = folder / "rows", rows
        self.folder.mkdir()
        self.starts: list[int] = []
        prefixes = ("score", "before", *(f"other-{place}" for place in range(len(rows.further))))
        after, before, *others = [
            [
                self._column(f"{prefix}-{at}", system.scores(name)) if system is not None and system.has(name) else None
                for at, name in enumerate(rows.names)
            ]
            for prefix, system in zip(prefixes, rows.systems, strict=True)
        ]
        for at, codes in enumerate(rows.segments.codes):
            self._column(f"segment-{at}", codes.astype(np.float64))
        wide = "f8" if "f8" in {*after, *before, *itertools.chain(*others)} else "f4"
        self.page = {
            "n": rows.n,
            "lines": SIZES.report_lines,
            "starts": self.starts,
            "after": after,
            "before": before,
            "others": others,
            "each": wide,
            "segments": len(rows.segments.codes),
        }
        self._write_texts(wide)
        (folder / MARK).write_text(json.dumps({"report": "fastmetrics", "worst-rows": rows.n}) + "\n", encoding="utf-8")

    def _column(self, name: str, values: Floats) -> str:
        """Write a column of scores; return the type of its numbers."""
        kind = kind_of(values)
        self._write(name, json.dumps(_encoded(values, kind)))
        return kind

    def _write_texts(self, kind: str) -> None:
        rows = self.rows
        work = self.folder / "work"
        work.mkdir()
        texts = _source(work / "texts", rows)
        earlier = _earlier(work / "earlier", rows)
        scored = ScoredClaims.of(rows.main)
        for start in range(0, rows.n, SIZES.report_part_rows):
            stop = min(start + SIZES.report_part_rows, rows.n)
            answers = [one.get("answer") for one in earlier.rows(start, stop)] if earlier else [None] * (stop - start)
            before = [None if answer is None else cut(answer) for answer in answers]
            described = rows.described(range(start, stop), shown_texts(texts.rows(start, stop), scored), before)
            self._write_part(start, described, kind)
        shutil.rmtree(work)

    def _write_part(self, start: int, row_data: Sequence[dict[str, Any]], kind: str) -> None:
        lines = [
            [row.pop("id"), str(row["t"].get("question") or row["t"].get("answer") or "")[:_LINE]] for row in row_data
        ]
        for first in range(0, len(lines), SIZES.report_lines):
            self._write(
                f"lines-{(start + first) // SIZES.report_lines}", _json(lines[first : first + SIZES.report_lines])
            )
        stop = start + len(row_data)
        unknown = np.full(stop - start, np.nan)
        systems = [
            [unknown if one is None else one for one in columns] for columns in self.rows.scores(slice(start, stop))
        ]
        for first, written in _by_weight([_json(row) for row in row_data]):
            here = slice(first, first + len(written))
            scores = [_encoded(_matrix(columns, here), kind) for columns in systems]
            parts = f'"s":{json.dumps(scores[0])},"b":{json.dumps(scores[1] if self.rows.base else None)}'
            parts += f',"x":{json.dumps(scores[2:])}' if self.rows.further else ""
            self._write(f"texts-{len(self.starts)}", f'{{{parts},"rows":[{",".join(written)}]}}')
            self.starts.append(start + first)

    def _write(self, name: str, value: str) -> None:
        text = f"shards.take({json.dumps(name)},{value});\n"
        (self.folder / f"{name}.js").write_text(text, encoding="utf-8", newline="\n")


def kind_of(values: Floats) -> str:
    """``f4`` if float32 is exact for the displayed values, else ``f8``."""
    finite = values[np.isfinite(values)]
    return "f8" if len(finite) and float(np.abs(finite).max()) > _EXACT else "f4"


def _source(folder: Path, rows: PairedRows) -> KeptTexts | SpilledTexts:
    if rows.texts is None:
        return KeptTexts(rows.main, TEXTS)
    assert rows.ids is not None
    return SpilledTexts(folder, rows.ids, rows.texts, shown_names(rows.main), SIZES.report_part_rows)


def _earlier(folder: Path, rows: PairedRows) -> KeptTexts | SpilledTexts | None:
    """The baseline's answers."""
    if rows.base is None or rows.ids is None:
        return None
    if rows.base_texts is not None:
        return SpilledTexts(folder, rows.ids, rows.base_texts, ["answer"], SIZES.report_part_rows)
    return KeptTexts(rows.base, ["answer"], rows.partner)


def _by_weight(written: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """The rows of each file of texts, and the position of the first row."""
    first = weight = 0
    for at, text in enumerate(written):
        weight += len(text)
        if weight >= SIZES.report_text_chars or at == len(written) - 1:
            yield first, written[first : at + 1]
            first, weight = at + 1, 0


def _matrix(columns: Sequence[Floats], rows: slice) -> Floats:
    """The rows in order, each with the scores of all metrics."""
    return np.column_stack([column[rows] for column in columns]) if columns else np.zeros(0)


def _encoded(values: npt.NDArray[np.float64], kind: str) -> str:
    return base64.b64encode(values.astype(f"<{kind}").tobytes()).decode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
