"""The main metric, which decides between systems, and the headline: quality first, then retrieval, cost and form."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from fastmetrics.base.column_names import is_axis, is_cost, is_price
from fastmetrics.base.display import number
from fastmetrics.base.errors import Argument, FileFormatError, OptionError, UnknownNameError
from fastmetrics.base.specs import Better
from fastmetrics.metrics.metric import Metric
from fastmetrics.metrics.suites import lookup
from fastmetrics.results.score_columns import column_named
from fastmetrics.retrieval.measures import is_measure
from fastmetrics.tables.input_files import read_text

# What a metric is about, and which metric of each concern stands first.


Concern: TypeAlias = Literal["quality", "retrieval", "cost", "form"]
"""What a metric is about: the answers, the documents found, what answers cost, or how they are written."""

CONCERNS: tuple[Concern, ...] = ("quality", "retrieval", "cost", "form")
"""The concerns in their order: the first one that the runs have metrics of decides."""

_CONCERN_OF_FAMILY: Mapping[str, Concern] = {
    "retrieval": "retrieval",
    "retrieval_consistency": "retrieval",
    "latency_and_cost": "cost",
    "writing": "form",
    "writing_components": "form",
}
_FORM = ("answer_length", "answer_words", "politeness", "jaccard", "abstained", "answer_rate", "confidence")

_FIRST: Mapping[Concern, tuple[str, ...]] = {
    "quality": (
        *("token_recall", "keyword_recall", "squad_f1", "token_f1", "semantic_similarity", "rougeL_f1", "chrf", "bleu"),
        *("corpus_chrf", "corpus_bleu", "hallucination", "overlap_faithfulness", "grounding_overlap", "verdict"),
    ),
    "retrieval": ("ndcg", "retrieval_recall", "recall", "average_precision", "reciprocal_rank", "hit_rate"),
    "cost": ("total_tokens", "latency_ms"),
    "form": ("answer_words", "overall_quality"),
}
"""The metrics of each concern in the order of their agreement with people, as docs/metrics.md measures it."""
_OWN, _JUDGED = -1, -2
"""Places before these: own metrics, which somebody wrote or fitted for such answers, and verdicts of judges."""

_CUT = 10
"""Of several cut-offs, this one is the first."""


def known_metric(spec: str) -> Metric | None:
    """The metric of a column's spec, such as ``ndcg@10(gain='linear')``; None for one that this package lacks."""
    name, _, cut = spec.partition("(")[0].partition("@")
    return lookup(name, cut=bool(cut))


def concern_of(name: str, spec: str | None = None) -> Concern:
    """The concern of a column of scores with this spec; the scores of judges and own metrics but prices are of quality.

    >>> [concern_of(name) for name in ("token_f1", "ndcg@10", "latency_ms", "answer_words", "judge_safety", "mine")]
    ['quality', 'retrieval', 'cost', 'form', 'quality', 'quality']
    """
    if is_axis(name) or is_cost(name):
        return "cost" if is_cost(name) else "quality"
    metric = known_metric(spec or name)
    if metric is None:
        return "retrieval" if is_measure(name) else "cost" if is_price(name) else "quality"
    if metric.name in _FORM:
        return "form"
    return _CONCERN_OF_FAMILY.get(metric.function.__module__.rpartition(".")[2], "quality")


def is_own(name: str, spec: str | None = None) -> bool:
    """Whether a column of scores is of no metric, measure or judge, so that nothing says what it is about."""
    return not (is_axis(name) or is_cost(name) or is_measure(name) or known_metric(spec or name))


def _place(name: str, spec: str, concern: Concern, better: Better) -> tuple[int, bool]:
    """Where a metric stands among those of its concern; own ones of which less is better, such as a price, are last."""
    if is_axis(name):
        return _JUDGED, False
    metric, cut = known_metric(spec), spec.partition("(")[0].partition("@")[2]
    if metric is None and concern == "quality":
        return (_OWN if better == "higher" else len(_FIRST[concern]) + 1), False
    base = metric.name.partition("@")[0] if metric is not None else name.partition("@")[0].lower()
    order = _FIRST[concern]
    return order.index(base) if base in order else len(order), cut != str(_CUT)


