"""Citations of an answer against the contexts they name, one row at a time."""

import math
import re
from collections.abc import Callable, Sequence

from tests.reference.abstention import Refusing, statements


def marks(text: str, ids: Sequence[object], pattern: str) -> list[tuple[int, int, str]]:
    """Begin, end and id of each citation; of the pattern ``""`` numbers in brackets, and ids of the row."""
    citations = []
    for mark in re.finditer(pattern or r"\[([^\[\]]+)\]", text):
        label = mark[1]
        if pattern or re.fullmatch("[0-9]+", label) or label in map(str, ids):
            citations.append((mark.start(), mark.end(), label))
    return citations


def place(label: str, ids: Sequence[object], n_contexts: int) -> int | None:
    """The context that a citation names: by id, else by number from 1."""
    places = [at for at, identifier in enumerate(ids) if str(identifier) == label]
    if places:
        return places[0]
    return int(label) - 1 if re.fullmatch("[0-9]+", label) and 1 <= int(label) <= n_contexts else None


def plain(text: str) -> str:
    """Text between citations, with no number in brackets."""
    return re.sub(r"\[([0-9]+)\]", r"(\1)", text)


def judged(
    answer: str,
    contexts: Sequence[str | None],
    ids: Sequence[object],
    refusing: Refusing,
    supports: Callable[[str, str], bool],
    pattern: str = "",
) -> tuple[float, float]:
    """Precision and recall.  Sentences are cut as if every citation were a number, which stays with its sentence."""
    cited = marks(answer, ids, pattern)
    names = [label for *_, label in cited]
    numbered, end = "", 0
    for number, (begin, after, _) in enumerate(cited):
        numbered += plain(answer[end:begin]) + f"[{number}]"
        end = after
    numbered += plain(answer[end:])
    n_citations = n_supporting = n_statements = n_supported = 0
    for sentence in statements(numbered, refusing.abbreviations):
        bare = re.sub(r"\s*\[[0-9]+\]", "", sentence).strip()
        idk = refusing.says_idk(sentence)
        keys = {
            (place(names[int(n)], ids, len(contexts)), names[int(n)]) for n in re.findall(r"\[([0-9]+)\]", sentence)
        }
        keys = {(at, "" if at is not None else label) for at, label in keys}
        good = [at for at, _ in keys if at is not None and not idk and supports(bare, contexts[at] or "")]
        states = not idk and re.search(r"[^\W_]", bare) is not None and not re.search(r"[?？؟][\W_]*$", bare)
        n_citations += len(keys)
        n_supporting += len(good)
        n_statements += states
        n_supported += states and bool(good)
    return (
        n_supporting / n_citations if n_citations else math.nan,
        n_supported / n_statements if n_statements else math.nan,
    )
