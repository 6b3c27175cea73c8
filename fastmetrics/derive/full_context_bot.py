"""The full-context bot: a model that reads a whole text with each question (S0)."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fastmetrics.core.allowed_values import Optional, Text, Whole, argument
from fastmetrics.core.prices import estimated_tokens
from fastmetrics.derive.call import Call, CallMaker, Message
from fastmetrics.derive.call_settings import MANY, CallSettings
from fastmetrics.errors import FileFormatError, InputError, OptionError
from fastmetrics.errors.messages import Argument

TEMPLATE = """\
Answer the question from the text below. If the text does not hold the answer, say "I don't know".

Text:
{knowledge}

Question: {question}
Answer:"""

_HOLDER = re.compile(r"\{(knowledge|question)\}")


@dataclass(frozen=True)
class FullContextBot(CallSettings):
    """A bot that sends each question with the whole ``knowledge``: p = template(knowledge, question), a = M(p).

    ``template`` contains the placeholders ``{knowledge}`` and ``{question}``.  A prompt of more than ``max_chars``
    characters, or of more tokens than the ``context_window`` (estimated at four bytes each), is an error before the
    first call, because no part of the knowledge may be dropped silently.  The other settings are as in :func:`judge`.

    >>> bot = FullContextBot("Paris is the capital of France.", "m", base_url="http://localhost:8000/v1")
    >>> print(bot.prompt("Which city is the capital?").splitlines()[-2])
    Question: Which city is the capital?

    Raises ``OptionError`` for an invalid setting, and for a template that lacks a placeholder.  Source: S0,
    full-context baseline.
    """

    knowledge: str
    model: str
    name: str = "full-context"
    template: str = TEMPLATE
    context_window: int | None = None
    base_url: str | None = None
    endpoint: str | None = None
    parameters: Mapping[str, Any] | None = None
    max_chars: int = 400_000
    store: str | os.PathLike[str] | None = None
    concurrency: int = 16
    rpm: float | None = None
    tpm: float | None = None
    timeout: float = 60.0
    tries: int = 5
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = None
    pause: float = field(default=0.5, repr=False)
    """Seconds before the second attempt of a call, doubled for each later one."""

    def __post_init__(self) -> None:
        """Check all settings."""
        self.check_calls()
        argument("name", self.name, Text(200, "a name"))
        argument("context_window", self.context_window, Optional(Whole(1, MANY)))
        for name in ("knowledge", "template"):
            argument(name, getattr(self, name), Text(MANY, "a text"))
        missing = {"knowledge", "question"} - set(self._pieces[1::2])
        if missing:
            lacking = " and ".join(f"{{{name}}}" for name in sorted(missing))
            raise OptionError(Argument("template"), f": expected the placeholder {lacking}")

    @cached_property
    def _pieces(self) -> list[str]:
        return _HOLDER.split(self.template)

    @cached_property
    def _maker(self) -> CallMaker:
        return CallMaker(self.asked_model, None)

    def prompt(self, question: str) -> str:
        """The knowledge and a question in the template."""
        pieces = self._pieces.copy()
        pieces[1::2] = [self.knowledge if name == "knowledge" else question for name in pieces[1::2]]
        return "".join(pieces)

    def call(self, question: str) -> Call:
        """The call for a question."""
        return self._maker.call([Message("user", self.prompt(question))])

    def check(self, question: str, row: int) -> None:
        """Raise ``InputError`` if the prompt of a row is too long for the model."""
        prompt = self.prompt(question)
        tokens = estimated_tokens(prompt)
        if len(prompt) > self.max_chars:
            limit: tuple[str, int] = ("max_chars", self.max_chars)
        elif self.context_window is not None and tokens > self.context_window:
            limit = ("context_window", self.context_window)
        else:
            return
        raise InputError(
            f"row {row:,}: the knowledge and the question have {len(prompt):,} characters, about {tokens:,} tokens; ",
            Argument(*limit),
            " is the limit; no call was made",
        )

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that affect the answers."""
        model = self.asked_model
        text = hashlib.sha256(f"{self.template}\0{self.knowledge}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        asked = {"model": model.name, "endpoint": model.endpoint, "parameters": dict(model.parameters)}
        return {"bot": "full-context", **asked, "text": text}


def read_knowledge(paths: Sequence[str | Path]) -> str:
    """The text of one or several UTF-8 files, separated by an empty line.

    Raises ``FileFormatError`` for a file that cannot be read or is not UTF-8 text.
    """
    texts = []
    for path in paths:
        try:
            texts.append(Path(path).read_bytes().decode("utf-8-sig").strip())
        except OSError as error:
            raise FileFormatError(f"{path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path}: byte {error.start:,} is not UTF-8; convert the file first") from error
    return "\n\n".join(texts)
