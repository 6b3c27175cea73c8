"""The plan of a judge for a table: the rubrics, their columns, and the signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastmetrics.base.errors import ColumnError, UnknownNameError, quoted
from fastmetrics.base.input_columns import COLUMNS, passed_over, resolve
from fastmetrics.base.public_names import __version__
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.derive.judge.judge_settings import JudgeSettings
from fastmetrics.derive.prompts.rubric import Rubric
from fastmetrics.derive.prompts.template import columns_of, kind_of
from fastmetrics.metrics.plan import text_lists


@dataclass(frozen=True)
class JudgePlan:
    """The settings and the columns of rubrics; ``columns`` are yours by placeholder, ``keep`` those to copy."""

    settings: JudgeSettings
    columns: Mapping[str, str]
    keep: Sequence[str]
    times: bool = False
    identity: Mapping[str, str] = field(default_factory=dict)
    passed_over: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sample: Mapping[str, int] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    until: Mapping[str, Any] = field(default_factory=dict)
    """The condition that ends judging, if there is one."""
    systems: Sequence[str] = ()
    """The names of the two tables whose answers are compared, if there are two."""

    @property
    def rubrics(self) -> Sequence[Rubric]:
        """The rubrics, read."""
        return self.settings.loaded_rubrics

    @property
    def axes(self) -> list[str]:
        """The columns of scores."""
        return [rubric.axis for rubric in self.rubrics]

    @property
    def kinds(self) -> dict[str, str]:
        """The input columns and their kinds."""
        copied = dict.fromkeys([*self.keep, *self.identity.values()], "any")
        return {**copied, **{column: kind_of(name) for name, column in self.columns.items()}}

    @property
    def signature(self) -> ScoreMetadata:
        """All settings that affect the judgements."""
        model = self.settings.configured_model
        call_settings = {
            "model": model.name,
            "endpoint": model.endpoint,
            "parameters": dict(model.parameters),
            **{name: getattr(self.settings, name) for name in ("repeats", "structured", "max_chars")},
            **({"systems": list(self.systems)} if self.systems else {}),
        }
        return ScoreMetadata(
            version=__version__,
            scores={
                rubric.axis: {"metric": rubric.axis, **rubric.settings(), **call_settings} for rubric in self.rubrics
            },
            columns=self.columns,
            passed_over=self.passed_over or None,
            keep=self.keep,
            lists=self.lists or None,
            sample=self.sample or None,
            until=self.until or None,
            more_columns=["replies"] * self.settings.keep_replies + ["times"] * self.times or None,
        )


def plan_judging(
    names: Sequence[str],
    settings: JudgeSettings,
    columns: Mapping[str, str] | None = None,
    schema: str | None = None,
    keep: Sequence[str] = (),
    *,
    has_name: bool = False,
    times: bool = False,
    sample: Mapping[str, int] | None = None,
    lists: Sequence[str] | str = (),
    systems: Sequence[str] = (),
) -> JudgePlan:
    """The plan for a table with columns of these ``names``; the id is kept if there is one.

    Runs with a name read the question for the fingerprint; ``lists`` are as in ``plan``.  Raises ``ColumnError`` for a
    placeholder without a column, for an unknown kept column, and for a kept column with the name of an output column.
    """
    rubrics = settings.loaded_rubrics
    holders = dict.fromkeys(name for rubric in rubrics for name in rubric.columns)
    resolved = resolve(names, columns, schema, {"id", *(name for name in holders if name in COLUMNS)})
    used = columns_of(holders, resolved, names)
    for rubric in rubrics:
        _check(rubric, used, names)
    copied = list(dict.fromkeys([*([resolved["id"]] if "id" in resolved else []), *keep]))
    plan = JudgePlan(
        settings=settings,
        columns=used,
        keep=copied,
        times=times,
        identity={
            name: resolved[name]
            for name in ("id", "question")
            if name in resolved and (has_name or name == "id" or name in used)
        },
        passed_over=passed_over(names, {name: column for name, column in used.items() if name in COLUMNS}),
        sample=dict(sample or {}),
        lists=text_lists(names, resolved, lists),
        systems=tuple(systems),
    )
    _check_kept(copied, names, plan.axes)
    return plan


def _check(rubric: Rubric, used: Mapping[str, str], names: Sequence[str]) -> None:
    for name in _lacking(rubric, used):
        has = f"the table has: {quoted(names)}"
        raise ColumnError(f"the rubric {rubric.name!r} needs the column {name}; {has}")


def _lacking(rubric: Rubric, used: Mapping[str, str]) -> Iterator[str]:
    yield from (repr(name) for name in rubric.columns if name not in used and name not in rubric.optional)
    if rubric.one_of and not any(name in used for name in rubric.one_of):
        yield " or ".join(map(repr, rubric.one_of))


def _check_kept(keep: Sequence[str], names: Sequence[str], axes: Sequence[str]) -> None:
    for name in keep:
        if name not in names:
            raise ColumnError(str(UnknownNameError.of("column", name, names)))
        if any(name == axis or name.startswith(f"{axis}_") for axis in axes):
            raise ColumnError(f"the kept column {name!r} has the name of an output column; rename it")