def concerns_of(names: Iterable[str], specs: Callable[[str], str]) -> dict[str, Concern]:
    """The concern of each column of scores."""
    return {name: concern_of(name, specs(name)) for name in names}


def first_metrics(
    concerns: Mapping[str, Concern],
    specs: Callable[[str], str],
    better: Mapping[str, Better],
    main: str | None = None,
) -> dict[Concern, str]:
    """The metric of each concern that stands for it, that of the main metric first.

    The main metric is ``main``, or the first one of quality with a direction: of judges, own metrics, then by agreement
    with people.  Metrics of retrieval and cost but for prices have a direction, too; form has length and the writing
    score alone.  Raises ``UnknownNameError``
    for an unknown ``main``, ``OptionError`` for one without a direction.

    >>> ways = {"token_f1": "higher", "token_recall": "higher", "total_tokens": "lower", "answer_words": None}
    >>> first_metrics(concerns_of(ways, str), str, ways)
    {'quality': 'token_recall', 'cost': 'total_tokens', 'form': 'answer_words'}
    >>> first_metrics(concerns_of(ways, str), str, ways, "token_f1")["quality"]
    'token_f1'
    """
    chosen: dict[Concern, str] = {}
    names = list(concerns)
    if main is not None:
        column = column_named(main, names)
        if column not in names:
            raise UnknownNameError.of("metric", main, names)
        if better[column] is None:
            statement = Argument("better", {main: "higher"})
            raise OptionError(Argument("main", main), " declares no direction; state it with ", statement, " or lower")
        chosen[concerns[column]] = column
    of_concern: dict[Concern, list[str]] = {concern: [] for concern in CONCERNS}
    for name, concern in concerns.items():
        has_direction = better[name] is not None or (concern == "cost" and is_price(name))
        fits = name in _FIRST["form"] if concern == "form" else has_direction
        if fits and not (concern == "cost" and is_cost(name)):
            of_concern[concern].append(name)
    for concern, some in of_concern.items():
        if some and concern not in chosen:
            chosen[concern] = min(some, key=lambda name: _place(name, specs(name), concern, better[name]))
    return chosen


PROJECT_FILE = "fastmetrics.toml"
"""A file of a project in its working directory; commands read it."""


def main_of_project(folder: Path | None = None) -> str | None:
    """The main metric that the project file of a folder names, by default of the working directory; None without one.

    Raises ``FileFormatError`` for a file that is no TOML, and for anything in it but ``main = "METRIC"``.
    """
    path = (folder or Path()) / PROJECT_FILE
    if not path.is_file():
        return None
    try:
        settings = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not valid TOML: {error}") from error
    unknown = [key for key in settings if key != "main"]
    if unknown or not isinstance(settings.get("main", ""), str):
        what = f"{unknown[0]!r} is unknown" if unknown else f"main = {settings['main']!r} is no text"
        raise FileFormatError(f'{path}: {what}; expected main = "token_recall"')
    return settings.get("main")


# The headline: a sentence on two systems, and one on several.


_UNDECIDED: Mapping[str, str] = {"–": "undecided", "equal": "equal in every row"}
_OF_COST: Mapping[str, tuple[str, str]] = {"total_tokens": ("dearer", "cheaper"), "latency_ms": ("slower", "faster")}


