"""Notes of results in the language of a report; a note without a translation stays in English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

_RUSSIAN: Mapping[str, str] = {
    "not scored: {}": "не оценено: {}",
    "rows paired by {}: {}": "строки сопоставлены по {}: {}",
    "rows cannot be paired by id, so each figure is over the run's own": (
        "строки не сопоставить по id, поэтому каждый показатель — по строкам самого запуска"
    ),
    "figures over the {} rows that all runs have; other rows: {}": (
        "показатели по {} строкам, общим для всех запусков; прочие строки: {}"
    ),
    "* over the rows with a score: {}": "* по строкам с оценкой: {}",
    "read: {}": "прочитано: {}",
    "{} % intervals: t widened for skewness": "интервалы {} %: t, расширенный на асимметрию",
    "{} % intervals: {}": "интервалы {} %: {}",
    "† approximate: fewer than {} rows differ from the most frequent value ({})": (
        "† приближённо: от самого частого значения отличаются меньше {} строк ({})"
    ),
    "† approximate: fewer than {} rows of values without bounds, rare large ones may be missing ({})": (
        "† приближённо: меньше {} строк со значениями без границ, редких больших может не быть ({})"
    ),
    "† approximate: fewer than {} {} ({})": "† приближённо: меньше {} ({2})",
    "p of {}, corrected by Holm over {} comparisons": "p по {}, с поправкой Холма на {} сравнений",
    "p of {}, corrected by Holm over {} comparison": "p по {}, с поправкой Холма на {} сравнение",
    "intervals hold each by itself, not all together; detectable is at the corrected level": (
        "интервалы верны каждый сам по себе, не все вместе; detectable — на исправленном уровне"
    ),
    "neither better nor worse, as no direction is declared: {}": "ни лучше, ни хуже: направление не объявлено: {}",
    "no difference can have a verdict: with {} resamples and {} comparisons the least corrected p is {}; compare fewer "
    "metrics, segments or systems": (
        "ни одно различие не может получить вывод: при {} перестановках и {} сравнениях наименьшее исправленное p "
        "равно {}; сравнивайте меньше метрик, сегментов или систем"
    ),
    "differences over fewer than {} rows cannot have a verdict: their p, corrected for {} comparisons, is above {} "
    "even if all rows change alike": (
        "различия по менее чем {} строкам не могут получить вывод: их p с поправкой на {} сравнений выше {}, даже если "
        "все строки изменились одинаково"
    ),
    "a run has no rows: nothing to compare": "в запуске нет строк: сравнивать нечего",
    "{}: shows {} of {} segments, those of most rows; the others are one": (
        "{}: показано {} из {} сегментов, самые крупные; остальные объединены"
    ),
    "claims are not marked: they were scored by {}, which is not installed here": (
        "утверждения не размечены: их оценивал {}, который здесь не установлен"
    ),
    "run {}: the range of {} is unknown without its rubric; 1 to 5 is assumed": (
        "запуск {}: без рубрики диапазон {} неизвестен; принят от 1 до 5"
    ),
    "{} rankings, their first {} places": "выдач: {}, их первые {} мест",
    "{} rows without a ranking were left out": "не учтено строк без выдачи: {}",
    "without a table of chunks, unused chunks are unknown and gini covers the used chunks only": (
        "без таблицы фрагментов неиспользуемые неизвестны, а gini — только по используемым"
    ),
    "{} retrieved ids are not in the table of chunks: {}": "найденных id нет в таблице фрагментов: {} ({})",
    "{} questions in {} topics, seed {}": "вопросов: {}, тем: {}, seed {}",
    "fewer than {} distinct questions, so there are fewer topics than requested": (
        "различных вопросов меньше {}, поэтому тем меньше, чем запрошено"
    ),
    "failures: {}": "неудачи: {}",
    "no column identifies failures, so no gaps are listed": "ни один столбец не указывает неудачи, пробелов нет",
    "{} rows without a question or vector were left out": "не учтено строк без вопроса или вектора: {}",
    "{} rows without a question were left out": "не учтено строк без вопроса: {}",
    "each question is compared with earlier questions only": "каждый вопрос сравнивается только с более ранними",
    "without a column rating, every earlier answer counts as stored": (
        "без столбца rating каждый более ранний ответ считается сохранённым"
    ),
    "without a column answer, it is unknown which questions were answered": (
        "без столбца answer неизвестно, на какие вопросы есть ответ"
    ),
    "questions from {} to {}: {}": "вопросы с {} по {}: {}",
    "questions by hour of the day, 0 to 23: {}": "вопросы по часам дня, от 0 до 23: {}",
}
"""The notes that a report may show, with ``{}`` for what varies, in Russian; ``{2}`` is the third of them."""


_LONG = 2_000
"""Characters up to which a note is looked up: those with long names of runs take long to match and stay as they are."""


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(re.escape(english).replace(re.escape("{}"), "(.+?)"), re.DOTALL), russian)
        for english, russian in _RUSSIAN.items()
    ]


def in_language(notes: Iterable[str], language: str) -> list[str]:
    """The notes in this language where they have a translation.

    >>> in_language(["40 questions in 3 topics, seed 42", "{x}"], "ru")
    ['вопросов: 40, тем: 3, seed 42', '{x}']
    """
    return [_russian(note) if language == "ru" else note for note in notes]


def _russian(note: str) -> str:
    for pattern, russian in _patterns() if len(note) <= _LONG else ():
        if match := pattern.fullmatch(note):
            return _filled(russian, match.groups())
    return note


def _filled(text: str, values: tuple[str, ...]) -> str:
    """The text with ``{}`` replaced by the values in turn, and ``{2}`` by the third; no value is read again."""
    parts = re.split(r"\{(\d?)\}", text)
    turn = iter(values)
    filled = [parts[0]]
    for place, after in zip(parts[1::2], parts[2::2], strict=True):
        filled += [values[int(place)] if place else next(turn), after]
    return "".join(filled)
