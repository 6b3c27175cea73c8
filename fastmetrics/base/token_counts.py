"""The counts of tokens that a record has, as APIs and tools name them, and which of them are parts of others.

A prompt has fresh tokens, tokens read from a cache and tokens written to one; a completion has visible tokens and
those of reasoning.  OpenAI's ``prompt_tokens`` are all of a prompt, Anthropic's ``input_tokens`` the fresh ones alone.
So the name of a count says whether the others are *within* it or *apart*; a name that tools use in both ways says
nothing, and then only the total can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fastmetrics.base.arrays import is_text
from fastmetrics.base.paths import Names

PROMPT, COMPLETION, TOTAL = "prompt_tokens", "completion_tokens", "total_tokens"
READ, WRITTEN, REASONING = "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"
COUNTS = (PROMPT, COMPLETION, TOTAL, READ, WRITTEN, REASONING)
"""The columns of counts of tokens."""

_WITHIN, _APART, _UNSAID = True, False, None

_WHOLE: Mapping[str, tuple[str, ...]] = {
    PROMPT: (
        *("prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "promptTokenCount", "prompt_token_count"),
        *("inputTokenCount", "input_token_count", "prompt", "input"),
    ),
    COMPLETION: (
        *("completion_tokens", "output_tokens", "completionTokens", "outputTokens", "candidatesTokenCount"),
        *("candidates_token_count", "outputTokenCount", "output_token_count", "completion", "output"),
    ),
    TOTAL: ("total_tokens", "totalTokens", "totalTokenCount", "total_token_count", "total"),
}
"""The names of whole counts within an object of counts."""

_PARTS: Mapping[str, Mapping[str, bool | None]] = {
    READ: {
        **dict.fromkeys(("cache_read_tokens", "cacheReadTokens"), _WITHIN),
        **dict.fromkeys(("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens"), _WITHIN),
        **dict.fromkeys(("input_token_details.cache_read", "prompt_details.cache_read"), _WITHIN),
        **dict.fromkeys(("cache_read.input_tokens", "prompt_cache_hit_tokens", "cached_tokens"), _WITHIN),
        **dict.fromkeys(("cached_input_tokens", "cachedInputTokens"), _WITHIN),
        **dict.fromkeys(("cachedContentTokenCount", "cached_content_token_count"), _WITHIN),
        **dict.fromkeys(("cacheReadInputTokens", "cacheReadInputTokenCount"), _APART),
        **dict.fromkeys(("input_cached_tokens", "input_cache_read", "input_cache_read_tokens"), _APART),
        **dict.fromkeys(("cache_read_input_tokens", "prompt_cache_read_tokens"), _UNSAID),
    },
    WRITTEN: {
        **dict.fromkeys(("cache_write_tokens", "cacheWriteTokens"), _WITHIN),
        **dict.fromkeys(("prompt_tokens_details.cache_creation_tokens", "input_token_details.cache_creation"), _WITHIN),
        **dict.fromkeys(("prompt_tokens_details.cache_write_tokens", "prompt_details.cache_write"), _WITHIN),
        "cache_creation.input_tokens": _WITHIN,
        **dict.fromkeys(("cacheWriteInputTokens", "cacheWriteInputTokenCount"), _APART),
        **dict.fromkeys(("input_cache_creation", "input_cache_creation_tokens"), _APART),
        **dict.fromkeys(("cache_creation_input_tokens", "prompt_cache_write_tokens"), _UNSAID),
    },
    REASONING: {
        **dict.fromkeys(("completion_tokens_details.reasoning_tokens", "reasoning_tokens", "reasoningTokens"), _WITHIN),
        **dict.fromkeys(("output_tokens_details.reasoning_tokens", "output_token_details.reasoning"), _WITHIN),
        **dict.fromkeys(("reasoning.output_tokens", "completion_details.reasoning"), _WITHIN),
        **dict.fromkeys(("thoughtsTokenCount", "thoughts_token_count"), _APART),
        **dict.fromkeys(("output_reasoning_tokens", "output_reasoning"), _APART),
    },
}
"""The names of parts beside a whole count, and whether they are within it."""

_FRESH = ("input_tokens", "input")
"""The names of a prompt's count beside which what else says nothing is apart, as in Anthropic's and Langfuse's."""

_OBJECTS = (
    *("usage", "usage_metadata", "usageMetadata", "usageDetails", "usage_details", "token_usage", "tokenUsage"),
    *("response.usage", "response.usage_metadata", "response.usageMetadata", "response.body.usage", "message.usage"),
    *("response_metadata.token_usage", "response_metadata.usage", "llm_output.token_usage", "output.usage"),
)
"""The objects in which records have their counts, unless a column says where."""

