"""LaTeX tables of systems and metrics, in the form used in papers on retrieval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def latex_table(
    systems: Sequence[str],
    metrics: Sequence[str],
    means: Mapping[tuple[str, str], float],
    beaten: Mapping[tuple[str, str], Sequence[str]],
    rows: Mapping[str, str],
    notes: Sequence[str] = (),
) -> str:
    """Means by (system, metric), with superscript letters of the systems that are significantly worse.

    ``rows`` has the number of rows behind the means of each metric; notes come last.
    """
    marks = dict(zip(systems, map(_mark, range(len(systems))), strict=True))
    lines = [f"\\begin{{tabular}}{{ll{'r' * len(metrics)}}}", "\\hline"]
    lines += [" & ".join(["", "System", *map(_escaped, metrics)]) + " \\\\", "\\hline"]
    for name in systems:
        cells = [_cell(means[name, one], [marks[other] for other in beaten.get((name, one), ())]) for one in metrics]
        lines.append(" & ".join([marks[name], _escaped(name), *cells]) + " \\\\")
    lines += ["\\hline", " & ".join(["", "$n$", *(_escaped(rows[metric]) for metric in metrics)]) + " \\\\"]
    wide = f"\\multicolumn{{{2 + len(metrics)}}}{{l}}"
    below = [f"{wide}{{\\footnotesize {_escaped(note)}}} \\\\" for note in notes]
    return "\n".join([*lines, "\\hline", *below, "\\end{tabular}"]) + "\n"


def _mark(place: int) -> str:
    """a to z, then a1 to z1 and so on."""
    return chr(ord("a") + place % 26) + (str(place // 26) if place >= 26 else "")


def _cell(mean: float, beaten: Sequence[str]) -> str:
    if math.isnan(mean):
        return "--"
    return f"{mean:.4f}" + (f"$^{{{''.join(sorted(beaten))}}}$" if beaten else "")


def _escaped(text: str) -> str:
    special = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "&%$#_{}" else c) for c in text)
