"""Error rates and similarities by edit distances, one row at a time, by the table of the textbook."""

from collections.abc import Callable, Sequence

from tests.reference import text as convention

References = str | Sequence[str | None] | None


def distance(first: Sequence[str], second: Sequence[str], substitution: int = 1) -> int:
    """The least cost of insertions, deletions and substitutions that turn one sequence into the other."""
    row = list(range(len(second) + 1))
    for number, one in enumerate(first, 1):
        above, row = row, [number]
        for place, other in enumerate(second, 1):
            row.append(min(above[place - 1] + substitution * (one != other), above[place] + 1, row[-1] + 1))
    return row[-1]


WORDS: dict[str, Callable[[str], list[str]]] = {"none": str.split, "split": convention.split, "plain": convention.plain}


def _errors(
    cut: Callable[[str], Sequence[str]], answer: str | None, reference: References
) -> tuple[float, int, int] | None:
    """The lowest rate over the references, with its edits and the length of the reference."""
    texts = [reference] if isinstance(reference, str) else [text for text in reference or [] if text is not None]
    if answer is None or not texts:
        return None
    edits = [(distance(cut(answer), cut(text)), len(cut(text))) for text in texts]
    return min(((number / max(size, 1), number, size) for number, size in edits), key=lambda found: found[0])


def wer(answer: str | None, reference: References, tokenizer: str = "none") -> float | None:
    found = _errors(WORDS[tokenizer], answer, reference)
    return None if found is None else found[0]


def _characters(lowercase: bool) -> Callable[[str], str]:
    return lambda text: (text.lower() if lowercase else text).strip()


def cer(answer: str | None, reference: References, lowercase: bool = False) -> float | None:
    found = _errors(_characters(lowercase), answer, reference)
    return None if found is None else found[0]


def corpus_wer(answers: Sequence[str | None], references: Sequence[References]) -> float:
    return _of_all(str.split, answers, references)


def corpus_cer(answers: Sequence[str | None], references: Sequence[References]) -> float:
    return _of_all(str.strip, answers, references)


def _of_all(
    cut: Callable[[str], Sequence[str]], answers: Sequence[str | None], references: Sequence[References]
) -> float:
    found = [_errors(cut, answer, texts) for answer, texts in zip(answers, references, strict=True)]
    rows = [errors for errors in found if errors is not None]
    return sum(edits for _, edits, _ in rows) / max(sum(size for _, _, size in rows), 1)


def levenshtein_ratio(
    answer: str | None, reference: References, lowercase: bool = False, substitution_cost: int = 1
) -> float | None:
    texts = [reference] if isinstance(reference, str) else [text for text in reference or [] if text is not None]
    if answer is None or not texts:
        return None
    ratios = []
    for one, other in [(answer.lower(), text.lower()) if lowercase else (answer, text) for text in texts]:
        most = len(one) + len(other) if substitution_cost == 2 else max(len(one), len(other))
        ratios.append(1.0 - distance(one, other, substitution_cost) / max(most, 1))
    return max(ratios)
