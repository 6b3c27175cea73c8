"""The names of metrics and scores, their directions and descriptions."""

from __future__ import annotations

import json
import random
import string

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import FEW, fold, nearest, suggestion
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.metric import REGISTRY, SPELLINGS
from fastmetrics.metrics.plugins import forget, load_plugin
from fastmetrics.metrics.score_names import parse
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.retrieval.measures import FAMILIES, measure
from fastmetrics.scoring.metric_functions import callable_of
from tests.support.goldens import tables
from tests.support.program import jsonl, program

ROWS = [
    {"id": n, "answer": f"the cat sat {n % 3}", "reference": f"the cat sat on {n % 4}", "language": ["en", "ru"][n % 2]}
    for n in range(40)
]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("tokenf1", "token_f1"),
        ("Token_F1", "token_f1"),
        ("MRR", "reciprocal_rank"),
        ("P_5", "retrieval_precision@5"),
        ("nDCG_cut_10", "ndcg@10"),
        ("ndcg(k=10)", "ndcg@10"),
        ("map-l2", "average_precision(relevance_level=2)"),
        ("nDCG( gain = 'exponential', k=3 )", "ndcg@3(gain='exponential')"),
        ("SQuAD-F1(version=2)", "squad_f1(version=2)"),
        ("squad_f1(version=1)", "squad_f1"),
        ("retrieval_consistency@10", "retrieval_consistency"),
        ("recall@5(no_relevant='undefined')", "retrieval_recall@5(no_relevant='undefined')"),
        ("corpus_bleu(lowercase=True, tokenizer='char')", "corpus_bleu(tokenizer='char', lowercase=True)"),
        ("token_f1(name='f1')", "f1"),
        ("token_f1(name='TokenF1')", "TokenF1"),
        ("reciprocal_rank(name='mrr')", "mrr"),
    ],
)
def test_a_score_has_its_canonical_name_whatever_the_spelling(typed, name):
    score = parse(typed)
    assert score.name == name
    again = parse(score.spec)
    assert (again.name, again.metric, again.options) == (score.spec, score.metric, score.options)


def test_the_options_of_a_run_do_not_change_what_a_name_means():
    zero = {"no_relevant": "zero"}
    for typed in ("recall@5", "recall@5(no_relevant='undefined')", "recall@5(no_relevant='zero')"):
        score = parse(typed, zero)
        assert parse(score.name, zero).options == score.options


def test_columns_files_and_programs_use_the_canonical_name(tmp_path):
    made = fm.score(TABLE, "tokenf1,Keyword-Recall")
    assert made.column_names == ["id", "token_f1", "keyword_recall"]
    rows = jsonl(tmp_path / "rows.jsonl", *ROWS)
    done = program("score", rows, "-o", tmp_path / "s.parquet", "-m", "Token_F1,CorpusBLEU", "--keep-counts")
    assert (done.code, done.err) == (0, "")
    assert pq.read_schema(tmp_path / "s.parquet").names == ["id", "token_f1", "corpus_bleu.counts"]
    assert fm.score(TABLE, ["tokenf1"], suites="lexical").column_names.count("token_f1") == 1


OWN = (
    "token_f1(name='f1'),exact_match,bleu(name='B'),corpus_bleu(tokenizer='char', name='corpus'),latency_ms(name='ms')"
)


@pytest.fixture
def own(tmp_path):
    """A file with scores under the user's own names, and the same scores under their canonical names."""
    rows = [{**row, "latency_ms": 100.0 + row["id"]} for row in ROWS]
    table = pa.Table.from_pylist(rows)
    jsonl(tmp_path / "rows.jsonl", *rows)
    how = {"keep": ["language"], "keep_counts": True}
    fm.score(tmp_path / "rows.jsonl", output=tmp_path / "own.parquet", metrics=OWN, **how)
    canonical = "token_f1,exact_match,bleu,corpus_bleu(tokenizer='char'),latency_ms"
    fm.score(tmp_path / "rows.jsonl", output=tmp_path / "canonical.parquet", metrics=canonical, **how)
    return tmp_path, table


