"""Scores fitted to labels, on groups held out and on other data sets: the last section of ``docs/studies/validity.md``.

::

    FASTMETRICS_DATA=folder scripts/study validity_fits

The figures are in ``bench/results/fit-validity.json``; ``--page`` writes the section from them alone.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.stats import rankdata

import fastmetrics as fm
from fastmetrics.base.score_metadata import ScoreMetadata, drift_notes
from fastmetrics.fitting.evaluation import FitResult
from fastmetrics.stats.estimates import Estimate

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "bench" / "results" / "fit-validity.json"
PAGE = ROOT / "docs" / "studies" / "validity.md"
TITLE = "## A score fitted to labels\n"
MOST_ROWS = 3_000
"""Of a larger data set, a sample of whole groups of about this many rows is read."""
LENGTH = "answer_words"
OVERLAP = (
    "token_precision",
    "token_recall",
    "token_cosine",
    "keyword_recall",
    "rouge1_precision",
    "rouge2_precision",
    "rougeL_precision",
    "bleu",
    "chrf",
)
"""The metrics of the answer's words and a text: the contexts, or the reference where it may be read."""
ANSWER = (LENGTH, "answer_length", "vocabulary_score", "structure_score", "coherence", "politeness", "abstained")
CLAIMS = ("drift", "hallucination", "hallucination_risk")
NOVELTY = ("novel_word_rate", "novel_bigram_rate", "novel_name_rate", "novel_number_rate", "negation_mismatch")
QUESTION = ("jaccard", "tfidf_cosine", "answer_relevance", "keyword_completeness", "writing_completeness")
MORE = (
    *(f"rouge{n}_precision" for n in (3, 4)),
    "rouge1_f1",
    "rougeLsum_precision",
    "rougeLsum_f1",
    "chrf++",
    "grounding_overlap",
    "overlap_faithfulness",
    "citation_precision",
    "citation_recall",
    "connector_score",
    "pronoun_score",
    "topic_score",
    "diversity_score",
    "sophistication_score",
    "repetition_score",
    "squad_f1",
)
"""Further metrics of the answer, its contexts and their words."""
HALF_OF_GRADES = 0.5

HEAD = f"""{TITLE}
`fit` with its defaults on samples of whole groups (`scripts/study validity_fits`), on groups held out, beside the
best single metric, naive overlap and length alone. The right answer is not read, except on `evouna_qa` and
`summeval_scores`, which have no contexts (Spearman's correlation for the grades of the latter; elsewhere ROC AUC).

"""
READ = """
On both HaluEval sets the wrong answers are longer, an artefact that a fitted score learns. *Without novelty* leaves
out the five metrics of the suite `novelty` (words, pairs of words, names and numbers that the contexts lack, and
negation on one side alone), which were seen to rank the rows of `summedits`; on the other sets the fit changes by
at most {most_change}, but for `halueval_dialogue`. {n_more} further metrics do not reach what these five alone do
there. With the unedited summary as the reference, the fit reaches {with_reference}.
"""
TAIL = """
A score fitted on one of these sets does not transfer to another: over the {n} pairs the mean AUC is {mean}, and
{below} are below 0.5. `score` noted that the rows were far from the labelled ones in {noted} of {n}.
"""


@dataclass(frozen=True)
class LabelledSet:
    """A data set: how its label is computed, and the column that answers are compared with."""

    label: Callable[[pa.Table], Any]
    compared: str = "contexts"


SETS = {
    "halueval_qa": LabelledSet(lambda table: pc.invert(table["label_hallucinated"])),
    "halueval_dialogue": LabelledSet(lambda table: pc.invert(table["label_hallucinated"])),
    "summedits": LabelledSet(lambda table: table["label_consistent"]),
    "begin_grounding": LabelledSet(lambda table: pc.equal(table["human_label"], "Fully attributable")),
    "mtrag_human_eval": LabelledSet(lambda table: pc.greater_equal(table["human_faithfulness_mean"], 3.5)),
    "evouna_qa": LabelledSet(lambda table: table["human_correct"], "reference"),
    "summeval_scores": LabelledSet(lambda table: table["human_relevance"], "reference"),
}


