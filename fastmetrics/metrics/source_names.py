"""Every name of a metric, and what it means here: one map for lookups, explanations and messages.

It has the names, aliases and labels of metrics; the names that the sources give to metrics, figures and settings
(``source_names.toml``), which are accepted where a metric is named and listed in docs/sources.md; and names of other
numbers, for which a message suggests what is near: a metric, by its cues, or a rubric that a model judges by.
"""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fastmetrics.base.errors import UnknownNameError, either, fold, nearest, shown
from fastmetrics.metrics.metric import REGISTRY, SOURCES, SPELLINGS

Kind: TypeAlias = Literal["metric", "source", "near"]
"""A name of a metric, a name of a source, or a name of another number that something here is near to."""


@dataclass(frozen=True)
class Name:
    """A name: the metric that it means, its statistic or figure; or an option, command or rubric; what differs."""

    kind: Kind
    name: str
    spec: str = ""
    source: str = ""
    figure: str = ""
    option: str = ""
    command: str = ""
    rubric: str = ""
    differs: str = ""
    package: str = ""
    here: str = ""

    @property
    def where(self) -> str:
        """Where the number is: ``idk_citations.sum``, or in words for an option, the figures of a command, a rubric."""
        if self.here:
            return self.here
        if self.rubric:
            return f"`fastmetrics judge run --rubrics {self.rubric}`, or fm.judge(table, {self.rubric!r}, model)"
        if self.command:
            return f"fastmetrics {self.command}" + (f", {self.figure}" if self.figure else "")
        if self.option:
            return f"option {self.option} of {self.spec}"
        return f"{self.spec}.{self.figure}" if self.figure else self.spec


@functools.cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def packages() -> Sequence[Mapping[str, Any]]:
    """What is here for the names of other packages, in Markdown: ``package``, ``names``, ``here`` and ``differs``."""
    rows: Sequence[Mapping[str, Any]] = _table()["packages"]
    return rows


def _of_packages() -> Iterator[Name]:
    """The names of other packages, without their arguments, and what is here for each."""
    for row in packages():
        names, here, differs = row["names"], row["here"], row["differs"].split("; ")
        for at, name in enumerate(names):
            own = here[at] if len(here) == len(names) else ", ".join(here)
            said = differs[at] if len(differs) == len(names) > 1 else row["differs"]
            called = re.sub(r"`|[(\[].*| …", "", name)
            plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", own).replace("`", "")
            yield Name("near", called, package=row["package"], here=plain, differs=said.replace("`", ""))


@functools.cache
def source_names() -> Sequence[Name]:
    """Every name of the sources that stands for a number or a setting, and names of what a model judges."""
    table = dict(_table())
    del table["packages"]
    judged = [Name("near", name, **one) for name, one in _each(table.pop("judged"))]
    return [
        Name("source", name, source=source, **one) for source in table for name, one in _each(table[source])
    ] + judged


