"""S2's tiers 2 and 3 and the figures of all tiers: generation on the contexts of a row, and repeats."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError
from tests.support.goldens import refused
from tests.support.judge_server import judge_server, user_message
from tests.support.program import jsonl, program

ROWS: dict[str, list[Any]] = {
    "id": ["a", "b", "c"],
    "question": ["Who was first?", "When was it?", "Where was it?"],
    "reference": ["It was Ada", "In the year 1843", "Somewhere in London"],
    "contexts": [["Ada was first.", "Bob was second."], ["It was 1843."], ["London."]],
    "source": ["life.txt", "dates.txt", None],
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows_of(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def given_contexts(url: str, folder: Path, **options: Any) -> fm.models.GivenContextsBot:
    return fm.models.GivenContextsBot(
        "m", base_url=url, store=folder / "calls.sqlite", client={"pause": 0.01}, **options
    )


def shown(value: Any) -> str:
    """A value of a row in a prompt: several passages are numbered as citations count them."""
    if isinstance(value, list) and len(value) > 1:
        return "\n".join(f"[{number}] {text}" for number, text in enumerate(value, 1))
    return str(value[0] if isinstance(value, list) else value)


@pytest.mark.parametrize("template", ["{contexts}\n{question}", "Q: {question} ({source}) {contexts}", "{question}"])
def test_generation_reads_the_contexts_and_other_columns_of_its_own_row(tmp_path, template):
    expected = []
    for row in rows_of(ROWS):
        names = re.findall(r"\{(\w+)\}", template)
        filled = re.sub(r"\{(\w+)\}", lambda match, row=row: shown(row[match[1]]), template)
        expected.append(None if any(row[name] is None for name in names) else filled)
    with judge_server(reply=user_message) as judge:
        answered = fm.answer(ROWS, given_contexts(judge.url, tmp_path, template=template))
    assert answered["answer"].to_pylist() == expected
    assert Counter(judge.questions) == Counter(prompt for prompt in expected if prompt)


@pytest.mark.parametrize(("bot", "placeholder"), [("given", "questoin"), ("full", "topik")])
def test_an_unknown_placeholder_is_refused_before_the_first_call(tmp_path, bot, placeholder):
    with judge_server(reply=user_message) as judge:
        made = {
            "given": given_contexts(judge.url, tmp_path, template="{contexts} {questoin}"),
            "full": fm.models.FullContextBot(
                "all", "m", template="{knowledge} {question} {topik}", base_url=judge.url, store=tmp_path / "s"
            ),
        }
        refused(ColumnError, placeholder, fm.answer, ROWS, made[bot])
        assert judge.count == 0


def equal_pairs(groups: list[list[str]]) -> float:
    pairs = [first == second for group in groups for first, second in itertools.combinations(group, 2)]
    return sum(pairs) / len(pairs)


@pytest.mark.parametrize("repeats", [2, 5])
def test_repeats_are_calls_of_their_own_and_their_answers_are_compared(tmp_path, repeats):
    """The model draws from two texts, so equal answers are a finding and not by construction."""
    drawn = np.random.default_rng(repeats).integers(0, 2, 100)
    calls = itertools.count()
    source = jsonl(tmp_path / "rows.jsonl", *rows_of(ROWS))
    with judge_server(reply=lambda body: f"{body['messages'][0]['content'][:0]}answer {drawn[next(calls)]}") as judge:
        command = ["answer", source, "-o", tmp_path / "answered.parquet", "--bot", "given-contexts", "--model", "m"]
        command += ["--base-url", judge.url, "--store", tmp_path / "calls.sqlite", "--repeats", repeats]
        done = program(*command)
        assert done.code == 0, done.err
        assert judge.count == repeats * len(ROWS["id"])
        assert set(Counter(judge.questions).values()) == {repeats}
    answered = pq.read_table(tmp_path / "answered.parquet").to_pylist()
    assert [(row["id"], row["repeat"]) for row in answered] == [
        (id_, repeat) for id_ in ROWS["id"] for repeat in range(1, repeats + 1)
    ]
    groups = [[row["answer"] for row in answered if row["id"] == id_] for id_ in ROWS["id"]]
    done = program(
        "score", tmp_path / "answered.parquet", "-o", tmp_path / "s.parquet", "-m", "response_exact_match_rate"
    )
    assert done.code == 0, done.err
    assert "share" not in done.out.partition("note")[2]
    figures = json.loads(program("summarize", tmp_path / "s.parquet", "--json").out)["figures"]
    assert figures["response_exact_match_rate"] == pytest.approx(equal_pairs(groups))
    first = fm.response_exact_match_rate(
        [row["answer"] for row in answered], [row["id"] for row in answered], against="first"
    )
    again = [answer == group[0] for group in groups for answer in group[1:]]
    assert first.score == pytest.approx(sum(again) / len(again))


@pytest.mark.parametrize("k", [1, 2, 10])
def test_documents_of_repeated_queries_are_compared(k):
    rng = np.random.default_rng(k)

    def search(question: str) -> dict[str, Any]:
        return {"answer": "x", "retrieved_ids": [f"d{n}" for n in rng.permutation(4)[: rng.integers(1, 4)]]}

    bot = fm.models.FunctionBot(search, returns=("retrieved_ids",))
    answered = fm.answer({"id": ROWS["id"], "question": ROWS["question"]}, bot, repeats=4)
    lists = [answered["retrieved_ids"].to_pylist()[start : start + 4] for start in (0, 4, 8)]
    overlaps, same = [], []
    for group in lists:
        tops = [one[:k] for one in group]
        pairs = [len({*a} & {*b}) / len({*a} | {*b}) for a, b in itertools.combinations(tops, 2)]
        overlaps.append(sum(pairs) / len(pairs))
        same += [top == tops[0] for top in tops[1:]]
    columns = answered["question"], answered["retrieved_ids"]
    assert fm.retrieval_consistency(*columns, k=k).score == pytest.approx(sum(overlaps) / 3)
    assert fm.retrieval_consistency(*columns, k=k, against="first").score == pytest.approx(sum(same) / len(same))


@pytest.mark.parametrize("metric", ["response_exact_match_rate", "retrieval_consistency", "retrieval_rbo"])
def test_repeats_that_share_a_call_are_noted(tmp_path, metric):
    """Equal questions without repeats are one call, so their equality says nothing about the model."""
    rows = [{"id": n, "question": "Who?", "contexts": ["Ada."], "retrieved_ids": ["d1"]} for n in range(4)]
    source = jsonl(tmp_path / "rows.jsonl", *rows)
    with judge_server(reply=user_message) as judge:
        command = ["answer", source, "-o", tmp_path / "answered.parquet", "--bot", "given-contexts", "--model", "m"]
        done = program(*command, "--base-url", judge.url, "--store", tmp_path / "calls.sqlite")
        assert (done.code, judge.count) == (0, 1), done.err
    done = program("score", tmp_path / "answered.parquet", "-o", tmp_path / "s.parquet", "-m", metric)
    assert done.code == 0, done.err
    for printed in (done.out, program("summarize", tmp_path / "s.parquet").out):
        assert re.search(r"\b4\b.*call", printed), printed


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def rouge(answer: str, reference: str, n: int) -> float:
    counts = []
    for text in (answer, reference):
        words = re.findall("[a-z0-9]+", text.lower())
        counts.append(Counter(zip(*(words[start:] for start in range(n)), strict=False)))
    shared = sum((counts[0] & counts[1]).values())
    precision, recall = (shared / sum(one.values()) if one else 0.0 for one in counts)
    return 2 * precision * recall / (precision + recall) if shared else 0.0


def rouge_l(answer: str, reference: str) -> float:
    a, b = (re.findall("[a-z0-9]+", text.lower()) for text in (answer, reference))
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, j in itertools.product(range(len(a)), range(len(b))):
        lengths[i + 1][j + 1] = lengths[i][j] + 1 if a[i] == b[j] else max(lengths[i][j + 1], lengths[i + 1][j])
    common = lengths[-1][-1]
    return 2 * common / (len(a) + len(b)) if common else 0.0


def bleu(answer: str, reference: str) -> float:
    """Brevity penalty times the geometric mean of four clipped precisions; each is above 0 in these rows."""
    a, b = answer.split(), reference.split()
    logs = []
    for n in range(1, 5):
        made, known = (Counter(zip(*(words[start:] for start in range(n)), strict=False)) for words in (a, b))
        logs.append(math.log(sum((made & known).values()) / sum(made.values())))
    return 100 * min(1.0, math.exp(1 - len(b) / len(a))) * math.exp(mean(logs))


TIERS = {
    "question": ["who", "who", "who", "when", "when", "when"],
    "answer": [
        *("the first programmer was Ada Lovelace of London", "the first programmer was Ada Lovelace indeed"),
        *("the first programmer was Ada Lovelace of London", "it was in the year 1843"),
        *("probably it was in the year 1843 or so", "it was in the year 1843"),
    ],
    "reference": ["the first programmer was Ada Lovelace"] * 3 + ["it was in the year 1843 in London"] * 3,
    "judge_answer_faithfulness": [1.0, 0.5, 1.0, 0.0, None, 0.25],
    "judge_answer_relevance": [1.0, 0.75, 1.0, 0.5, 0.25, None],
    "judge_correctness": [5.0, 4.0, 5.0, 1.0, 2.0, 3.0],
    "judge_e2e": [0.5, 0.25, None, 1.0, 0.0, 0.75],
}


def cosine(a: Any, b: Any) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_figures_of_generation_and_end_to_end_tiers(tmp_path):
    """Every name in the source's tables of the two tiers, in the summary, the program's JSON and the report."""
    rng = np.random.default_rng(5)
    answers, references = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    table = {**TIERS, "answer_embedding": answers.tolist(), "reference_embedding": references.tolist()}
    pairs = list(zip(TIERS["answer"], TIERS["reference"], strict=True))
    repeats = [(i, j) for start in (0, 3) for i, j in itertools.combinations(range(start, start + 3), 2)]
    texts = {
        "avg_rouge1_f": mean([rouge(*pair, 1) for pair in pairs]),
        "avg_rouge2_f": mean([rouge(*pair, 2) for pair in pairs]),
        "avg_rougeL_f": mean([rouge_l(*pair) for pair in pairs]),
        "avg_bleu": mean([bleu(*pair) for pair in pairs]),
        "response_exact_match_rate": mean([float(TIERS["answer"][i] == TIERS["answer"][j]) for i, j in repeats]),
        "response_semantic_consistency": mean([cosine(answers[i], answers[j]) for i, j in repeats]),
    }
    judged = {
        label: mean([value for value in TIERS[name] if value is not None])
        for label, name in (
            ("avg_faithfulness", "judge_answer_faithfulness"),
            ("avg_answer_relevance", "judge_answer_relevance"),
            ("avg_answer_correctness", "judge_correctness"),
            ("avg_e2e_score", "judge_e2e"),
        )
    }
    vectors = {
        "avg_semantic_similarity": mean([cosine(a, b) for a, b in zip(answers, references, strict=True)]),
        "avg_dot_similarity": mean([float(a @ b) for a, b in zip(answers, references, strict=True)]),
        "avg_euclidean_distance": mean([math.dist(a, b) for a, b in zip(answers, references, strict=True)]),
    }
    e2e = judged.pop("avg_e2e_score")
    tiers = {"tier2": {**texts, **judged}, "tier3": {**texts, **vectors, "avg_e2e_score": e2e}}
    source = jsonl(tmp_path / "rows.jsonl", *rows_of(table))
    for tier, expected in tiers.items():
        figures = dict(fm.summarize(fm.score(table, suites=tier)).figures)
        assert {name: figures[name] for name in expected} == pytest.approx(expected)
        path = tmp_path / f"{tier}.parquet"
        done = program("score", source, "-o", path, "--suites", tier)
        assert done.code == 0, done.err
        figures = json.loads(program("summarize", path, "--json").out)["figures"]
        assert {name: figures[name] for name in expected} == pytest.approx(expected)
        assert all(name in done.out for name in expected)
        assert program("report", path, "-o", tmp_path / f"{tier}.html").code == 0
        page = (tmp_path / f"{tier}.html").read_text()
        assert all(name in page for name in expected)


@pytest.mark.parametrize("k", [1, 3, 5, 10])
def test_figures_of_the_retrieval_tier_have_the_names_of_the_source(k):
    rng = np.random.default_rng(k)
    table: dict[str, list[Any]] = {
        "question": [f"q{n // 2}" for n in range(8)],
        "retrieved_ids": [],
        "relevant_ids": [],
    }
    for _ in range(8):
        table["retrieved_ids"].append([f"d{n}" for n in rng.permutation(14)[: rng.integers(0, 13)]])
        table["relevant_ids"].append([f"d{n}" for n in rng.permutation(14)[: rng.integers(1, 5)]])
    hits = [
        [one in relevant for one in found]
        for found, relevant in zip(table["retrieved_ids"], table["relevant_ids"], strict=True)
    ]
    sizes = [len(relevant) for relevant in table["relevant_ids"]]
    expected = {
        f"recall@{k}": mean([sum(row[:k]) / size for row, size in zip(hits, sizes, strict=True)]),
        f"precision@{k}": mean([sum(row[:k]) / k for row in hits]),
        "mrr": mean([1 / (row.index(True) + 1) if any(row) else 0.0 for row in hits]),
    }
    if k != 3:
        expected[f"hit_rate@{k}.mean"] = mean([float(any(row[:k])) for row in hits])
    if k >= 5:
        gains = [sum(hit / math.log2(rank + 2) for rank, hit in enumerate(row[:k])) for row in hits]
        ideal = [sum(1 / math.log2(rank + 2) for rank in range(min(k, size))) for size in sizes]
        expected[f"ndcg@{k}.mean"] = mean([gain / best for gain, best in zip(gains, ideal, strict=True)])
    figures = dict(fm.summarize(fm.score(table, suites="tier1")).figures)
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
    assert "retrieval_consistency" in figures
