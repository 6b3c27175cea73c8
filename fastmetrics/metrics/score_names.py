"""Names of score columns: one name for each metric with its options, however a user spells them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fastmetrics.base import specs
from fastmetrics.base.column_names import PREFIX, is_axis, is_id
from fastmetrics.base.errors import FastmetricsError, FileFormatError, OptionError, UnknownNameError, shown
from fastmetrics.base.options import LimitedText, option
from fastmetrics.metrics import fitted_file
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.fitted_metric import FittedMetric, Part, fitted_metric, fitted_verdict
from fastmetrics.metrics.metric import OWN_NAME, REGISTRY, SPELLINGS, TEXT_OPTIONS, Metric
from fastmetrics.metrics.source_names import spec_of
from fastmetrics.tables.input_files import read_text

OF_RUN = ("no_relevant", "prices", "embedder", "cache", *TEXT_OPTIONS)
"""Options that a run may set for all metrics; a spec that sets one keeps it, even with the default value."""

_OWN = re.compile(r"[^\W\d][\w+-]*")

_LONGEST = 200


def canonical_name(metric: Metric, options: Mapping[str, Any], explicit: Collection[str]) -> str:
    """The name of a metric with the ``explicit`` ones of its options; those with their default values are left out.

    So equal names mean equal scores: ``nDCG_cut_10`` is written as ``ndcg@10``.
    """
    changed = [name for name in explicit if name in OF_RUN or options[name] != metric.defaults[name]]
    cut = f"@{options['k']}" if "k" in changed else ""
    ordered = [*metric.defaults, *TEXT_OPTIONS]
    others = [f"{name}={options[name]!r}" for name in ordered if name in changed and name != "k"]
    return metric.name + cut + (f"({', '.join(others)})" if others else "")


def own_name(owner: str, name: Any) -> str:
    """The user's own name of a score column, from the option ``name`` of the metric ``owner``, or from a file.

    Raises ``OptionError`` for a name that a rule, a list of metrics or a file could misread.
    """
    text: str = option(owner, "name", name, LimitedText(_LONGEST, "a name"))
    if not _OWN.fullmatch(text) or is_id(text) or text.startswith(PREFIX):
        raise OptionError(
            f"{owner}: option 'name' expects letters, digits, '_', '-' and '+', beginning with a letter, and not "
            f"'id' or {PREFIX + '...'!r}; got {shown(text)}"
        )
    return text


@dataclass(frozen=True)
class Score:
    """One score column: a metric with all its options, and the spec that names them all."""

    name: str
    """The spec, or the user's own name."""
    metric: Metric
    options: Mapping[str, Any]
    spec: str


def parse(spec: str, common: Mapping[str, Any] | None = None, own: Mapping[str, Any] | None = None) -> Score:
    """The score for ``spec``: ``name``, ``name@k`` or ``name(option=value, ...)``.

    The name may be an alias, in any letter case (``MRR``, ``P@5``, ``ndcg_cut_10``), or a name of the sources
    (``Avg EM``).
    The score column has the canonical name, or the one that the option ``name`` sets.  ``common`` options apply to any
    metric that has them, unless the spec sets its own; ``own`` options replace those of the spec.

    >>> parse("squad_f1(version=2)").options
    {'version': 2}
    >>> [parse(spec).name for spec in ("nDCG_cut_10", "SQuAD_F1( version = 2 )", "token_f1(name='f1')")]
    ['ndcg@10', 'squad_f1(version=2)', 'f1']

    Raises ``UnknownNameError`` for an unknown metric or option, ``OptionError`` for an invalid value or an own name
    that means another metric.
    """
    if spec in REGISTRY and not own:
        metric = REGISTRY[spec]
        return Score(spec, metric, metric.options(those_of(metric, common or {})), spec)
    file = _FITTED.fullmatch(spec.strip())
    if file is not None:
        return _fitted(file["path"], file["options"])
    parsed = _parsed(spec)
    metric = families.find(parsed.name, cut=bool(parsed.at))
    values = dict(parsed.options)
    if parsed.level:
        values["relevance_level"] = int(parsed.level)
    if parsed.at:
        if "k" not in metric.defaults or not isinstance(parsed.cutoff, int):
            raise OptionError(f"metric {shown(parsed.text)}: {metric.name} takes no cut-off {shown(parsed.at)}")
        values["k"] = parsed.cutoff
    values |= those_of(metric, own or {})
    column = own_name(metric.name, values.pop(OWN_NAME)) if OWN_NAME in values else None
    options = metric.options({**those_of(metric, common or {}), **values})
    if options.get("fitted") is not None:
        path = options["fitted"]
        metric = fitted_verdict(_fitted_of(read_text(path), path))
    canonical = canonical_name(metric, options, values)
    if column is not None:
        _check_unambiguous(column, canonical)
    return Score(column or canonical, metric, options, canonical)