def rows_of(folder: Path, name: str) -> pa.Table:
    """The columns that a fit reads; ``reference`` is the text that answers are compared with."""
    table = pq.read_table(folder / f"{name}.parquet")
    if name == "begin_grounding":
        table = table.filter(pc.not_equal(table["human_label"], "Generic"))
    chosen = SETS[name]
    label = chosen.label(table)
    columns = {column: table[column] for column in ("answer", "question") if column in table.column_names}
    columns["reference"] = table[chosen.compared]
    if chosen.compared == "contexts":
        columns["contexts"] = table["contexts"]
        columns["reference"] = pc.binary_join(table["contexts"].combine_chunks().cast(pa.list_(pa.string())), " ")
    columns["label"] = label.cast(pa.float64())
    columns["group"] = pc.coalesce(table["group"], table["id"])
    return _sample(pa.table(columns).filter(pc.is_valid(columns["label"])))


def _sample(table: pa.Table) -> pa.Table:
    """A sample of whole groups."""
    if table.num_rows <= MOST_ROWS:
        return table
    groups = np.unique(table["group"].to_numpy(zero_copy_only=False))
    n = round(len(groups) * MOST_ROWS / table.num_rows)
    drawn = np.random.default_rng(0).permutation(groups)[:n]
    return table.filter(pc.is_in(table["group"], pa.array(drawn, table["group"].type)))


def fitted(table: pa.Table, metrics: Sequence[str], place: Path | None = None) -> FitResult:
    """A score fitted to the labels of these rows."""
    return fm.fit(
        table,
        label="label",
        group="group",
        metrics=list(metrics),
        output=place,
        overwrite=True,
        threads=1,
    )


def metrics_of(table: pa.Table) -> tuple[str, ...]:
    """The metrics that these columns allow."""
    contexts = (*CLAIMS, *NOVELTY) if "contexts" in table.column_names else ()
    return (*OVERLAP, *ANSWER, *contexts, *(QUESTION if "question" in table.column_names else ()))


def without_novelty(table: pa.Table) -> list[str]:
    """The metrics that these columns allow, but those of novelty."""
    return [metric for metric in metrics_of(table) if metric not in NOVELTY]


def figures(result: FitResult, table: pa.Table) -> dict[str, Any]:
    """The held-out figures of a fit, beside the best single metric, naive overlap and length."""
    evaluation = result.evaluation
    singles = {single.name: single for single in evaluation.singles}
    return {
        "rows": table.num_rows,
        "groups": result.model.labels["groups"],
        "measure": evaluation.measure,
        "settings": result.model.labels["settings"],
        "best": evaluation.best.name,
        "naive": evaluation.naive,
        "figures": {
            "fitted": bounds(evaluation.ranking),
            "best": bounds(evaluation.best.ranking),
            "gain": bounds(evaluation.best.gain),
            "naive": bounds(singles[str(evaluation.naive)].ranking),
            "length": bounds(singles[LENGTH].ranking),
        },
    }


def bounds(estimate: Estimate) -> list[float]:
    """A figure with the ends of its interval."""
    return [round(float(value), 4) for value in (estimate.value, estimate.low, estimate.high)]


def area(scores: Any, labels: Any) -> float:
    """The ROC AUC of scores for labels of at least 1, or in the upper half of grades."""
    good = labels >= (1.0 if set(np.unique(labels)) <= {0.0, 1.0} else np.quantile(labels, HALF_OF_GRADES))
    ranks = rankdata(np.nan_to_num(scores, nan=np.nanmedian(scores)))
    n = int(good.sum())
    return float((ranks[good].sum() - n * (n + 1) / 2) / (n * (len(good) - n)))


def transfers(tables: dict[str, pa.Table], folder: Path) -> dict[str, dict[str, Any]]:
    """Scores fitted on each data set, on the others."""
    results: dict[str, dict[str, Any]] = {}
    for source, rows in tables.items():
        place = folder / f"on_{source}.toml"
        grades = rows["label"].to_numpy()
        own = rows
        if len(np.unique(grades)) > 2:
            upper = pa.array((grades >= np.quantile(grades, HALF_OF_GRADES)).astype(np.float64))
            own = rows.set_column(rows.column_names.index("label"), "label", upper)
        held_out = fitted(own, (*OVERLAP, *ANSWER), place).evaluation.ranking.value
        results[source] = {source: {"auc": round(float(held_out), 4)}}
        for other, target in tables.items():
            if other != source:
                scores = fm.score(target, str(place), threads=1)
                drifts = ScoreMetadata.of_schema(scores.schema).drift or {}
                value = area(scores[f"on_{source}"].to_numpy(), target["label"].to_numpy())
                results[source][other] = {"auc": round(value, 4), "noted": bool(drift_notes(drifts))}
    return results


