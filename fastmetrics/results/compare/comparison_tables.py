"""The tables of comparisons: cells as text, and LaTeX tables of systems and metrics, as in papers on retrieval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fastmetrics.base.display import number
from fastmetrics.results.compare.compared_pair import Compared


def counted(count: int | None) -> str:
    """A count.

    >>> counted(1500), counted(None)
    ('1,500', '–')
    """
    return "–" if count is None else number(count)


def rows(pair: Compared) -> str:
    """The number of paired rows, or of both systems' rows if they are independent."""
    return number(pair.n_paired) if pair.n_paired else f"{pair.n_only_baseline:,} + {pair.n_only_other:,}"


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(0.25), signed(-0.25), signed(math.nan)
    ('+0.2500', '-0.2500', '–')
    """
    return "–" if math.isnan(value) else ("+" if value > 0 else "") + number(value)


def bounds(low: float, high: float, mark: str = "") -> str:
    """The interval of a difference, and a mark.

    >>> bounds(-0.5, 0.25, "*")
    '[-0.5000, +0.2500]*'
    """
    return f"–{mark}" if math.isnan(low) else f"[{signed(low)}, {signed(high)}]{mark}"


def p_value(p: float) -> str:
    """A p value.

    >>> p_value(0.03), p_value(1e-9)
    ('0.0300', '<0.0001')
    """
    return "–" if math.isnan(p) else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def latex_table(
    systems: Sequence[str],
    metrics: Sequence[str],
    means: Mapping[tuple[str, str], float],
    beaten: Mapping[tuple[str, str], Sequence[str]],
    rows: Mapping[str, str],
    better: Mapping[str, str | None],
    notes: Sequence[str] = (),
) -> str:
    """Means by (system, metric), with superscript letters of the systems that are significantly worse.

    The best mean of a metric, by the direction in ``better``, is bold; the rules are those of the package booktabs.
    ``rows`` has the number of rows behind the means of each metric; notes come last.
    """
    marks = dict(zip(systems, map(_mark, range(len(systems))), strict=True))
    lines = [f"\\begin{{tabular}}{{ll{'r' * len(metrics)}}}", "\\toprule"]
    lines += [" & ".join(["", "System", *map(_escaped, metrics)]) + " \\\\", "\\midrule"]
    best = {metric: _best([means[name, metric] for name in systems], better.get(metric)) for metric in metrics}
    for name in systems:
        cells = [
            _cell(
                means[name, metric],
                [marks[other] for other in beaten.get((name, metric), ())],
                bold=means[name, metric] == best.get(metric),
            )
            for metric in metrics
        ]
        lines.append(" & ".join([marks[name], _escaped(name), *cells]) + " \\\\")
    lines += ["\\midrule", " & ".join(["", "$n$", *(_escaped(rows[metric]) for metric in metrics)]) + " \\\\"]
    wide = f"\\multicolumn{{{2 + len(metrics)}}}{{l}}"
    below = [f"{wide}{{\\footnotesize {_escaped(note)}}} \\\\" for note in notes]
    return "\n".join([*lines, "\\bottomrule", *below, "\\end{tabular}"]) + "\n"


def _mark(place: int) -> str:
    """a to z, then a1 to z1 and so on."""
    return chr(ord("a") + place % 26) + (str(place // 26) if place >= 26 else "")


def _best(means: Sequence[float], better: str | None) -> float | None:
    """The best of several means; None without a direction, and where no mean differs.

    >>> [_best([0.1, 0.3, math.nan], way) for way in ("higher", "lower")], _best([1, 1], "lower")
    ([0.3, 0.1], None)
    """
    values = [mean for mean in means if not math.isnan(mean)]
    if better is None or len(set(values)) < 2:
        return None
    return max(values) if better == "higher" else min(values)


def _cell(mean: float, beaten: Sequence[str], *, bold: bool) -> str:
    if math.isnan(mean):
        return "--"
    shown = f"\\textbf{{{mean:.4f}}}" if bold else f"{mean:.4f}"
    return shown + (f"$^{{{''.join(sorted(beaten))}}}$" if beaten else "")


def _escaped(text: str) -> str:
    special = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