def test_own_names_are_read_as_their_metrics(own):
    folder, table = own
    path, canonical = folder / "own.parquet", folder / "canonical.parquet"
    summary, plain = fm.summarize(path), fm.summarize(canonical)
    assert list(summary.metrics) == ["f1", "exact_match", "B", "ms"]
    assert summary["f1"] == plain["token_f1"]
    assert summary["ms"].extra == plain["latency_ms"].extra != {}
    assert summary.corpus == {"corpus": plain.corpus["corpus_bleu(tokenizer='char')"]}
    in_memory = fm.score(table, OWN, keep_counts=True)
    assert fm.summarize(in_memory).corpus == summary.corpus
    compared = fm.compare({"a": path, "b": path}, metrics="corpus", resamples=10, bootstrap=10)
    assert (compared.counted, compared[0].mean_other) == (["corpus"], summary.corpus["corpus"])
    assert fm.worst_rows(path, "ms", n=1)["ms"].to_pylist() == [139.0]
    assert [one.met for one in fm.gate(path, ["f1 >= 0", "ms.p95 < 1000", "corpus > 0"])] == [True, True, True]
    assert fm.results.histograms(path, metrics="f1")["f1"].edges[0] == 0.0
    assert fm.results.summarize_by(path, by="language", metrics=["ms"]).better == {"ms": "lower"}
    assert {one.a for one in fm.results.correlations(path)} == {"f1", "exact_match", "B"}


def test_readers_take_any_spelling_of_a_stored_score(own):
    folder, _ = own
    path = folder / "canonical.parquet"
    for typed in ("tokenf1", "Token-F1", "token_f1"):
        assert fm.compare([path, path], metrics=typed, resamples=10, bootstrap=10)["token_f1"].ties == 40
        assert fm.worst_rows(path, typed, n=1).table.column_names == ["id", "token_f1"]
        assert fm.gate(path, f"{typed} >= 0").passed
        assert fm.gate(path, f"{typed}.drop <= 0.1", baseline=path).passed
        assert [one.metric for one in fm.results.summarize_by(path, metrics=typed)] == ["token_f1"]
        assert fm.trend(folder, typed).metric == "token_f1"
        labels = {"id": range(40), "good": [n % 2 for n in range(40)]}
        assert list(fm.validate(pq.read_table(path), labels, metrics=typed).metrics) == ["token_f1"]
    assert fm.gate(path, "Corpus_BLEU(tokenizer='char') >= 0").passed
    ways = {"Token_F1": "lower"}
    assert fm.compare([path, path], metrics="token_f1", better=ways, resamples=10, bootstrap=10).better == {
        "token_f1": "lower"
    }


def test_a_metric_may_stand_under_two_names():
    both = fm.score(TABLE, "token_f1,token_f1(name='f1')")
    assert both["f1"].to_pylist() == both["token_f1"].to_pylist()


def test_own_names_survive_every_format(tmp_path):
    jsonl(tmp_path / "rows.jsonl", *({**row, "latency_ms": 1.0 * row["id"]} for row in ROWS))
    for suffix in (".parquet", ".jsonl", ".csv", ".arrow", "/"):
        out = tmp_path / f"own{suffix}"
        fm.score(tmp_path / "rows.jsonl", output=out, metrics="latency_ms(name='ms'),token_f1(name='f1')")
        assert list(fm.summarize(out)["ms"].extra) == ["p50", "p90", "p95", "p99"]
        assert fm.worst_rows(out, "ms", n=1)["id"].to_pylist() == ["39"]
    metadata = json.loads(pq.read_schema(tmp_path / "own.parquet").metadata[b"fastmetrics"])
    assert metadata["declared"]["ms"] == {
        "spec": "latency_ms",
        "better": "lower",
        "bounds": [0, None],
        "statistics": ["p50", "p90", "p95", "p99"],
        "labels": {},
        "reading": None,
    }


def test_corpus_metrics_read_scores_under_any_spelling():
    table = {**TABLE.to_pydict(), "confidence": np.linspace(0, 1, 40)}
    made = fm.score(table, "aurc(quality='TOKEN_F1')")
    assert made.column_names == ["id", "confidence", "token_f1"]
    assert fm.summarize(made).corpus == {
        "aurc(quality='TOKEN_F1')": fm.aurc(table["confidence"], table["answer"], table["reference"]).score
    }


