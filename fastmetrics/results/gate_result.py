"""The result of checking scores against rules: as text, JSON, Markdown and JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from xml.etree import ElementTree

import numpy as np

from fastmetrics.core.arrays import Flags
from fastmetrics.core.display import Grid, Shown, number
from fastmetrics.core.records import Mapped, Records
from fastmetrics.results.gate_checked import Checked
from fastmetrics.stats.interval_notes import interval_notes
from fastmetrics.stats.mean_interval import NAMES

_NOTED = 8


@dataclass(frozen=True)
class Gate(Shown, Sequence[Checked]):
    """All rules with their results; prints as a table."""

    scores: str
    checks: Records[Checked]
    baseline: str | None
    confidence: float
    correction: str = "none"
    notes: Sequence[str] = ()
    interval: str = "auto"
    """``auto``, or ``sequential`` for intervals that hold at every look."""

    @property
    def passed(self) -> bool:
        """Whether there are rules and all are met."""
        return bool(self.checks) and bool(self._met.all())

    @property
    def failures(self) -> list[Checked]:
        """The rules that are not met."""
        return list(self._failures)

    @property
    def _met(self) -> Flags:
        found: Flags = self.checks.column("met").to_numpy(zero_copy_only=False)
        return found

    @property
    def _failures(self) -> Records[Checked]:
        return self.checks.at(~self._met)

    def __len__(self) -> int:
        return len(self.checks)

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.checks)

    def __getitem__(self, place: Any) -> Any:
        return self.checks[place]

    @property
    def verdict(self) -> str:
        """The number of rules that are met."""
        failed = len(self._failures)
        total = f"{len(self.checks):,} check{'s' * (len(self.checks) != 1)}"
        if self.passed:
            return f"passed: {total} met"
        return f"FAILED: {failed:,} of {total} not met" if failed else "FAILED: no rule was checked"

    def grids(self) -> list[Grid]:
        """The rules, unmet rules first; the rows without a score are those that count or would count as the worst."""
        rows = Mapped(_cells, self.checks.at(np.argsort(self._met, kind="stable")))
        return [Grid(("rule", "value", "interval", "n", "no score", ""), rows)]

    def remarks(self) -> Sequence[str]:
        """The verdict, why rules are not met, how rows without a score count, the intervals, and the notes."""
        verdict = f"{self.scores} {self.verdict}"
        reasons = (f"not met: {one.title}: {one.reason}" for one in self._failures)
        against = [] if self.baseline is None else [f"changes against {self.baseline}"]
        return [
            verdict,
            *_some(reasons),
            *against,
            *_some(self._rows()),
            *_some(self._crossed()),
            *self._intervals(),
            *self.notes,
        ]

    def _rows(self) -> Iterator[str]:
        """How rows without a score count; rules over the same rows say the same."""
        counts = [self.checks.numbers(name) for name in ("n_worst", "n_ignored", "n_new")]
        some = self.checks.at(np.any([count > 0 for count in counts], axis=0))
        several = len({(id(one.rule)) for one in some}) > 1
        seen: set[int] = set()
        for one in some:
            for text in _unscored(one):
                if not several:
                    yield text
                elif (digest := hash(text)) not in seen:  # a million texts would take several hundred megabytes
                    seen.add(digest)
                    yield text

    def _crossed(self) -> Iterator[str]:
        """The rules on means that the rows do not decide."""
        return (
            f"{one.title}: the {one.confidence * 100:g} % interval [{number(one.low)}, {number(one.high)}] "
            f"({NAMES[one.interval]}{'' if one.interval_note is None else f'; {one.interval_note}'}) crosses "
            f"{one.rule.limit_text}, so these rows do not decide it; {one.metric}."
            f"{'low' if one.rule.compare in ('>', '>=') else 'high'} reads the bound"
            for one in self.checks
            if one.crosses
        )

    def _intervals(self) -> list[str]:
        """The kinds of intervals that are shown, and their correction."""
        kinds: dict[float, dict[tuple[str, str, str | None], None]] = {}
        for one in self.checks:
            if one.has_interval:
                kinds.setdefault(one.confidence, {})[one.metric, one.interval, one.interval_note] = None
        found = [note for level, several in kinds.items() for note in interval_notes(several, level)]
        read = sum(one.rule.reads_interval and one.why is None for one in self.checks)
        if self.correction != "none" and read:
            found.append(
                f"{self.confidence * 100:g} % intervals corrected by Bonferroni for {read:,} checks that read one"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """``{"passed", "verdict", "scores", "baseline", "checks": [{"rule", "value", "met", …}], "notes"}``."""
        return {**self._figures(), "checks": [one.to_dict() for one in self.checks]}

    def _figures(self) -> dict[str, Any]:
        result = {"passed": self.passed, "verdict": self.verdict, "scores": self.scores, "baseline": self.baseline}
        settings = {"confidence": self.confidence, "correction": self.correction, "interval": self.interval}
        notes = list(self.remarks()[1:])
        return {**result, **settings, "checks": Mapped(Checked.to_dict, self.checks), "notes": notes}

    def to_markdown(self) -> str:
        """The verdict, the table and the notes, for a comment on a pull request."""
        return "".join(f"{line}\n" for line in self.markdown_lines())

    def markdown_lines(self) -> Iterator[str]:
        """The verdict, the table and the notes in GitHub's Markdown, line by line."""
        yield f"### {'✅' if self.passed else '❌'} {self.scores} {self.verdict}"
        yield ""
        yield from self.grids()[0].markdown_lines()
        notes = self.remarks()[1:]
        yield from ["", *(f"- {note}" for note in notes)] if notes else []

    def to_junit(self) -> str:
        """JUnit XML: a test case for each rule, with a failure if it is not met."""
        counts = {"tests": str(len(self.checks)), "failures": str(len(self.failures)), "errors": "0"}
        suite = ElementTree.Element("testsuite", {"name": f"fastmetrics gate {_plain(self.scores)}", **counts})
        for one in self.checks:
            named = {"classname": _plain(one.metric), "name": _plain(one.title)}
            case = ElementTree.SubElement(suite, "testcase", named)
            if not one.met:
                ElementTree.SubElement(case, "failure", {"message": _plain(one.reason)})
            ElementTree.SubElement(case, "system-out").text = _plain(one.basis)
        ElementTree.indent(suite)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _cells(one: Checked) -> tuple[str, ...]:
    return (
        one.title,
        one.shown,
        one.interval if one.has_interval else "–",
        number(one.n),
        number(one.n_worst + one.n_ignored),
        "ok" if one.met else "FAILED",
    )


def _unscored(one: Checked) -> Iterator[str]:
    """How the rows without a score count in a check."""
    where = one.metric if one.segment is None else f"{one.metric} ({one.segment})"
    lacking = "that the run failed to score" if not one.rule.is_change else "that only the baseline scores"
    if one.n_worst and one.worst is not None:
        yield f"{where}: {one.n_worst:,} rows {lacking} count as {number(one.worst)}"
    if one.n_ignored:
        yield f"{where}: {one.n_ignored:,} rows {lacking} are ignored (unpaired=ignore)"
    if one.n_new:
        yield f"{where}: {one.n_new:,} rows that the baseline does not score are in no change"


def _some(lines: Iterable[str]) -> list[str]:
    """The first lines, and the number of the others."""
    others = iter(lines)
    first = list(islice(others, _NOTED))
    more = sum(1 for _ in others)
    return [*first, *([f"{more:,} more of this kind"] if more else [])]


def _plain(text: str) -> str:
    """The text with U+FFFD for characters that XML forbids: most control characters, surrogates, U+FFFE, U+FFFF."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
