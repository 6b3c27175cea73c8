"""What becomes of questions that can be answered and of those that cannot, one row at a time.

``abstained`` tells whether an answer is an "I don't know"; ``answerable`` is a label, or None where there is none.  The
scores are None where an input is missing and NaN for rows that a metric does not speak of.
"""

import math
from collections.abc import Callable

from tests.reference import lexical
from tests.reference.lexical import Reference

NAN = math.nan
Abstained = Callable[[str | None], float | None]
Row = tuple[str | None, bool | None, Reference]


def references_of(reference: Reference) -> list[str]:
    """The references that are there."""
    return [reference] if isinstance(reference, str) else [text for text in reference or [] if text is not None]


def can_be_answered(abstained: Abstained, label: bool | None, reference: Reference) -> bool | None:
    """The label, or else whether some reference is itself no "I don't know"; None without label and reference."""
    if label is not None:
        return bool(label)
    references = references_of(reference)
    return any(not abstained(text) for text in references) if references else None


def correct_abstention(
    abstained: Abstained, answer: str | None, label: bool | None, reference: Reference
) -> float | None:
    answerable = can_be_answered(abstained, label, reference)
    if answer is None or answerable is None:
        return None
    return NAN if answerable else float(abstained(answer) == 1)


def answered_unanswerable(
    abstained: Abstained, answer: str | None, label: bool | None, reference: Reference
) -> float | None:
    right = correct_abstention(abstained, answer, label, reference)
    return None if right is None else 1 - right


def wrong_on_answerable(
    abstained: Abstained, answer: str | None, label: bool | None, reference: Reference
) -> float | None:
    answerable = can_be_answered(abstained, label, reference)
    if answer is None or answerable is None:
        return None
    if not answerable:
        return NAN
    if not references_of(reference):
        return None
    return float(abstained(answer) == 0 and lexical.token_f1(answer, reference) == 0)


def overall_accuracy(
    abstained: Abstained, answer: str | None, label: bool | None, reference: Reference
) -> float | None:
    answerable = can_be_answered(abstained, label, reference)
    if answer is None or answerable is None:
        return None
    if answerable:
        return lexical.exact_match(answer, reference)
    return float(abstained(answer) == 1)
