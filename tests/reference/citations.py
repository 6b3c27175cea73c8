"""Citations of an answer against the contexts they name, one row at a time."""

import math
import re
from collections.abc import Callable, Sequence

from tests.reference.abstention import Refusing, statements

LABELS = ("document", "doc", "source", "passage")


def marks(text: str, ids: Sequence[object], n_contexts: int, pattern: str) -> list[tuple[int, int, list[str]]]:
    """Begin, end and ids of each citation; of the pattern ``""`` the forms of :func:`labels`."""
    if pattern:
        return [(mark.start(), mark.end(), [mark[1]]) for mark in re.finditer(pattern, text)]
    citations = []
    for mark in re.finditer(r"\[[^\[\]]+\]|【[^【】]+】", text):
        named = labels(mark[0][1:-1].partition("†")[0].strip(), [*map(str, ids)], n_contexts, sure=mark[0][0] == "【")
        if named:
            citations.append((mark.start(), mark.end(), named))
    return citations


def labels(inside: str, ids: Sequence[str], n_contexts: int, *, sure: bool) -> list[str]:
    """The ids and numbers of one mark: ``1``, ``1, 2``, ``1-3``, ``^1``, ``Doc 1``; none if it is text.

    Bare numbers in a group, or a range, are text if none of them is that of a context, unless the mark is ``sure``.
    """
    if inside in ids or re.fullmatch("[0-9]+", inside):
        return [inside]
    found: list[str] = []
    for piece in re.split("[,;]", inside):
        part = piece.strip()
        if part in ids:
            found, sure = [*found, part], True
            continue
        prefix = next((one for one in ("^", *LABELS) if part.lower().startswith(one)), "")
        first, dash, last = part[len(prefix) :].lstrip(" :").partition("-")  # no sign of a number
        sure = sure or bool(prefix)
        try:
            found += map(str, range(int(first), int(last if dash else first) + 1))
        except ValueError:
            return []
    return found if sure or any(1 <= int(number) <= n_contexts for number in found) else []


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
    names: list[str] = []
    numbered, end = "", 0
    for begin, after, named in marks(answer, ids, len(contexts), pattern):
        numbered += plain(answer[end:begin]) + "".join(f"[{len(names) + more}]" for more in range(len(named)))
        names += named
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
