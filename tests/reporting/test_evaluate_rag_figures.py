"""Every tier of one evaluation, in two languages with repeats and rubrics, equals what a plain script computes."""

import itertools
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rouge_score import rouge_scorer, tokenizers

import fastmetrics as fm
from tests.reference import packages
from tests.reference import retrieval as plain
from tests.reporting.test_report import data_of
from tests.support.judge_server import judge_server, user_message, with_client

LETTERS = "abcdefghijklmnopqrstuvwxyzабвгдежзийклмнопрстуфхцчшщъыьэюя0123456789"
CITIES = [("Paris", "Париж"), ("Rome", "Рим"), ("Oslo", "Осло"), ("Lima", "Лима"), ("Quito", "Кито"), ("Bern", "Берн")]
TEXTS = {
    "en": [f"The museum of {city} opens at {8 + at} on Monday." for at, (city, _) in enumerate(CITIES)],
    "ru": [f"Музей «{city}» открывается в {8 + at} утра." for at, (_, city) in enumerate(CITIES)],
}
ASKED = {
    "en": lambda at: (f"When does the museum of {CITIES[at][0]} open?", f"The museum opens at {8 + at}."),
    "ru": lambda at: (f"Во сколько открывается музей {CITIES[at][1]}?", f"Музей открывается в {8 + at} утра."),
}
RUBRICS = ["answer_faithfulness", "answer_relevance", "correctness", "e2e"]
REPEATS = 3


def letters(texts):
    """The numbers of letters and digits, as a text's vector."""
    return np.array([[text.lower().count(letter) for letter in LETTERS] for text in texts], np.float32)


class Bot:
    """Says its first context, in every third answer without the last word, and once that it does not know."""

    count = 0

    def __call__(self, question, contexts):
        self.count += 1
        if self.count == 4:
            return "I don't know."
        return contexts[0] if self.count % 3 else contexts[0].rpartition(" ")[0]


def rating(body):
    """A score that fits every rubric, other for other texts."""
    text = user_message(body)
    return json.dumps({"reason": "r", "score": 0.5 if "0 to 1" in text and len(text) % 2 else 1})


class Words(tokenizers.Tokenizer):
    """Words of every script where one of two texts is in Cyrillic."""

    def tokenize(self, text):
        return re.findall(r"\w+" if re.search("[а-я]", text) else "[a-z0-9]+", text.lower())


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def figures(rows):
    """What each figure is, by its definition in the sources."""
    ranked = [(row["retrieved_ids"], dict.fromkeys(row["relevant_ids"], 1)) for row in rows]
    found = {"mrr": [plain.reciprocal_rank(*one) for one in ranked]}
    for k in (1, 3, 5, 10):
        found |= {f"recall@{k}": [plain.recall(*one, k) for one in ranked]}
        found |= {f"precision@{k}": [plain.precision(*one, k) for one in ranked]}
    found |= {f"hit_rate@{k}.mean": [plain.success(*one, k) for one in ranked] for k in (1, 5, 10)}
    found |= {f"ndcg@{k}.mean": [plain.ndcg(*one, k) for one in ranked] for k in (5, 10)}
    pairs = [(row["answer"], row["reference"]) for row in rows]
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=Words())
    rouge = [scorer.score(reference, answer) for answer, reference in pairs]
    found |= {f"avg_rouge{kind}_f": [one[f"rouge{kind}"].fmeasure for one in rouge] for kind in "12L"}
    found["avg_bleu"] = [packages.bleu(answer, [reference]) for answer, reference in pairs]
    both = [letters(pair).astype(float) for pair in pairs]
    found |= {"avg_semantic_similarity": [cosine(*pair) for pair in both]}
    found |= {"avg_dot_similarity": [float(a @ b) for a, b in both]}
    found |= {"avg_euclidean_distance": [float(np.linalg.norm(a - b)) for a, b in both]}
    by_question = [list(own) for _, own in itertools.groupby(rows, lambda row: row["question"])]
    again = [pair for own in by_question for pair in itertools.combinations(own, 2)]
    lists = [[set(row["retrieved_ids"][:10]) for row in pair] for pair in again]
    found["retrieval_consistency"] = [len(a & b) / len(a | b) for a, b in lists]
    found["response_exact_match_rate"] = [a["answer"] == b["answer"] for a, b in again]
    found["response_semantic_consistency"] = [cosine(*letters([a["answer"], b["answer"]])) for a, b in again]
    found["latency_ms.mean"] = latencies = [row["latency_ms"] for row in rows]
    found["abstain_rate"] = [row["answer"] == "I don't know." for row in rows]
    judged = ("avg_faithfulness", "avg_answer_relevance", "avg_answer_correctness", "avg_e2e_score")
    found |= {name: [row[f"judge_{axis}"] for row in rows] for axis, name in zip(RUBRICS, judged, strict=True)}
    means = {name: float(np.mean(values)) for name, values in found.items()}
    return (
        means
        | {"P50 Latency (ms)": float(np.median(latencies))}
        | geometry([own[0]["question"] for own in by_question])
    )


