"""Names of score columns: one name for each metric with its options, however a user spells them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from fastmetrics.base.errors import OptionError, shown
from fastmetrics.base.input_columns import PREFIX, is_id
from fastmetrics.base.options import LimitedText, option
from fastmetrics.declaration.metric import Metric

OF_RUN = ("no_relevant", "embedder", "cache")
"""Options that a run may set for all metrics; a spec that sets one keeps it, even with the default value."""

_OWN = re.compile(r"[^\W\d][\w+-]*")
_LONGEST = 200


def canonical_name(metric: Metric, options: Mapping[str, Any], explicit: Collection[str]) -> str:
    """The name of a metric with the ``explicit`` ones of its options; those with their default values are left out.

    So equal names mean equal scores: ``nDCG_cut_10`` is written as ``ndcg@10``.
    """
    changed = [name for name in explicit if name in OF_RUN or options[name] != metric.defaults[name]]
    cut = f"@{options['k']}" if "k" in changed else ""
    others = [f"{name}={options[name]!r}" for name in metric.defaults if name in changed and name != "k"]
    return metric.name + cut + (f"({', '.join(others)})" if others else "")


def own_name(owner: str, name: Any) -> str:
    """The user's own name of a score column, from the option ``name`` of the metric ``owner``, or from a file.

    Raises ``OptionError`` for a name that a rule, a list of metrics or a file could misread.
    """
    text: str = option(owner, "name", name, LimitedText(_LONGEST, "a name"))
    if not _OWN.fullmatch(text) or is_id(text) or text.startswith(PREFIX):
        raise OptionError(
            f"{owner}: option 'name' expects letters, digits, '_', '-' and '+', beginning with a letter, and not "
            f"'id' or {PREFIX + '...'!r}; got {shown(text)}"
        )
    return text
