"""All settings of a judge, checked before anything is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastmetrics.core.allowed_values import Choice, Flag, Whole, argument
from fastmetrics.derive.call_settings import LONGEST_REPLY_BYTES, MANY, CallSettings
from fastmetrics.derive.reply_parsing import REFUSED, TRUNCATED, UNPARSED
from fastmetrics.derive.rubric import LANGUAGES, Rubric, find_rubrics

ASKABLE_AGAIN = (UNPARSED, TRUNCATED, REFUSED)
"""Statuses of replies that can be requested again."""

_ALLOWED: Mapping[str, Any] = {
    "language": Choice(*LANGUAGES),
    "repeats": Whole(1, 1_000),
    "structured": Flag(),
    "max_unparsed": Whole(0, MANY),
    "keep_replies": Flag(),
}


@dataclass(frozen=True)
class JudgeSettings(CallSettings):
    """The settings of :func:`judge`, which describes them.

    >>> JudgeSettings(rubrics="safety", model="m", base_url="http://localhost:8000/v1").endpoint_name
    'localhost:8000/v1'

    Raises ``OptionError`` for an invalid setting, and the errors of :func:`find_rubrics` and :func:`price_of`.
    """

    rubrics: str | Path | Rubric | Sequence[str | Path | Rubric]
    model: str
    _: KW_ONLY
    base_url: str | None = None
    endpoint: str | None = None
    language: str = "en"
    parameters: Mapping[str, Any] | None = None
    repeats: int = 1
    structured: bool = True
    max_chars: int = 400_000
    store: str | os.PathLike[str] | None = None
    retry: Sequence[str] | str = ()
    concurrency: int = 16
    rpm: float | None = None
    tpm: float | None = None
    timeout: float = 60.0
    tries: int = 5
    max_reply_bytes: int = LONGEST_REPLY_BYTES
    max_calls: int | None = None
    max_cost: float | None = None
    max_unparsed: int = 20
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = None
    keep_replies: bool = False
    pause: float = field(default=0.5, repr=False)
    """Seconds before the second attempt of a call, doubled for each later one."""

    def __post_init__(self) -> None:
        """Check all settings."""
        self.check_calls()
        for name, allowed in _ALLOWED.items():
            argument(name, getattr(self, name), allowed)
        for status in self.statuses_to_retry:
            argument("retry", status, Choice(*ASKABLE_AGAIN))
        _ = self.found_rubrics

    @property
    def statuses_to_retry(self) -> tuple[str, ...]:
        """The statuses whose stored replies are requested again."""
        return (self.retry,) if isinstance(self.retry, str) else tuple(self.retry)

    @cached_property
    def found_rubrics(self) -> list[Rubric]:
        """The rubrics, read."""
        return find_rubrics(self.rubrics, self.language)