def geometry(questions):
    vectors = letters(questions).astype(float)
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


@pytest.mark.parametrize("where", ["faiss", pytest.param("pgvector", marks=pytest.mark.full)])
def test_every_tier_equals_a_plain_script(where, tmp_path, request):
    """Questions in both languages, one of them with two relevant chunks; the chunks have their vectors."""
    asked, made = [], [(f"{language}{at}", text) for language in TEXTS for at, text in enumerate(TEXTS[language])]
    for at, language in itertools.product(range(len(CITIES)), TEXTS):
        relevant, (question, reference) = [f"{language}{at}"] + [f"{language}0"] * (at == 1), ASKED[language](at)
        row = {"id": f"q{language}{at}", "question": question, "reference": reference, "language": language}
        asked.append(row | {"relevant_ids": relevant})
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in asked))
    stored = letters(text for _, text in made)
    names, chunks, index = [id for id, _ in made], tmp_path / "chunks.parquet", None
    pq.write_table(pa.table({"id": names, "text": [text for _, text in made], "embedding": stored.tolist()}), chunks)
    if where == "faiss":
        index = tmp_path / "index"
        fm.Index.build(stored, names=names, method="hnsw").save(index)
    else:
        postgres = request.getfixturevalue("postgres")
        fm.vectors.load_vectors(chunks, postgres.address(), table="chunks", keep="text")
        chunks = postgres.address(table="chunks")
    settings = fm.reporting.ChunkSettings(vector="embedding", index=index)
    with judge_server(reply=rating) as server:
        client = with_client(base_url=server.url, store=tmp_path / "calls.sqlite")
        options = {"judges": fm.models.JudgeSettings(RUBRICS, "j", **client), "embedder": fm.Embedder(letters)}
        options |= {"chunk_settings": settings, "repeats": REPEATS, "keep": ["language"]}
        done = fm.evaluate_rag(questions, chunks, tmp_path / "rag", Bot(), **options)
    rows = pq.read_table(done.folder / "judged.parquet").to_pylist()
    assert len(rows) == done.summary.n_rows == 2 * len(CITIES) * REPEATS
    for row in rows:
        own = letters([row["question"]])[0].astype(float)
        near = {id: cosine(own, vector.astype(float)) for id, vector in zip(names, stored, strict=True)}
        best = sorted(near.values(), reverse=True)[:10]
        assert [near[id] for id in row["retrieved_ids"]] == pytest.approx(best, abs=1e-3)
    expected, found = figures(rows), done.summary.figures
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6, abs=1e-6)
    page = (done.folder / "report.html").read_text(encoding="utf-8")
    for label in ("avg_nn_distance", "mrr", "avg_rouge1_f", "avg_e2e_score", "error_rate", "retrieval_consistency"):
        assert label in page + json.dumps(data_of(page))
    notes = [frozenset(re.findall(r"\w+", note)) for note in [*done.notes, *done.summary.notes]]
    assert len({*notes}) == len(notes)  # each once, in any order of names
    by_language = fm.results.summarize_by(done.folder / "scores.parquet", by="language", metrics="bleu")
    means = {one.segment: one.mean for one in by_language}
    for spoken in TEXTS:
        own = [packages.bleu(row["answer"], [row["reference"]]) for row in rows if row["language"] == spoken]
        assert means[f"language={spoken}"] == pytest.approx(np.mean(own))
