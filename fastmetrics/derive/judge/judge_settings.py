"""All settings of a judge, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastmetrics.base.options import Choice, Flag, Whole, about, argument, with_parameters
from fastmetrics.derive.calls.call_options import MODEL, RUBRICS, JudgeOptions
from fastmetrics.derive.calls.call_setup import MANY, CallSettings
from fastmetrics.derive.prompts.rubric import LANGUAGES, Rubric, find_rubrics
from fastmetrics.derive.replies.reply_parsing import REFUSED, TRUNCATED, UNPARSED

ASKABLE_AGAIN = (UNPARSED, TRUNCATED, REFUSED)
"""Statuses of replies that can be requested again."""

_ALLOWED: Mapping[str, Any] = {
    "language": Choice(*LANGUAGES),
    "repeats": Whole(1, 1_000),
    "structured": Flag(),
    "max_unparsed": Whole(0, MANY),
    "keep_replies": Flag(),
}


@with_parameters
@dataclass(frozen=True)
class JudgeSettings(JudgeOptions, CallSettings):
    """The settings of :func:`judge`, which explains them.

    {parameters}

    >>> JudgeSettings(rubrics="safety", model="m", base_url="http://localhost:8000/v1").endpoint_name
    'localhost:8000/v1'

    Raises ``OptionError`` for an invalid setting, and the errors of :func:`find_rubrics` and :func:`price_of`.
    """

    rubrics: str | Path | Rubric | Sequence[str | Path | Rubric] = field(metadata=about(RUBRICS))
    model: str = field(metadata=about(MODEL))

    def __post_init__(self) -> None:
        """Check all settings."""
        self.check_calls()
        for name, allowed in _ALLOWED.items():
            argument(name, getattr(self, name), allowed)
        for status in self.statuses_to_retry:
            argument("retry", status, Choice(*ASKABLE_AGAIN))
        _ = self.loaded_rubrics

    @property
    def statuses_to_retry(self) -> tuple[str, ...]:
        """The statuses whose stored replies are requested again."""
        return (self.retry,) if isinstance(self.retry, str) else tuple(self.retry)

    @cached_property
    def loaded_rubrics(self) -> list[Rubric]:
        """The rubrics, read."""
        return find_rubrics(self.rubrics, self.language)
