"""Every tier of one evaluation, in two languages with repeats and rubrics, equals what a plain script computes."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from tests.support.judge_server import judge_server, user_message, with_client
from tests.support.postgres import Database

LETTERS = "abcdefghijklmnopqrstuvwxyzабвгдежзийклмнопрстуфхцчшщъыьэюя0123456789"
CITIES = [("Paris", "Париж"), ("Rome", "Рим"), ("Oslo", "Осло"), ("Lima", "Лима"), ("Quito", "Кито"), ("Bern", "Берн")]
ENGLISH = [f"The museum of {city} opens at {8 + at} on Monday." for at, (city, _) in enumerate(CITIES)]
RUSSIAN = [f"Музей «{city}» открывается в {8 + at} утра." for at, (_, city) in enumerate(CITIES)]
RUBRICS = ["answer_faithfulness", "answer_relevance", "correctness", "e2e"]
REPEATS = 3


def letters(texts: Any) -> np.ndarray:
    """The numbers of letters and digits, as a text's vector."""
    return np.array([[text.lower().count(letter) for letter in LETTERS] for text in texts], np.float32)


def written(folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Questions in both languages, one of them with two relevant chunks; and the chunks with their vectors."""
    asked = []
    for at, (city, other) in enumerate(CITIES):
        english = f"When does the museum of {city} open?", f"The museum opens at {8 + at}."
        russian = f"Во сколько открывается музей {other}?", f"Музей открывается в {8 + at} утра."
        for language, (question, reference) in (("en", english), ("ru", russian)):
            relevant = [f"{language}{at}"] + [f"{language}0"] * (at == 1)
            asked.append({"id": f"q{language}{at}", "question": question, "reference": reference,
                          "relevant_ids": relevant, "language": language})  # fmt: skip
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in asked), encoding="utf-8")
    chunks = [{"id": f"{language}{at}", "text": text}
              for language, texts in (("en", ENGLISH), ("ru", RUSSIAN)) for at, text in enumerate(texts)]  # fmt: skip
    vectors = pa.array(letters(row["text"] for row in chunks).tolist())
    pq.write_table(pa.Table.from_pylist(chunks).append_column("embedding", vectors), folder / "chunks.parquet")
    return path, chunks


class Bot:
    """Says its first context, in every third answer without the last word, and once that it does not know."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, question: str, contexts: list[str]) -> str:
        self.count += 1
        if self.count == 4:
            return "I don't know."
        return contexts[0] if self.count % 3 else contexts[0].rpartition(" ")[0]


def rating(body: Any) -> str:
    """A score that fits every rubric, other for other texts."""
    text = user_message(body)
    return json.dumps({"reason": "r", "score": 0.5 if "0 to 1" in text and len(text) % 2 else 1})


# What each figure is, by its definition in the sources: plain Python over the rows of the answers.


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def retrieval(rows: list[dict[str, Any]]) -> dict[str, float]:
    hits = [[id in row["relevant_ids"] for id in row["retrieved_ids"]] for row in rows]
    sizes = [len(row["relevant_ids"]) for row in rows]
    found = {"mrr": mean([1 / (own.index(True) + 1) if any(own) else 0.0 for own in hits])}
    for k in (1, 3, 5, 10):
        found[f"hit_rate@{k}.mean"] = mean([any(own[:k]) for own in hits])
        found[f"recall@{k}"] = mean([sum(own[:k]) / size for own, size in zip(hits, sizes, strict=True)])
        found[f"precision@{k}"] = mean([sum(own[:k]) / k for own in hits])
    for k in (5, 10):
        gains = [sum(hit / np.log2(at + 2) for at, hit in enumerate(own[:k])) for own in hits]
        ideal = [sum(1 / np.log2(at + 2) for at in range(min(k, size))) for size in sizes]
        found[f"ndcg@{k}.mean"] = mean([gain / best for gain, best in zip(gains, ideal, strict=True)])
    del found["hit_rate@3.mean"]
    return found


def rouge(kind: str, answer: str, reference: str) -> float:
    pattern = r"\w+" if re.search("[а-я]", answer + reference) else "[a-z0-9]+"
    a, b = (re.findall(pattern, text.lower()) for text in (answer, reference))
    if kind == "L":
        common = np.zeros((len(a) + 1, len(b) + 1), int)
        for i, j in itertools.product(range(len(a)), range(len(b))):
            same = common[i, j] + 1 if a[i] == b[j] else 0
            common[i + 1, j + 1] = max(same, common[i, j + 1], common[i + 1, j])
        shared, sizes = int(common[-1, -1]), (len(a), len(b))
    else:
        n = int(kind)
        grams = [Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1)) for words in (a, b)]
        shared, sizes = (grams[0] & grams[1]).total(), (grams[0].total(), grams[1].total())
    return 2 * shared / sum(sizes) if shared else 0.0