TABLES = tables("metric_names")

SAME = TABLES["same"]
RANKED = {"retrieved_ids": [["a", "b"]], "relevant_ids": [["b"]]}
TEXTS = {"answer": ["a b"], "reference": ["a"]}


@pytest.mark.parametrize(("typed", "name", "k"), SAME)
def test_synonym_resolves_to_the_metric(typed, name, k):
    score = parse(typed)
    assert (score.name, score.metric.name) == (name + ("" if k is None else f"@{k}"), name)
    assert score.options == REGISTRY[name].defaults | ({} if k is None else {"k": k})


def test_every_spelling_of_every_name_resolves():
    spellings = [(name, one) for name, metric in REGISTRY.items() for one in (name, *metric.others)]
    for name, spelling in spellings:
        for written in (spelling, spelling.upper(), spelling.replace("_", "-"), spelling.replace("_", "")):
            assert parse(written.replace("@k", "@5").replace("@K", "@5")).metric.name == name


def test_spellings_are_unique_and_distinct_from_cues():
    owners = {}
    for spelling, name in SPELLINGS.items():
        assert owners.setdefault(fold(spelling), name) == name, spelling
    cues = {fold(cue) for metric in REGISTRY.values() for cue in metric.cues}
    assert not cues & set(owners)


def test_at_most_three_names_are_suggested(full):
    chance = random.Random(5)
    for name in sorted(REGISTRY)[:: 1 if full else 5]:
        letters = list(name)
        letters[chance.randrange(len(letters))] = chance.choice(string.ascii_lowercase)
        assert len(nearest("".join(letters), REGISTRY, (), SPELLINGS)) <= 3
        assert nearest(name, REGISTRY, (), SPELLINGS)[0] == name


@pytest.mark.parametrize("typed", ["mrr", "MRR@10", "P@5", "recall_at_5", "hit@5", "nDCG@10", "map", "f1@5"])
def test_score_and_rank_accept_the_same_names(tmp_path, typed):
    scores = fm.score(RANKED, metrics=[typed])
    name = parse(typed).name
    assert scores.column_names == [name]
    found = fm.rank({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, typed)
    assert found.mean[typed] == scores[name][0].as_py()
    table = jsonl(tmp_path / "t.jsonl", {name: column[0] for name, column in RANKED.items()})
    done = program("score", table, "-o", tmp_path / "o.parquet", "-m", typed)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].split()[0] == name
    assert program("summarize", tmp_path / "o.parquet").out.strip() in done.out
    assert program("metrics", typed).out.split(":")[0] == parse(typed).metric.name


def metric_names(metric):
    return [one.replace("@k", "@5") for one in (metric.name, *metric.others)]


def test_rank_accepts_every_name_of_retrieval_metrics():
    names = {fold(name): family.names[0] for family in FAMILIES for name in family.names}
    for metric in families.suite("retrieval"):
        if metric.name != "repeated_ids" and metric.level == "row":
            assert {measure(one).family.names[0] for one in metric_names(metric)} == {names[fold(metric.name)]}


def test_f1_with_a_cut_off_can_only_be_that_of_retrieval():
    assert plan([*RANKED, *TEXTS], ScoreRequest("f1@5")).scores[0].options["k"] == 5
    assert "retrieval_f1" in plan([*RANKED, *TEXTS], ScoreRequest(suites="retrieval")).names


@pytest.mark.parametrize("typed", ["mrr", "recall_at_k", "structure"])
def test_spellings_are_package_attributes(typed):
    assert getattr(fm, typed) is getattr(fm, SPELLINGS[typed])
    assert typed not in fm.__all__


def test_options_with_backslashes_give_no_warning():
    assert parse(r"idk_citations(pattern='\[\d+\]')").options["pattern"] == r"\[\d+\]"


@pytest.mark.parametrize("count", [0, 1, FEW - 1, FEW, FEW + 1, 3 * FEW])
def test_suggestion_lists_first_names_and_count_of_others(count):
    names = [f"n{place:03}" for place in range(count)]
    shown = ", ".join(names[:FEW]) or "none"
    assert suggestion("x", reversed(names)) == f"known: {shown}" + f" and {count - FEW} more" * (count > FEW)


