"""The data page of a report: which rows it holds, and what its scores were made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastmetrics.base.errors import visible
from fastmetrics.results.score_run import ScoreRun

_LONGEST = 240
_JSON = 20_000


@dataclass(frozen=True)
class SampledRows:
    """The rows of a page of one kind: the number of metrics, and the least and most rows, of how many."""

    kind: str
    metrics: int
    rows: tuple[int, int]
    of: tuple[int, int]


def sampled_rows(strata: Sequence[Mapping[str, object]]) -> list[SampledRows]:
    """One line for each kind of rows.

    >>> worst = {"kind": "worst", "metrics": ["token_f1"], "rows": [0, 1], "n": 90}
    >>> sampled_rows([worst, worst | {"rows": [3], "n": 80}])
    [SampledRows(kind='worst', metrics=2, rows=(1, 2), of=(80, 90))]
    """
    lines = []
    for kind in dict.fromkeys(stratum["kind"] for stratum in strata):
        some = [stratum for stratum in strata if stratum["kind"] == kind]
        shown = [len(stratum["rows"]) for stratum in some if isinstance(stratum["rows"], list)]
        of = [stratum["n"] for stratum in some if isinstance(stratum["n"], int)]
        lines.append(SampledRows(str(kind), len(some), (min(shown), max(shown)), (min(of), max(of))))
    return lines


@dataclass(frozen=True)
class Provenance:
    """What the scores of systems were made from: in short, by name, and whole, as JSON; None without metadata."""

    systems: Sequence[str]
    short: Sequence[tuple[str, str]]
    whole: str | None


def provenance(systems: Sequence[ScoreRun]) -> list[Provenance]:
    """The metadata of the systems; those with the same have one entry."""
    names: dict[str, list[str]] = {}
    short: dict[str, list[tuple[str, str]]] = {}
    for run in systems:
        stored = {key: value for key, value in run.metadata.stored.items() if key != "undefined"}
        whole = json.dumps(stored, ensure_ascii=False, indent=2)[:_JSON] if stored else ""
        names.setdefault(whole, []).append(visible(run.name))
        metrics = ", ".join(map(str, stored.get("scores") or {}))
        short[whole] = [("metrics", visible(metrics))] if metrics else []
        short[whole] += [
            (visible(key), _text(stored[key]))
            for key in stored
            if key not in ("scores", "metrics", "cautions", "declared")
        ]
    return [Provenance(some, short[whole], visible(whole) or None) for whole, some in names.items()]


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return visible(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