def measured(folder: Path) -> dict[str, Any]:
    """All figures."""
    tables = {name: rows_of(folder, name) for name in SETS}
    fits = {}
    for name, table in tables.items():
        fits[name] = figures(fitted(table, metrics_of(table)), table)
        if "contexts" in table.column_names:
            ranking = fitted(table, without_novelty(table)).evaluation.ranking
            fits[name]["figures"]["without novelty"] = bounds(ranking)
        print(name, fits[name]["figures"], flush=True)
    edited = pq.read_table(folder / "summedits.parquet")
    with_reference = rows_of(folder, "summedits").set_column(1, "reference", edited["reference"])
    beside = bounds(fitted(with_reference, metrics_of(with_reference)).evaluation.ranking)
    with tempfile.TemporaryDirectory() as place:
        return {
            "fits": fits,
            "summedits with reference": beside,
            "summedits otherwise": other_inputs(tables["summedits"]),
            "transfers": transfers(tables, Path(place)),
        }


def other_inputs(table: pa.Table) -> dict[str, list[float]]:
    """The held-out figures of fits to the same rows with other inputs."""
    usual, before = metrics_of(table), without_novelty(table)
    inputs = {
        "metrics without novelty": before,
        "and more metrics": (*before, *MORE),
        "novelty": NOVELTY,
        "metrics with novelty": usual,
    }
    results = {}
    for name, metrics in inputs.items():
        results[name] = bounds(fitted(table, metrics).evaluation.ranking)
        print(name, results[name], flush=True)
    return results


def section(results: dict[str, Any]) -> str:
    """The section of the page."""
    head = "| data | rows | groups | fitted | without novelty | best metric | | gain | naive overlap | length |"
    lines = [head, "|---" * 10 + "|"]
    for name, entry in results["fits"].items():
        parts = {kind: _interval(values) for kind, values in entry["figures"].items()}
        cells = [
            parts["fitted"],
            parts.get("without novelty", "–"),
            f"`{entry['best']}`",
            *(parts[kind] for kind in ("best", "gain", "naive", "length")),
        ]
        lines.append(f"| {name} | {entry['rows']:,} | {entry['groups']:,} | {' | '.join(cells)} |")
    table = "\n".join(lines) + "\n"
    others = [
        entry for source, entries in results["transfers"].items() for other, entry in entries.items() if other != source
    ]
    tail = TAIL.format(
        mean=f"{np.mean([entry['auc'] for entry in others]):.2f}",
        below=sum(entry["auc"] < 0.5 for entry in others),
        n=len(others),
        noted=sum(entry["noted"] for entry in others),
    )
    changes = [
        abs(entry["figures"]["fitted"][0] - entry["figures"]["without novelty"][0])
        for name, entry in results["fits"].items()
        if "without novelty" in entry["figures"] and name not in ("summedits", "halueval_dialogue")
    ]
    read = READ.format(
        most_change=f"{max(changes):.3f}",
        with_reference=_interval(results["summedits with reference"]),
        n_more=len(MORE),
    )
    return "\n" + HEAD + table + read + tail


def _interval(values: list[float]) -> str:
    return f"{values[0]:.3f} [{values[1]:.3f}, {values[2]:.3f}]"


def stored_section() -> str:
    """The section from the stored figures."""
    return section(json.loads(OUT.read_text(encoding="utf-8")))


def main() -> None:
    """Measure, and write the figures and the section."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", action="store_true", help="write the section from the stored figures")
    if not parser.parse_args().page:
        results = measured(Path(os.environ["FASTMETRICS_DATA"]) / "dev")
        OUT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8").partition("\n" + TITLE)[0]
    PAGE.write_text(page + stored_section(), encoding="utf-8")


if __name__ == "__main__":
    main()