def _parsed(spec: str) -> specs.Spec:
    if spec.partition("(")[0].strip() not in SPELLINGS:
        name, *brackets = spec_of(spec.strip()).partition("(")
        spec = "".join([_SPACES.sub("_", name), *brackets])
    return specs.parse_spec(spec, lambda name: families.lookup(name, cut=True) is not None)


_SPACES = re.compile(r"(?<=\w)[^\S\n]+(?=\w)")

_FITTED = re.compile(r"(?P<path>[^()]+\.toml)(?P<options>\(.*\))?", re.IGNORECASE | re.DOTALL)


def _fitted(path: str, options: str | None) -> Score:
    """The score of a fitted score's file, under the name in the file or the user's own.

    Raises ``FileFormatError`` for a file that is no fitted score, or reads metrics that are unknown here.
    """
    metric = _fitted_of(read_text(path), path)
    values = dict(specs.parse_spec(f"fitted{options or ''}", lambda name: True).options)
    own = own_name(path, values.pop(OWN_NAME, metric.name))
    _check_unambiguous(own, path)
    return Score(own, metric, metric.options(values), metric.name)


def _fitted_of(text: str, path: str) -> FittedMetric:
    model = fitted_file.model_of(text, path)
    try:
        parts = [part_of(feature.name, feature.is_column) for feature in model.features]
    except (OptionError, UnknownNameError) as error:
        plugin = "; load the plugin that declares it" if isinstance(error, UnknownNameError) else ""
        raise FileFormatError(f"{path}: {error}{plugin}; the fitted score cannot be computed") from error
    return fitted_metric(model, parts, text, path)


def part_of(name: str, is_column: bool) -> Part:
    """What a fitted score reads: a row metric by its spec, or a column.

    Raises ``OptionError`` for a metric whose scores depend on other rows, or on another fitted score.
    """
    if is_column:
        return Part(name)
    if _FITTED.fullmatch(name.strip()) or "fitted" in dict(specs.parse_spec(name, lambda name: True).options):
        raise OptionError(f"{name}: a fitted score cannot read another one; name the metrics that it reads")
    score = parse(name)
    if score.metric.corpus is not None or score.options.get("idf") == "corpus":
        raise OptionError(
            f"{name}: its value depends on all rows of a table; a fitted score reads metrics of single rows"
        )
    return Part(score.spec, score.metric, score.options)


def _check_unambiguous(own: str, canonical: str) -> None:
    """Raise ``OptionError`` if the user's own name of a score means another metric."""
    try:
        parsed = _parsed(own)
        if families.lookup(parsed.name, cut=bool(parsed.at)) is None and not is_axis(parsed.name):
            return  # before the error for such a name, which takes a search for names like it
        meant = parse(own).spec
    except FastmetricsError:  # no metric has this name
        return
    if meant != canonical:
        raise OptionError(f"{canonical}: option 'name' is {shown(own)}, which means {meant}; choose another name")


def those_of(metric: Metric, common: Mapping[str, Any]) -> dict[str, Any]:
    """The options of all metrics that one metric has."""
    return {name: value for name, value in common.items() if name in metric.accepts}