def bleu(answer: str, reference: str) -> float:
    def tokens(text: str) -> list[str]:
        text = re.sub(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 ", f" {text} ")
        text = re.sub(r"([^0-9])([\.,])", r"\1 \2 ", text)
        text = re.sub(r"([\.,])([^0-9])", r" \1 \2", text)
        return re.sub(r"([0-9])(-)", r"\1 \2 ", text).split()

    a, b = tokens(answer), tokens(reference)
    logs, smooth = [], 1.0
    for n in range(1, 5):
        grams = [Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1)) for words in (a, b)]
        total, shared = grams[0].total(), (grams[0] & grams[1]).total()
        if not total:
            break
        if not shared:
            smooth *= 2
        logs.append(np.log(shared / total if shared else 1 / (smooth * total)))
    if (Counter(a) & Counter(b)).total() == 0:
        return 0.0
    brevity = 1.0 if len(a) > len(b) else np.exp(1 - len(b) / len(a))
    return 100 * float(brevity * np.exp(np.mean(logs)))


def texts(rows: list[dict[str, Any]]) -> dict[str, float]:
    pairs = [(row["answer"], row["reference"]) for row in rows]
    found = {f"avg_rouge{kind}_f": mean([rouge(kind, *pair) for pair in pairs]) for kind in ("1", "2", "L")}
    answers, references = (letters(side).astype(float) for side in zip(*pairs, strict=True))
    both = list(zip(answers, references, strict=True))
    found |= {"avg_bleu": mean([bleu(*pair) for pair in pairs])}
    found |= {"avg_semantic_similarity": mean([cosine(a, b) for a, b in both])}
    found |= {"avg_dot_similarity": mean([float(a @ b) for a, b in both])}
    return found | {"avg_euclidean_distance": mean([float(np.linalg.norm(a - b)) for a, b in both])}


def repeated(rows: list[dict[str, Any]]) -> dict[str, float]:
    by_question: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_question.setdefault(row["question"], []).append(row)
    pairs = [pair for own in by_question.values() for pair in itertools.combinations(own, 2)]
    lists = [[set(row["retrieved_ids"][:10]) for row in pair] for pair in pairs]
    return {
        "retrieval_consistency": mean([len(a & b) / len(a | b) for a, b in lists]),
        "response_exact_match_rate": mean([a["answer"] == b["answer"] for a, b in pairs]),
        "response_semantic_consistency": mean([cosine(*letters([a["answer"], b["answer"]])) for a, b in pairs]),
    }


def geometry(rows: list[dict[str, Any]]) -> dict[str, float]:
    vectors = letters(list(dict.fromkeys(row["question"] for row in rows))).astype(float)
    n, units = len(vectors), vectors / np.linalg.norm(vectors, axis=1)[:, None]
    distances = 1 - units @ units.T
    pairs, near = distances[np.triu_indices(n, 1)], np.sort(distances + 9 * np.eye(n), axis=1)[:, : min(10, n - 1)]
    spread = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    shares = np.sort(np.linalg.eigvalsh(np.cov(vectors.T)))[::-1]
    found = {"total_samples": n, "avg_nn_distance": near.mean(), "std_nn_distance": near.std()}
    found |= {"density_score": 1 / (near.mean() + 1e-12), "avg_spread": spread.mean(), "max_spread": spread.max()}
    found["effective_dimensionality"] = int(np.argmax(np.cumsum(shares) / shares.sum() >= 0.95)) + 1
    found |= {"avg_pairwise_distance": pairs.mean(), "std_pairwise_distance": pairs.std()}
    found |= {"min_pairwise_distance": pairs.min(), "max_pairwise_distance": pairs.max(), "spread_std": spread.std()}
    return {f"embedding_geometry.{name}": float(value) for name, value in found.items()}