@dataclass(frozen=True)
class Change:
    """A metric of a concern in two systems: its means, and the verdict on their difference."""

    concern: Concern
    metric: str
    before: float
    after: float
    verdict: str
    """better, worse, higher, lower, equivalent, not worse, equal (in every row), or – for undecided."""

    @property
    def is_decided(self) -> bool:
        """Whether the difference is more than chance."""
        return self.verdict in ("better", "worse", "higher", "lower")

    @property
    def percent(self) -> str | None:
        """The size of the change in percent of the first mean; None where that says nothing."""
        if not (self.before and self.is_decided and self.concern in ("cost", "form")):
            return None
        return f"{100 * abs(self.after - self.before) / abs(self.before):.3g}"

    @property
    def word(self) -> str:
        """The verdict in a word: of costs dearer, cheaper, slower, faster, higher or lower; undecided for none."""
        if self.verdict in _UNDECIDED:
            return _UNDECIDED[self.verdict]
        if self.percent is None:
            return self.verdict
        return _OF_COST.get(self.metric, ("higher", "lower"))[0 if self.after > self.before else 1]

    @property
    def means(self) -> str:
        """The metric and its means: ``token_recall 0.7350 → 0.8330``."""
        return f"{self.metric} {number(self.before)} → {number(self.after)}"

    def __str__(self) -> str:
        if self.percent is None:
            return f"{self.concern} {self.word} ({self.means})"
        if self.word in ("higher", "lower"):
            return f"{self.metric} {self.percent} % {self.word}"
        return f"{self.percent} % {self.word} ({self.means})"


def headline(baseline: str, other: str, changes: Sequence[Change], dissent: Mapping[str, int] | None = None) -> str:
    """The verdict on a system by the main metric, the first of ``changes``; what else changed stands beside it.

    ``dissent`` counts the other metrics of its concern by their verdict, where some have another one.

    >>> quality = Change("quality", "token_recall", 0.735, 0.833, "better")
    >>> headline("old", "new", [quality, Change("cost", "total_tokens", 120.0, 156.0, "worse")])
    'new is better than old (token_recall 0.7350 → 0.8330); 30 % dearer (total_tokens 120 → 156)'
    >>> headline("old", "new", [Change("quality", "token_recall", 0.735, 0.741, "–")])
    'new against old: quality undecided (token_recall 0.7350 → 0.7410)'
    """
    main, *beside = changes
    if main.verdict in ("better", "worse"):
        what = f"{other} is {main.verdict} than {baseline} ({main.means})"
    else:
        what = f"{other} against {baseline}: {main.concern} {main.word} ({main.means})"
    others = [f"{word} {count}" for word, count in (dissent or {}).items()]
    disagree = [f"other metrics of {main.concern}: {', '.join(others)}"] if others else []
    return "; ".join([what, *map(str, beside), *disagree])


@dataclass(frozen=True)
class Lead:
    """Several systems by the main metric: the one with the best mean, those shown to be worse, and the others."""

    metric: str
    means: Mapping[str, float]
    """Sorted, the best first."""
    worse: Collection[tuple[str, str]]
    """The pairs of systems of which the first is shown to be worse."""

    @property
    def first(self) -> str:
        """The system with the best mean."""
        return next(iter(self.means))

    @property
    def beaten(self) -> list[str]:
        """The systems that are shown to be worse than the first."""
        return [name for name in self.means if (name, self.first) in self.worse]

    @property
    def near(self) -> list[str]:
        """The systems that are not told apart from the first."""
        return [name for name in self.means if name != self.first and name not in self.beaten]

    def __str__(self) -> str:
        """A sentence on which system leads.

        >>> means = {"c": 0.83, "b": 0.82, "a": 0.7}
        >>> print(Lead("token_recall", means, [("a", "c")]))
        c leads by token_recall (0.8300), better than a; not told apart from it: b (0.8200)
        >>> print(Lead("token_recall", means, []))
        no system is shown to be better than another by token_recall: c (0.8300), b (0.8200), a (0.7000)
        """
        if not self.worse:
            shown = ", ".join(f"{name} ({number(mean)})" for name, mean in self.means.items())
            return f"no system is shown to be better than another by {self.metric}: {shown}"
        near = ", ".join(f"{name} ({number(self.means[name])})" for name in self.near)
        than = f", better than {', '.join(self.beaten)}" if self.beaten else ""
        what = f"{self.first} leads by {self.metric} ({number(self.means[self.first])}){than}"
        return what + (f"; not told apart from it: {near}" if near else "")
