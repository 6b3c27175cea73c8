"""The measures of ``fm.rank`` as a table, and the measures of ir_measures that are not supported."""

from __future__ import annotations

import inspect

from fastmetrics.retrieval.measures import FAMILIES, UNSUPPORTED, Family

WRITTEN = {"level": "rel"}
"""Options whose usual name is not that of the formula's parameter."""


def tables() -> str:
    """The table of the measures, and the list of those that are not supported."""
    lines = ["| measure | also called | options | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{family.names[0]}` | {_names(family)} | {_options(family)} | {_meaning(family)} |" for family in FAMILIES
    ]
    reasons = dict.fromkeys(UNSUPPORTED.values())
    left_out = [
        f"- {', '.join(f'`{name}`' for name, why in UNSUPPORTED.items() if why == reason)}: {reason}."
        for reason in reasons
    ]
    return "\n".join([*lines, "", "Measures of ir_measures that are not supported:", "", *left_out])


def _names(family: Family) -> str:
    return ", ".join(f"`{name}`" for name in family.names[1:])


def _meaning(family: Family) -> str:
    return family.summary.replace("``", "`").replace("  ", " ")


def _options(family: Family) -> str:
    """The options with their defaults; the one that ``@`` sets is first."""
    ordered = sorted(family.options, key=lambda name: name != family.at)
    shown = []
    for name in ordered:
        default, written = family.options[name], WRITTEN.get(name, name)
        value = f"{default:g}" if isinstance(default, float) else repr(default)
        assigned = "" if default in (None, inspect.Parameter.empty) else f"={value}"
        shown.append(f"`{'@' if name == family.at else ''}{written}{assigned}`")
    return ", ".join(shown)