def test_the_metrics_are_a_table_in_python_and_the_list_of_the_command(tmp_path):
    rows = fm.metrics.list_metrics().to_pylist()
    assert [row["name"] for row in rows] == list(REGISTRY)
    for row in rows:
        metric = REGISTRY[row["name"]]
        assert (row["level"], row["better"], (row["low"], row["high"])) == (metric.level, metric.better, metric.bounds)
        assert set(metric.required) <= set(row["columns"].split(", "))
    families = list(dict.fromkeys(row["family"] for row in rows))
    listed = [line.partition(":  ") for line in program("metrics").out.splitlines()]
    assert [family for family, _, _ in listed] == families
    assert [name for _, _, names in listed for name in names.split(", ")] == [row["name"] for row in rows]


def test_a_metric_without_a_source_is_explained_without_one(tmp_path):
    text = "import fastmetrics as fm\n\n\n@fm.metric(bounds=(0, 1), better='higher')\n"
    text += "def unsourced(answer: str) -> float:\n    return 1.0\n"
    (tmp_path / "own.py").write_text(text)
    done = program("metrics", "unsourced", "--plugin", tmp_path / "own.py")
    REGISTRY.pop("unsourced", None)
    SPELLINGS.pop("unsourced", None)
    assert done.out.splitlines()[:2] == ["unsourced: row metric, 0 to 1", "higher is better"]


