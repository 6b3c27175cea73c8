"""The metrics that compare strings, one row at a time."""

import math
from collections import Counter
from collections.abc import Callable

from tests.reference import text as convention

NAN = math.nan
Reference = str | list[str | None] | None

MARKERS = (
    *("please", "thank you", "thanks", "happy to help", "glad to help", "you're welcome", "let me know", "feel free"),
    *("sorry", "apologize"),
)


def best(score: Callable[[str, str], float], answer: str | None, reference: Reference) -> float | None:
    """The best score over the references that are not null; ``None`` without an answer or any reference."""
    references = [reference] if isinstance(reference, str) else [text for text in reference or [] if text is not None]
    if answer is None or not references:
        return None
    return max(score(answer, text) for text in references)


def exact_match(answer: str | None, reference: Reference, tokenizer: str = "split") -> float | None:
    normal = {"split": convention.normalize, "plain": convention.plain}[tokenizer]
    return best(lambda a, r: float(normal(a) == normal(r)), answer, reference)


def keyword_recall(answer: str | None, reference: Reference) -> float | None:
    def recall(answer: str, reference: str) -> float:
        words, expected = set(convention.light(answer)), set(convention.light(reference))
        return len(words & expected) / len(expected) if expected else 0.0

    return best(recall, answer, reference)


def token_cosine(answer: str | None, reference: Reference) -> float | None:
    def cosine(first: str, second: str) -> float:
        a, b = set(convention.light(first)), set(convention.light(second))
        return len(a & b) / math.sqrt(len(a) * len(b)) if a and b else 0.0

    return best(cosine, answer, reference)


def _shared(first: list[str], second: list[str]) -> int:
    """Size of the overlap of two multisets."""
    left, right = Counter(first), Counter(second)
    return sum(min(count, right[token]) for token, count in left.items())


def _overlap(a: list[str], b: list[str], score: Callable[[int, int, int], float]) -> float:
    if not a or not b:
        return float(not a and not b)
    return score(_shared(a, b), len(a), len(b))


def token_precision(answer: str | None, reference: Reference) -> float | None:
    return best(
        lambda a, r: _overlap(convention.plain(a), convention.plain(r), lambda n, n_answer, n_reference: n / n_answer),
        answer,
        reference,
    )


def token_recall(answer: str | None, reference: Reference) -> float | None:
    return best(
        lambda a, r: _overlap(
            convention.plain(a), convention.plain(r), lambda n, n_answer, n_reference: n / n_reference
        ),
        answer,
        reference,
    )


def token_f1(answer: str | None, reference: Reference) -> float | None:
    return best(
        lambda a, r: _overlap(
            convention.plain(a), convention.plain(r), lambda n, n_answer, n_reference: 2 * n / (n_answer + n_reference)
        ),
        answer,
        reference,
    )


def _squad_f1(answer: list[str], reference: list[str]) -> float:
    """Harmonic mean in the official order of operations, so that the bits agree; 0 when nothing is shared."""
    same = _shared(answer, reference)
    if same == 0:
        return 0.0
    precision, recall = same / len(answer), same / len(reference)
    return 2 * precision * recall / (precision + recall)


def _squad_f1_v2(answer: list[str], reference: list[str]) -> float:
    return _squad_f1(answer, reference) if answer and reference else float(answer == reference)


def _squad_golds(reference: Reference) -> Reference:
    """Version 2 drops the golds that normalise to nothing; where none is left the gold answer is the empty one."""
    if reference is None:
        return None
    references = [reference] if isinstance(reference, str) else [text for text in reference if text is not None]
    return [text for text in references if convention.squad_normalize(text)] or [""]


def squad_em(answer: str | None, reference: Reference, version: int = 1) -> float | None:
    golds = _squad_golds(reference) if version == 2 else reference
    return best(lambda a, r: float(convention.squad_normalize(a) == convention.squad_normalize(r)), answer, golds)


def squad_f1(answer: str | None, reference: Reference, version: int = 1) -> float | None:
    if version == 2:
        golds = _squad_golds(reference)
        return best(lambda a, r: _squad_f1_v2(convention.squad(a), convention.squad(r)), answer, golds)
    return best(lambda a, r: _squad_f1(convention.squad(a), convention.squad(r)), answer, reference)


def jaccard(question: str | None, answer: str | None) -> float | None:
    """Undefined when neither text has a word."""
    if question is None or answer is None:
        return None
    question_words, answer_words = set(convention.words(question)), set(convention.words(answer))
    return (
        len(question_words & answer_words) / len(question_words | answer_words)
        if question_words | answer_words
        else NAN
    )


def answer_length(answer: str | None) -> float | None:
    return None if answer is None else float(len(answer))


def answer_words(answer: str | None) -> float | None:
    return None if answer is None else float(len(convention.words(answer)))


def politeness(answer: str | None, markers: tuple[str, ...] = MARKERS) -> float | None:
    if answer is None:
        return None
    return min(0.5 * sum(marker in answer.lower() for marker in markers), 1.0)
