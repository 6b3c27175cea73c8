"""The metrics that look for the right content in an answer, one row at a time."""

from collections.abc import Sequence

from tests.reference import text as convention


def contains(text: list[str], part: list[str]) -> bool:
    """Whether ``part`` is a stretch of ``text``; without words, only if that has none either."""
    if not part:
        return not text
    return any(text[at : at + len(part)] == part for at in range(len(text) - len(part) + 1))


def cover_match(answer: str | None, reference: str | Sequence[str | None] | None, require: str = "any") -> float | None:
    return answer_in_context(None if answer is None else [answer], reference, require=require)


def answer_in_context(
    contexts: str | Sequence[str | None] | None,
    reference: str | Sequence[str | None] | None,
    k: int | None = None,
    require: str = "any",
) -> float | None:
    passages, wanted = (
        [one] if isinstance(one, str) else [text for text in one or [] if text is not None]
        for one in (contexts, reference)
    )
    nothing_retrieved = contexts is not None and len(contexts) == 0 and not isinstance(contexts, str)
    if not wanted or not (passages or nothing_retrieved):
        return None
    texts = [convention.plain(passage) for passage in passages[:k]]
    found = [any(contains(text, convention.plain(part)) for text in texts) for part in wanted]
    return float(all(found) if require == "all" else any(found))