def _each(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each name of the entries of a table, with what it means."""
    for entry in entries:
        one = {"spec" if key == "metric" else key: text for key, text in entry.items() if key != "names"}
        figure = {"figure": "mean"} if "spec" in one and "option" not in one else {}
        yield from ((name, {**figure, **one}) for name in entry["names"])


_MARKUP = re.compile(r"\\(?:text|operatorname|mathrm)|[$`*{}]|\\(?=_)")
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]\.)\s+")


def _forms(text: str) -> Iterator[str]:
    """A name, and what it is without the marks of a heading or a formula: ``3. Hallucination Score ($S_{hall}$)``.

    >>> list(_forms("3. Hallucination Score ($S_{hall}$)"))[1:]
    ['Hallucination Score (S_hall)', 'Hallucination Score', 'S_hall']
    """
    yield text
    plain = _NUMBERED.sub("", _MARKUP.sub("", text).strip())
    if plain != text:
        yield plain
    head, bracket, inner = plain.partition(" (")
    if bracket and inner.endswith(")"):
        yield from (head, inner[:-1])
    head, colon, rest = plain.partition(": ")
    if colon:
        yield from (rest.partition(" (")[0], head)


def named(name: str, kind: Kind = "source") -> Sequence[Name]:
    """What ``name`` means, by default in the sources, in any letter case; empty for an unknown name.

    >>> [one.where for one in named("iDK+cit count")], [one.where for one in named("tau_sim")]
    (['idk_citations.sum'], ['option threshold of grounding_overlap'])
    >>> [one.spec for one in named("MRR", "metric")], [one.spec for one in named("EM", "near")]
    (['reciprocal_rank'], ['exact_match', 'squad_em'])
    """
    known = _by_name(tuple(SPELLINGS.items()))
    for form in _forms(name):
        meant = [one for one in known.get(fold(form), ()) if one.kind == kind]
        if meant:
            return [one for one in meant if one.name == form] or meant
    return []


@functools.lru_cache(maxsize=1)
def _by_name(spellings: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[Name]]:
    """The map by case-folded name; made again when a metric is declared."""
    own = [Name("metric", spelling, spec) for spelling, spec in spellings]
    cues = [
        Name("near", cue, metric.name, differs=differs)
        for metric in REGISTRY.values()
        for cue, differs in metric.cues.items()
    ]
    found: dict[str, list[Name]] = {}
    for one in (*own, *source_names(), *cues):
        found.setdefault(fold(one.name), []).append(one)
    for one in _of_packages():  # a name that says more here comes before
        if all(known.package for known in found.get(fold(one.name), ())):
            found.setdefault(fold(one.name), []).append(one)
    return found


def explained(one: Name) -> str:
    """What a name of a source, of a rubric or of another package means, in words.

    >>> explained(named("avg_nn_distance")[0])
    "'avg_nn_distance' in the RAG benchmark: embedding_geometry.avg_nn_distance"
    >>> explained(named("answer-correctness", "near")[0])
    "a model judges it: `fastmetrics judge run --rubrics correctness`, or fm.judge(table, 'correctness', model)"
    """
    whose = SOURCES[one.source][0] if one.source else one.package
    said = f"{one.name!r} in {whose}" if whose else "a model judges it"
    return f"{said}: {one.where}" + (f"; {one.differs}" if one.differs else "")


def spec_of(text: str) -> str:
    """The spec that a source's name means, with the options behind it; any other text as it is.

    >>> spec_of("Avg EM"), spec_of("avg_rouge1_f(stemmer=True)"), spec_of("jaccard")
    ("exact_match(tokenizer='plain')", "rouge1_f1(tokenizer='by_script', stemmer=True)", 'jaccard')

    Raises ``UnknownNameError`` for a name of several metrics, and for one of an option or of a command's figure.
    """
    name, bracket, options = text, "", ""
    if " " not in text and any(fold(one.spec) == fold(text) for one in named(text, "metric")):
        return text  # the name of a metric itself, whatever its case
    if not named(text):
        name, bracket, options = text.partition("(")
    meant = named(name)
    if not meant:
        return text
    specs = {one.spec for one in meant}
    if len(specs) > 1 or any(one.option or one.command for one in meant):
        raise UnknownNameError(f"{shown(name)} is no metric; {'; '.join(map(explained, meant))}")
    (spec,) = specs
    if not bracket:
        return spec
    return f"{spec[:-1]}, {options}" if spec.endswith(")") else f"{spec}({options}"


def instead(name: str, others: Iterable[str] = (), called: Callable[[str], str] = str) -> str:
    """What to write for the unknown ``name``: a rubric, what is here for a package's, or what is near.

    ``called`` is the name to show for a metric or one of the others.

    >>> instead("answer-relevancy").partition(":")[0], instead("jacard"), instead("zzz")
    ('a model judges it', "did you mean 'jaccard'?", '')
    >>> instead("NonLLMStringSimilarity")
    "'NonLLMStringSimilarity' in Ragas: levenshtein_ratio; the same"
    >>> instead("bert-score").partition("? ")[2]
    '`fastmetrics models bert-score` writes their columns.'
    """
    meant = named(name, "near")
    rubrics = [one for one in meant if one.rubric]
    if rubrics or (meant and all(one.package for one in meant)):
        return "; ".join(map(explained, rubrics or meant))
    alike = {known: metric for known, metric in SPELLINGS.items() if _may_be_meant(name, known)}
    choices = sorted({*others, *(known for known in alike if known in REGISTRY)})
    near = nearest(name, choices, [one.spec for one in meant], alike)
    differs = dict.fromkeys(f" {one.differs}." for one in meant if one.differs)
    return f"did you mean {either(dict.fromkeys(map(called, near)))}?{''.join(differs)}" if near else ""


_ALIKE = 0.8
"""The similarity from which on a word may be a misspelling of another; with two letters swapped it is above that."""
_SHORT = 3
"""Words of so many letters may differ in one."""


def _may_be_meant(name: str, known: str) -> bool:
    """Whether a name may be a misspelling of a known one: word by word, so that other words are no misspelling.

    >>> [_may_be_meant(*pair) for pair in (("sematic_similarty", "semantic_similarity"), ("f1", "token_f1"))]
    [True, True]
    >>> [_may_be_meant(*pair) for pair in (("edit_distance", "euclidean_distance"), ("hits", "hit_rate"))]
    [False, True]
    >>> [_may_be_meant(*pair) for pair in (("context_relevance", "coherence"), ("cost", "corpus_ter"))]
    [False, False]
    """
    typed, words = (re.split(r"[-_\s]+", text.casefold()) for text in (name, known))
    shorter, longer = sorted((typed, words), key=len)
    if len(typed) > 1 and len(words) > 1 and all(shorter):
        return all(any(_alike(one, other) for other in longer) for one in shorter)
    return any(_alike(typed[0], word) for word in words) or _alike(*map(fold, (name, known)))


def _alike(word: str, other: str) -> bool:
    if len(word) == len(other) <= _SHORT:
        return sum(one != two for one, two in zip(word, other, strict=True)) <= 1
    return other.startswith(word) or difflib.SequenceMatcher(None, word, other).ratio() > _ALIKE
