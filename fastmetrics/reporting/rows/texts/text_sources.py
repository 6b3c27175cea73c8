"""Where the texts of each system come from: one file for the first, one for each, or one whose column names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.results.open_runs import are_several
from fastmetrics.results.worst_rows import text_pieces, with_texts
from fastmetrics.tables.sources import open_table


@dataclass(frozen=True)
class TextSource:
    """A file or table with texts and ids; ``of`` is its column of systems and the name of one, if it has several."""

    answers: Any
    of: tuple[str, str] | None = None

    def added(self, rows: pa.Table, names: Sequence[str], seen: Any = None) -> pa.Table:
        """The rows, which have ids, with these texts of the source."""
        return with_texts(rows, self.answers, self.of, names, seen)

    def pieces(self, names: Sequence[str]) -> Any:
        """The names of the id and text columns, and the rows piece by piece."""
        return text_pieces(self.answers, names, self.of)


def text_sources(options: ReportOptions, names: Sequence[str]) -> Mapping[str, TextSource]:
    """The source of each run's texts, for the runs ``names`` that have one.

    Raises ``OptionError`` for several sources whose number is not that of the runs.
    """
    texts, system = options.texts, options.system
    if texts is None:
        return {}
    several = list(texts.values()) if isinstance(texts, Mapping) and are_several(texts) else texts
    if not are_several(texts) or len(several) == 1:
        answers = several[0] if are_several(texts) else texts
        if system is not None and system in open_table(answers, name="texts").names:
            return {name: TextSource(answers, (system, name)) for name in names}
        return {names[0]: TextSource(answers)}
    if len(several) != len(names):
        count = f" has {len(several)} sources for {len(names)} runs; give one for the first run, or one for each"
        raise OptionError(Argument("texts"), count)
    return {name: TextSource(answers) for name, answers in zip(names, several, strict=True)}