_ALIASES = {
    column: tuple(dict.fromkeys(name.lower() for name in names if "." not in name and "oken" in name))
    for column, names in {**_WHOLE, **_PARTS}.items()
}


def aliases(column: str) -> tuple[str, ...]:
    """The other names of a column of counts, in lower case.

    >>> aliases("total_tokens")
    ('totaltokens', 'totaltokencount', 'total_token_count')
    """
    return tuple(name for name in _ALIASES[column] if name != column)


def counts_beside(names: Names, mapping: Mapping[str, str]) -> dict[str, str]:
    """The counts of tokens in the same objects as those of ``mapping``, or in an object that records often have.

    >>> import pyarrow as pa
    >>> usage = pa.struct([("input_tokens", pa.int64()), ("cache_read_input_tokens", pa.int64())])
    >>> counts_beside(Names(["usage"], {"usage": usage}), {})
    {'prompt_tokens': 'usage.input_tokens', 'cache_read_tokens': 'usage.cache_read_input_tokens'}
    """
    known = [mapping[column] for column in (PROMPT, COMPLETION, TOTAL) if column in mapping]
    objects = dict.fromkeys(_object_of(choice) for path in known for choice in _choices(path))
    if not known:
        roots = {name.partition(".")[0] for name in list(names)}
        objects = dict.fromkeys(place for place in _OBJECTS if place.partition(".")[0] in roots)
    names = names.typed(dict.fromkeys(place.partition(".")[0] for place in objects))
    objects = {place: None for place in objects if _is_known(names, place)}
    found: dict[str, str] = {}
    for column, beside in {**_WHOLE, **_PARTS}.items():
        if column not in mapping:
            paths = [path for place in objects if (path := _path(names, place, beside)) is not None]
            found |= {column: " || ".join(paths)} if paths else {}
    return found if known or {PROMPT, COMPLETION, TOTAL} & found.keys() else {}


def _is_known(names: Names, place: str) -> bool:
    """Whether an object of counts may be looked into: it is in a column of a known type, or flat columns have it."""
    root = place.partition(".")[0]
    is_nested = root in names.types and not is_text(names.types[root])
    return is_nested or any(name.startswith(f"{place}.") for name in list(names))


def _path(names: Names, place: str, beside: Iterable[str]) -> str | None:
    """The path of the first of some names within an object."""
    return next((f"{place}.{name}" for name in beside if names.fitting(f"{place}.{name}") is not None), None)


_KEYED = re.compile(r"\[key=([^\]]*)\]\.value\.\w+")


def _choices(path: str) -> list[str]:
    """The alternatives of a path, with the keys of attributes as names."""
    path = _KEYED.sub(r".\1", path)
    return [choice.strip() for choice in path.partition(" unless ")[0].split("||")]


_LAST = re.compile(r"\.(?=[^.\"\]]*$)")


def _object_of(path: str) -> str:
    """The path of the object that has what a path leads to; empty for a column."""
    place, *last = _LAST.split(path, maxsplit=1)
    return place if last else ""


class Told(NamedTuple):
    """What the names of columns tell of counts and times.

    Whether the tokens of a cache, and those of reasoning, are ``within`` the counts of prompt and completion (None is
    unsaid), and whether the unit of a ``latency`` is known.
    """

    cache: bool | None = _WITHIN
    reasoning: bool | None = _WITHIN
    latency: bool = True


def told(columns: Mapping[str, str]) -> Told:
    """What the names of the columns of counts tell, ``{canonical: yours}``.

    >>> told({"prompt_tokens": "usage.input_tokens", "cache_read_tokens": "usage.cache_read_input_tokens"}).cache
    False
    """
    cache = {_said(column, columns) for column in (READ, WRITTEN) if column in columns}
    reasoning = {_said(REASONING, columns)} if REASONING in columns else set()
    cache_said, reasoning_said = (
        said.pop() if len(said) == 1 else _UNSAID if said else _WITHIN for said in (cache, reasoning)
    )
    return Told(cache_said, reasoning_said)


def _said(part: str, columns: Mapping[str, str]) -> bool | None:
    first = _choices(columns[part])[0].lower()
    ends = {name.lower(): said for name, said in _PARTS[part].items()}
    named = max((name for name in ends if first == name or first.endswith(f".{name}")), key=len, default="")
    said = ends.get(named, _WITHIN)
    return _APART if said is _UNSAID and _is_fresh(columns.get(PROMPT, "")) else said


def _is_fresh(prompt: str) -> bool:
    """Whether the name of a prompt's count is one of the fresh tokens alone."""
    first = _choices(prompt)[0].lower()
    return any(first == name or first.endswith(f".{name}") for name in _FRESH) and "gen_ai." not in first
