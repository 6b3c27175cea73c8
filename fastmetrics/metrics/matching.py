"""Whether an answer has the right content, whatever surrounds it: the reference within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fastmetrics.base.arrays import Flags, Floats, Ints, Tokens
from fastmetrics.base.options import MOST, Choice, Whole
from fastmetrics.kernels.token_overlap import within_any
from fastmetrics.metrics.batch import UNSPACED, Batch, Caution, Options
from fastmetrics.metrics.lexical import PlainTokenizer, PlainTokens
from fastmetrics.metrics.metric import RowHooks, metric
from fastmetrics.metrics.pair_counts import lists
from fastmetrics.metrics.tokenizers import TokenizedIn


@dataclass(frozen=True, eq=False)
class TokenGroups:
    """The tokens of all texts of a column: row r has the texts ``groups[r]:groups[r + 1]``."""

    tokens: Tokens
    groups: Ints


@dataclass(frozen=True)
class TokenGroupsIn:
    """Tokens under the option ``tokenizer``, with all texts of a row together."""

    convention: str

    def of(self, batch: Batch, column: str, options: Options) -> TokenGroups:
        """The column's tokens, grouped by row."""
        groups = batch.text(column).groups
        tokens = TokenizedIn(self.convention).of(batch, column, options)
        return TokenGroups(tokens, np.arange(batch.n_rows + 1) if groups is None else groups)


PlainGroups = Annotated[TokenGroups, TokenGroupsIn("plain")]
Require = Annotated[str, Choice("any", "all"), "whether one of several references is enough, or all are needed"]
FirstContexts = Annotated[int | None, Whole(1, MOST), "the number of contexts to search, from the first; None for all"]


def _unspaced(options: Options) -> Caution | None:
    return UNSPACED if options["tokenizer"] == "plain" else None


def _of_rows(found: Flags, groups: Ints, require: str) -> Floats:
    """1 for each row in which any, or all, of its texts are found."""
    before = np.concatenate([[0], np.cumsum(found)])
    hits, sizes = np.diff(before[groups]), np.diff(groups)
    return ((hits == sizes) if require == "all" else (hits > 0)).astype(np.float64)


@metric(
    bounds=(0, 1),
    better="higher",
    source="Rosset et al. 2020, cover exact match; Mallen et al. 2023, accuracy",
    rows=RowHooks(grouped=True),
    cues=["contains", "cover_em", "cover_exact_match", "substring_match", "accuracy", "answer_match"],
    caution=_unspaced,
)
def cover_match(
    answer: PlainTokens, reference: PlainGroups, *, tokenizer: PlainTokenizer = "plain", require: Require = "any"
) -> Floats:
    """1 if the answer contains the reference as contiguous words, else 0.

    Both are split into ``plain`` tokens (lowercase, no punctuation), and the reference's must follow one another in the
    answer in their order: "York is not new" does not contain "New York", and "Parisian" not "Paris".  Of several
    references one is enough; with ``require="all"`` the answer must contain each.  A reference without words is
    contained in an answer without words only.  ``tokenizer`` as for ``token_f1``.

    An answer that lists every possibility contains the right one: look at ``token_precision`` beside it.

    >>> import fastmetrics as fm
    >>> fm.cover_match(["It is New York City.", "York is not new"], ["New York", "New York"])
    array([1., 0.])
    >>> fm.cover_match(["Curie, in 1903"], [["Marie Curie", "Curie"]])
    array([1.])
    >>> fm.cover_match(["Bohr and Curie", "Bohr"], [["Curie", "Bohr"]] * 2, require="all")
    array([1., 0.])
    """
    one_each = np.arange(len(answer) + 1)
    found = within_any(lists(answer), one_each, 1, lists(reference.tokens), reference.groups)
    return _of_rows(found, reference.groups, require)


@metric(
    bounds=(0, 1),
    better="higher",
    source="Karpukhin et al. 2020, top-k retrieval accuracy",
    rows=RowHooks(grouped=True),
    cues=["has_answer", "answer_recall", "retrieval_accuracy", "contains", "context_recall"],
    caution=_unspaced,
)
def answer_in_context(
    contexts: PlainGroups,
    reference: PlainGroups,
    *,
    k: FirstContexts = None,
    tokenizer: PlainTokenizer = "plain",
    require: Require = "any",
) -> Floats:
    """1 if a context contains the correct answer as contiguous words, else 0.

    The correct answer is the ``reference``; it is contained in a passage as in an answer by ``cover_match``.  Of
    several references one is enough; with ``require="all"`` each must be in some context.  With ``k`` only the first k
    contexts are searched, as in top-k retrieval accuracy.  It needs no ids of relevant passages; a passage that has the
    words may still not say what the question asks.

    >>> import fastmetrics as fm
    >>> contexts = [["Rome is old.", "The capital is Paris, on the Seine."]]
    >>> fm.answer_in_context(contexts, ["Paris"]), fm.answer_in_context(contexts, ["Paris"], k=1)
    (array([1.]), array([0.]))
    """
    found = within_any(
        lists(contexts.tokens),
        contexts.groups,
        MOST if k is None else k,
        lists(reference.tokens),
        reference.groups,
    )
    return _of_rows(found, reference.groups, require)
