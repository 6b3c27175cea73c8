"""The settings of model calls, judges and bots: each declared once, for functions and commands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastmetrics.base.options import about

MODEL = "The model, by the server's name."
RUBRICS = (
    "Rubrics: relevance, faithfulness, safety, robustness, correctness (1 to 5), answer_relevance, "
    "answer_faithfulness, e2e (0 to 1), or your own .toml files."
)
KNOWLEDGE = "The text that the full-context bot reads; on the command line, UTF-8 files of it."
TEMPLATE = (
    "The prompt, with columns of the table in braces, such as {contexts} and {question}, and {knowledge} for the text; "
    "on the command line, a file of it."
)


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """The settings of all model calls."""

    base_url: str | None = field(
        default=None,
        metadata=about("The server's address, or NAME: of a model client. Default: OPENAI_BASE_URL, or OpenAI's."),
    )
    endpoint: str | None = field(
        default=None,
        metadata=about("The name of the server in the store. Default: host and path of its address."),
    )
    parameters: Mapping[str, Any] | None = field(
        default=None,
        metadata=about("Parameters of each call: temperature=0.5,max_tokens=200. Default: temperature=0."),
    )
    max_chars: int = field(
        default=400_000,
        metadata=about(
            "Maximum characters of a prompt; a judge does not send a longer one, and a bot ends before the first call."
        ),
    )
    store: str | os.PathLike[str] | None = field(
        default=None,
        metadata=about("The file that stores all calls. Default: calls.sqlite in ~/.cache/fastmetrics."),
    )
    concurrency: int = field(default=16, metadata=about("Maximum concurrent calls."))
    rpm: float | None = field(default=None, metadata=about("Maximum requests per minute."))
    tpm: float | None = field(default=None, metadata=about("Maximum tokens per minute."))
    timeout: float = field(default=60.0, metadata=about("Timeout of a call, in seconds."))
    tries: int = field(default=5, metadata=about("Maximum attempts of a call."))
    max_reply_bytes: int = field(
        default=1_048_576, metadata=about("Maximum bytes of a reply; a longer reply gives the status http.")
    )
    max_calls: int | None = field(default=None, metadata=about("Maximum requests of this run."))
    max_cost: float | None = field(
        default=None,
        metadata=about("Maximum cost of the calls, by the prices: calls that might exceed it are not made."),
    )
    prices: Mapping[str, Any] | str | os.PathLike[str] | None = field(
        default=None,
        metadata=about(
            'Prices of a million tokens, or a TOML or JSON file of them: {"MODEL": {"input": 0.5, "output": 2}}.'
        ),
    )
    pause: float = field(
        default=0.5,
        repr=False,
        metadata=about("Seconds before the second attempt of a call, doubled for each later one."),
    )


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(CallOptions):
    """The settings of a judge besides its rubrics and its model."""

    language: str = field(default="en", metadata=about("The language of the rubrics: en or ru."))
    repeats: int = field(default=1, metadata=about("Number of repeats of each call."))
    structured: bool = field(default=True, metadata=about("Request structured output if the server supports it."))
    retry: Sequence[str] | str = field(
        default=(), metadata=about("Repeat stored calls with these statuses: unparsed,truncated,refused.")
    )
    max_unparsed: int = field(
        default=20, metadata=about("Stop if none of this many first replies has a score; 0 never stops.")
    )
    keep_replies: bool = field(default=False, metadata=about("Copy the model's replies and reasoning to the output."))


@dataclass(frozen=True, kw_only=True)
class BotOptions(CallOptions):
    """The settings of a bot of a model besides its prompt and its model."""

    context_window: int | None = field(
        default=None, metadata=about("The maximum tokens of a prompt, estimated at four bytes a token.")
    )