def figures(rows: list[dict[str, Any]]) -> dict[str, float]:
    found = {**retrieval(rows), **texts(rows), **repeated(rows), **geometry(rows)}
    latencies = [row["latency_ms"] for row in rows]
    found |= {"P50 Latency (ms)": float(np.median(latencies)), "latency_ms.mean": mean(latencies)}
    found["abstain_rate"] = mean([row["answer"] == "I don't know." for row in rows])
    judged = {"answer_faithfulness": "avg_faithfulness", "answer_relevance": "avg_answer_relevance"}
    judged |= {"correctness": "avg_answer_correctness", "e2e": "avg_e2e_score"}
    return found | {name: mean([row[f"judge_{axis}"] for row in rows]) for axis, name in judged.items()}


def test_every_tier_on_faiss_equals_a_plain_script(tmp_path: Path) -> None:
    questions, made = written(tmp_path)
    index = tmp_path / "index"
    fm.Index.build(letters(r["text"] for r in made), names=[r["id"] for r in made], method="hnsw").save(index)
    check_every_tier(tmp_path, questions, made, tmp_path / "chunks.parquet", index=index, language="ru")


def test_every_tier_on_pgvector_equals_a_plain_script(postgres: Database, tmp_path: Path) -> None:
    questions, made = written(tmp_path)
    fm.vectors.load_vectors(tmp_path / "chunks.parquet", postgres.address(), table="chunks", keep="text")
    check_every_tier(tmp_path, questions, made, postgres.address(table="chunks"))


def check_every_tier(
    folder: Path, questions: Path, made: list[dict[str, Any]], chunks: Any, *, index: Any = None, language: Any = "en"
) -> None:
    """Evaluate a system and compare the summary, the report and the segments."""
    settings = fm.reporting.ChunkSettings(vector="embedding", index=index)
    with judge_server(reply=rating) as server:
        judges: dict[str, Any] = {"base_url": server.url, "store": folder / "calls.sqlite"}
        done = fm.evaluate_rag(
            questions,
            chunks,
            folder / "rag",
            Bot(),
            embedder=fm.Embedder(letters),
            chunk_settings=settings,
            judges=fm.models.JudgeSettings(RUBRICS, "j", **with_client(**judges)),
            repeats=REPEATS,
            keep=["language"],
            language=language,
        )
    rows = pq.read_table(done.folder / "judged.parquet").to_pylist()
    assert len(rows) == 2 * len(CITIES) * REPEATS
    units = letters(r["text"] for r in made).astype(float)
    for row in rows:
        near = {
            chunk["id"]: cosine(letters([row["question"]])[0].astype(float), unit)
            for chunk, unit in zip(made, units, strict=True)
        }
        similarities = [near[id] for id in row["retrieved_ids"]]
        assert similarities == pytest.approx(sorted(near.values(), reverse=True)[:10], abs=1e-3)
    expected, found = figures(rows), done.summary.figures
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6, abs=1e-6)
    page = (done.folder / "report.html").read_text(encoding="utf-8")
    for label in ("avg_nn_distance", "mrr", "avg_rouge1_f", "avg_e2e_score", "error_rate", "retrieval_consistency"):
        assert label in page
    notes = [*done.notes, *done.summary.notes]
    assert len({frozenset(re.findall(r"\w+", note)) for note in notes}) == len(
        notes
    )  # each once, in any order of names
    means = {
        one.segment: one.mean
        for one in fm.results.summarize_by(done.folder / "scores.parquet", by="language", metrics="bleu")
    }
    for spoken in ("en", "ru"):
        own = [bleu(row["answer"], row["reference"]) for row in rows if row["language"] == spoken]
        assert means[f"language={spoken}"] == pytest.approx(mean(own))