GOOD = (
    "Solar panels turn sunlight into power. They were invented in 1954 by engineers. However, they cost 900 dollars, "
    "so please compare offers. Thank you for asking about remarkable photovoltaic technology [1].\n\n"
    "Overall, solar panels turn sunlight into power and therefore save money [1]."
)
BAD = (
    "It is they. I don't know. [1] Bananas opened in 2031 at 7 pm. Xylophones released 77 cats. Dogs had 12 dogs. "
) + "banana " * 100
SHARED = {
    "question": ["Explain solar panels. Describe how solar panels turn sunlight into power, and what do they cost?"]
    * 2,
    "reference": [GOOD] * 2,
    "contexts": [[GOOD]] * 2,
    "context_ids": [["a"]] * 2,
    "answerable": [True] * 2,
    "relevant_ids": [["a", "b"]] * 2,
    "relevance": [[1, 2]] * 2,
    "expected_tool_calls": [["search"]] * 2,
    "reference_embedding": [[1.0, 0.0]] * 2,
}
DIRECTIONS_ROWS = SHARED | {
    "answer": [GOOD, BAD],
    "retrieved_ids": [["b", "a"], ["x", "x", "y"]],
    "answer_embedding": [[2.0, 0.0], [-1.0, 5.0]],
    "latency_ms": [5.0, 900.0],
    "prompt_tokens": [10, 20],
    "completion_tokens": [10, 20],
    "total_tokens": [20, 40],
    "cost": [0.1, 0.2],
    "judge_answer_faithfulness": [1.0, 0.0],
    "judge_answer_relevance": [1.0, 0.0],
    "judge_correctness": [5.0, 1.0],
    "judge_e2e": [1.0, 0.0],
    "tool_calls": [["search"], ["search", "read"]],
    "success": [True, False],
    "messages": [[{"role": "user", "content": "Why?"}]] * 2,
}
TELLING = [name for name, metric in REGISTRY.items() if metric.better is not None]
SILENT = {
    *("abstained", "answer_rate", "confidence", "answer_length", "answer_words"),
    *("anchor_count", "embedding_geometry", "rater_agreement", "tool_call_count", "turns"),
}
UNANSWERABLE = {"answer": ["I don't know.", GOOD], "answerable": [False] * 2, "reference": [None] * 2}
IN_JSON = {"answer": ['{"a": 1}', "a: 1"], "reference": ['{"a": 1}'] * 2}
OTHERS = {
    **dict.fromkeys(["correct_abstention", "answered_unanswerable", "abstention_f1"], UNANSWERABLE),
    **dict.fromkeys(["json_valid", "json_match", "json_f1"], IN_JSON),
    **{key: {"tool_calls": [["search"], ["read"]]} for key in ["tool_call_recall", "corpus_tool_call_recall"]},
    **{
        name: {name: [0.9, 0.1]}
        for name in ("entailment", *(f"bert_score_{one}" for one in ("precision", "recall", "f1")))
    },
    "contradiction": {"contradiction": [0.1, 0.9]},
    "context_relevance": {"context_relevance": [[0.9], [0.1]]},
    "choice_match": {"choices": [["It is solar.", GOOD]] * 2},
    "answer_in_context": {"contexts": [[GOOD], [BAD]]},
    "aurc": {"confidence": [0.9] * 2},
    "wrong_on_answerable": {"answer": [GOOD, "Bananas"]},
    "novel_name_rate": {"answer": ["They were made by Ada.", "They were made by Bob."], "contexts": [["Ada"]] * 2},
}
REPEATED = {
    "question": (["q", "q"], ["q", "q"]),
    "retrieved_ids": ([["a"], ["a"]], [["a"], ["b"]]),
    "answer": (["x", "x"], ["x", "y"]),
    "answer_embedding": ([[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]),
}
"""Repeats that are alike and that are not."""
"""The rows of metrics that say nothing of those above."""


def test_neutral_metrics_have_no_direction():
    assert set(REGISTRY) - set(TELLING) == SILENT


@pytest.mark.parametrize("name", TELLING)
def test_the_good_answer_scores_better(name):
    metric, rows = REGISTRY[name], DIRECTIONS_ROWS | OTHERS.get(name, {})
    if (metric.keeps or "").startswith("repeats."):
        good, bad = (
            callable_of(name)(*(REPEATED[column][place] for column in metric.required)).score for place in (0, 1)
        )
    elif metric.level == "corpus":
        good, bad = (callable_of(name)(*([rows[column][place]] for column in metric.needs)).score for place in (0, 1))
    else:
        good, bad = callable_of(name)(**{column: rows[column] for column in metric.needs if column in rows})
    assert metric.better in ("higher", "lower")
    assert good > bad if metric.better == "higher" else good < bad, (good, bad)


def test_the_best_of_several_references_is_the_nearest_by_a_distance():
    rows = {"answer": ["a", "a"], "reference": [["ccc", "bb"], ["bb", "ccc"]]}

    def sizes(texts):
        return np.array([[float(len(text))] for text in texts])

    scores = fm.score(rows, ["euclidean_distance", "dot_similarity"], embedder=sizes)
    assert scores["euclidean_distance"].to_pylist() == [1.0, 1.0]
    assert scores["dot_similarity"].to_pylist() == [3.0, 3.0]


PLUGIN = """
from typing import Annotated
import fastmetrics as fm

@fm.metric(bounds=(0, 1), better="higher")
def long_enough(answer: str, *, least: Annotated[int, "the least number of words"] = 3, plain: int = 1) -> float:
    return float(len(answer.split()) >= least)
"""


@pytest.mark.parametrize("name", ["retrieval_rbo", "verdict", "chrf++"])
def test_explanation_of_a_metric_shows_the_descriptions(name) -> None:
    explained = program("metrics", name).out
    for option, text in REGISTRY[name].descriptions.items():
        assert any(
            line.startswith(f"option: {option}=") and line.endswith(f"; {text}") for line in explained.split("\n")
        )


def test_list_of_measures_shows_the_options_of_each() -> None:
    listed = program("metrics", "--rank").out
    assert "option beta=1.0: a number from 0 to 1,000,000; the weight of recall" in listed
    assert "option recall: a number from 0 to 1; the least share of the relevant documents" in listed


def test_metric_of_a_plugin_describes_its_options(tmp_path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    load_plugin(tmp_path / "plugin.py")
    try:
        explained = program("metrics", "--plugin", tmp_path / "plugin.py", "long_enough").out
    finally:
        forget(REGISTRY["long_enough"])
    lines = explained.split("\n")
    assert any(line.startswith("option: least=3: ") and line.endswith("; the least number of words") for line in lines)
    assert any(line.startswith("option: plain=1: a whole number from") and ";" not in line for line in lines)
