"""How far metrics agree with people's labels: ``bench/results/choosing.json`` and the tables of ``docs/metrics.md``.

The data sets are in ``$FASTMETRICS_DATA/dev``; the run takes about ten seconds.

::

    FASTMETRICS_DATA=folder scripts/study choosing
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import fastmetrics as fm
from fastmetrics.metrics.suites import find

RESULTS = Path(__file__).parents[2] / "bench" / "results" / "choosing.json"
PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
MARKERS = "<!-- agreement: {name} -->"


@dataclass(frozen=True)
class Question:
    """What people were asked, the data sets with their labels, and the metrics that may stand for their answer.

    ``positive`` is the label from which on an answer is right, for the ROC AUC; without it, Spearman's correlation.
    """

    labels: Mapping[str, str]
    metrics: Sequence[str]
    positive: float | None = None
    columns: Sequence[str] = ()
    """Columns of a data set that are scores of other tools."""


QUESTIONS = {
    "correct": Question(
        {"evouna_qa": "human_correct", "openqa_nq301_judged": "human_correct", "truthfulqa": "label_correct"},
        (
            *("cover_match", "keyword_recall", "token_recall", "token_f1", "squad_f1", "exact_match", "squad_em"),
            *("number_match", "levenshtein_ratio", "wer", "cer", "ter", "token_precision", "rougeL_f1", "chrf", "bleu"),
            *("jaccard", "answer_words"),
        ),
        positive=1,
        columns=("judge_gpt4_correct",),
    ),
    "complete": Question(
        {"mtrag_human_eval": "human_completeness_mean", "haluquestqa": "human_completeness"},
        (
            *("keyword_recall", "token_recall", "token_f1", "rougeL_f1", "chrf", "bleu", "cover_match", "number_match"),
            *("levenshtein_ratio", "wer", "cer", "ter"),
            *("writing_completeness", "overall_quality", "politeness", "answer_words"),
        ),
    ),
    "faithful": Question(
        {"mtrag_human_eval": "human_faithfulness_mean"},
        (
            *("hallucination", "token_f1", "token_precision", "keyword_recall", "rougeL_f1", "abstained"),
            *("novel_word_rate", "novel_bigram_rate", "novel_name_rate", "novel_number_rate", "negation_mismatch"),
            "answer_words",
        ),
    ),
}


def agreement(folder: Path, question: Question) -> dict[str, dict[str, tuple[float, float, float]]]:
    """The agreement of each metric with the labels of each data set, with its 95 % interval, by data set and metric."""
    by_data = {}
    for data, label in question.labels.items():
        table = pq.read_table(folder / f"{data}.parquet")
        labels = pa.table({"label": table[label].cast(pa.float64()), "group": table["group"]})
        fitting = [metric for metric in question.metrics if _has_columns(table, metric)]
        # several references of a row are alternatives; beside them, the single one is not read
        scored = table.drop_columns([name for name in ("reference",) if "references" in table.column_names])
        scores = fm.score(scored, fitting).select(fitting)
        for name in set(question.columns) & set(table.column_names):
            scores = scores.append_column(name, table[name].cast(pa.float64()))
        cluster = "group"  # the answers of several systems to one question
        validated = fm.validate(scores, labels, label="label", positive=question.positive, cluster=cluster)
        by_data[data] = {
            metric: (figure.value, figure.low, figure.high)
            for metric in scores.column_names
            for figure in [validated[metric].spearman if question.positive is None else validated[metric].auc]
        }
    return by_data


def _has_columns(table: pa.Table, metric: str) -> bool:
    columns = {name.removesuffix("s") if name == "references" else name for name in table.column_names}
    return set(find(metric).required) <= columns


def table_of(by_data: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> str:
    """A Markdown table, the metric that agrees best with the first data set first."""
    first = next(iter(by_data.values()))
    metrics = sorted(
        {name for values in by_data.values() for name in values}, key=lambda name: (-_strength(first, name), name)
    )
    lines = [f"| metric | {' | '.join(by_data)} |", "| --- |" + " ---: |" * len(by_data)]
    for metric in metrics:
        cells = [_cell(values.get(metric)) for values in by_data.values()]
        lines.append(f"| `{metric}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _strength(values: Mapping[str, tuple[float, float, float]], metric: str) -> float:
    return abs(values[metric][0]) if metric in values else -1.0


def _cell(figure: tuple[float, float, float] | None) -> str:
    return "–" if figure is None else "{:.2f} [{:.2f}, {:.2f}]".format(*figure)


def page(text: str, tables: Mapping[str, str]) -> str:
    """The page with its tables replaced, each after its marker.

    >>> text = page("<!-- agreement: a -->\\n\\n| old |\\n\\nend", {"a": "| new |"})
    >>> text == page(text, {"a": "| new |"}) == "<!-- agreement: a -->\\n\\n| new |\\n\\nend"
    True
    """
    for name, table in tables.items():
        marker = MARKERS.format(name=name)
        pattern = re.compile(re.escape(marker) + r"\n\n(\|[^\n]*\n)*\n?")
        text, count = pattern.subn(f"{marker}\n\n{table}\n\n", text)
        if count != 1:
            raise ValueError(f"{PAGE.name}: expected one marker {marker!r}, got {count}")
    return text


def main() -> None:
    """Write the results, and the tables of the page from them."""
    folder = Path(os.environ["FASTMETRICS_DATA"]) / "dev"
    results = {name: agreement(folder, question) for name, question in QUESTIONS.items()}
    text = json.dumps({"name": "choosing", "fastmetrics": fm.__version__, "results": results}, indent=1)
    RESULTS.write_text(f"{text}\n", encoding="utf-8")
    tables = {name: table_of(by_data) for name, by_data in results.items()}
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    print(f"{PAGE}: written")


if __name__ == "__main__":
    main()
