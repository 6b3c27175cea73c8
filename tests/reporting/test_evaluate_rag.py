"""From questions to the report of a RAG system: each stage against its definition, kills, failed calls, bad input."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, InputError, OptionError, OutputError
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.vectors.search import search
from tests.support.judge_server import completion, judge_server, user_message, with_client
from tests.support.postgres import Database
from tests.support.program import alone, program

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CITIES = ["Paris", "Rome", "Oslo", "Lima", "Quito", "Bern", "Minsk", "Tunis"]
TEXTS = [f"The museum of {city} opens at {9 + n % 3}." for n, city in enumerate(CITIES)]
STAGES = ["questions.parquet", "chunks.parquet", "rankings.parquet", "retrieved.parquet", "answers.parquet"]
STAGES += ["scores.parquet", "report.html"]
JUDGED_STAGES = [*STAGES[:5], "judged.parquet", *STAGES[5:]]
METRICS = "token_recall,retrieval_recall@5,hit_rate@1"


def times(folder: Path, names: list[str] = STAGES) -> list[int]:
    """When the files of stages were written; the page is always made again."""
    return [(folder / name).stat().st_mtime_ns for name in names if name != "report.html"]


def stored_bytes(folder: Path) -> bytes:
    """All that an evaluation in ``rag`` and its store of calls hold; columns of Parquet files, which are compressed."""
    paths = [*(folder / "rag").iterdir(), folder / "calls.sqlite"]
    tables = [pq.read_table(path) for path in paths if path.suffix == ".parquet"]
    columns = "".join(f"{table.schema.metadata} {table.to_pylist()}" for table in tables)
    return b"".join(path.read_bytes() for path in paths) + columns.encode()


def letters(texts: Any) -> np.ndarray:
    """The numbers of letters, as a text's vector."""
    return np.array([[text.lower().count(letter) for letter in LETTERS] for text in texts], np.float32)


EMBEDDER = fm.Embedder(letters)


class Bot:
    """A bot that repeats its first context, counts its calls, and fails for some questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails: set[str] = set()

    def __call__(self, question: str, contexts: list[str]) -> str:
        self.asked.append(question)
        if question in self.fails:
            raise ValueError("no idea")
        return contexts[0]


def rows(path: Path, *some: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in some))
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    made = [
        {
            "id": f"q{n}",
            "question": f"When does the museum of {city} open?",
            "reference": f"At {9 + n % 3}.",
            "relevant_ids": [f"c{n}"],
            "answer": "of an earlier system",
        }
        for n, city in enumerate(CITIES)
    ]
    return rows(tmp_path / "questions.jsonl", *made)


@pytest.fixture
def chunks(tmp_path: Path) -> Path:
    return rows(tmp_path / "chunks.jsonl", *({"id": f"c{n}", "text": text} for n, text in enumerate(TEXTS)))


def nearest(k: int) -> list[list[int]]:
    """The nearest chunks of each question by the definition of the cosine."""
    asked = letters([f"When does the museum of {city} open?" for city in CITIES]).astype(float)
    stored = letters(TEXTS).astype(float)
    norms = np.linalg.norm(asked, axis=1)[:, None] * np.linalg.norm(stored, axis=1)
    order: list[list[int]] = np.argsort(-(asked @ stored.T) / norms, axis=1)[:, :k].tolist()
    return order


def run(questions: Path, chunks: Any, bot: Any, folder: Path, **options: Any) -> Any:
    names = [field.name for field in dataclasses.fields(fm.reporting.ChunkSettings) if field.name in options]
    settings = fm.reporting.ChunkSettings(**{name: options.pop(name) for name in names})
    chosen: dict[str, Any] = {"embedder": EMBEDDER, "metrics": METRICS, "k": 3, **options}
    return fm.evaluate_rag(questions, chunks, folder, bot, chunk_settings=settings, **chosen)


@pytest.mark.slow
def test_each_stage_is_what_its_function_makes(questions: Path, chunks: Path, tmp_path: Path) -> None:
    done = run(questions, chunks, Bot(), tmp_path / "rag")
    assert sorted(path.name for path in done.folder.iterdir() if path.suffix != ".lock") == sorted(
        [*STAGES, "answers.sqlite"]
    )
    answers = pq.read_table(done.folder / "answers.parquet").to_pylist()
    for row, order in zip(answers, nearest(8), strict=True):  # 10 ids are retrieved, but there are 8 chunks
        assert row["retrieved_ids"] == [f"c{n}" for n in order]
        assert row["context_ids"] == row["retrieved_ids"][:3]
        assert row["contexts"] == [TEXTS[n] for n in order[:3]]
        assert (row["answer"], row["answer_status"]) == (TEXTS[order[0]], "ok")
        assert row["retrieved_scores"] == sorted(row["retrieved_scores"], reverse=True)
    assert done.summary["hit_rate@1"].mean == np.mean([order[0] == n for n, order in enumerate(nearest(3))])
    scores = fm.score(done.folder / "answers.parquet", METRICS)
    assert dict(done.summary) == dict(fm.summarize(scores))
    assert done.statuses == {"ok": 8}
    assert done.failed == {}
    assert done.notes == ["not read: 'answer', which the evaluation makes"]


def test_all_tiers_are_scored(questions: Path, chunks: Path, tmp_path: Path) -> None:
    done = run(questions, chunks, Bot(), tmp_path / "rag", metrics=None, repeats=2)
    names = {*done.summary, *done.summary.corpus}
    assert {
        "ndcg@5",
        "reciprocal_rank",
        "semantic_similarity",
        "rouge1_f1(tokenizer='by_script')",
        "bleu",
        "retrieval_consistency",
    } <= names
    assert {"response_exact_match_rate", "response_semantic_consistency"} <= names
    assert any(name.startswith("embedding_geometry") for name in names), names
    assert any("judge_e2e" in note for note in done.notes)
    assert done.summary.n_rows == 16
    assert done.summary.corpus["embedding_geometry.total_samples"] == 8
    assert done.summary.corpus["retrieval_consistency"] == 1.0
    answers = pq.read_table(done.folder / "answers.parquet").to_pylist()
    assert [(row["id"], row["repeat"]) for row in answers[:3]] == [("q0", 1), ("q0", 2), ("q1", 1)]
    page = (done.folder / "report.html").read_text(encoding="utf-8")
    assert "q0 #2" in page
    assert "Tier 0: Embedding Quality (Intrinsic)" in page


def test_the_search_is_repeated(questions: Path, chunks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds other chunks each time, as an approximate index may after its settings change."""
    depths = []

    def other_search(*arguments: Any, k: int, **options: Any) -> Any:
        depths.append(k)
        found = search(*arguments, k=k, **options)
        ids = [names[len(depths) - 1 :] for names in found.table["retrieved_ids"].to_pylist()]
        values = [values[len(depths) - 1 :] for values in found.table["retrieved_scores"].to_pylist()]
        columns = {"id": found.table["id"], "retrieved_ids": pa.array(ids, found.table["retrieved_ids"].type)}
        columns["retrieved_scores"] = pa.array(values, found.table["retrieved_scores"].type)
        return dataclasses.replace(found, table=pa.table(columns))

    monkeypatch.setattr("fastmetrics.reporting.evaluate_rag.search", other_search)
    bot = Bot()
    metrics = "retrieval_consistency@2,hit_rate@1"
    done = run(questions, chunks, bot, tmp_path / "rag", metrics=metrics, repeats=3, k=2, retrieve=4)
    assert depths == [4, 4, 4]
    # of the first two of ranks 1 to 4, 2 to 4, 3 to 4: 1/3, 0 and 1/3 of the pairs' ids are shared
    assert done.summary.corpus["retrieval_consistency@2"] == pytest.approx(2 / 9)
    assert len(bot.asked) == 24


def test_a_second_run_uses_every_file(questions: Path, chunks: Path, tmp_path: Path) -> None:
    bot = Bot()
    first = run(questions, chunks, bot, tmp_path / "rag")
    before, page = times(first.folder), (first.folder / "report.html").read_bytes()
    second = run(questions, chunks, bot, tmp_path / "rag")
    assert (times(first.folder), len(bot.asked)) == (before, 8)
    assert (first.folder / "report.html").read_bytes() == page
    assert (second.summary, second.spending) == (first.summary, None)


@pytest.mark.slow
@pytest.mark.parametrize("ends", STAGES)
def test_a_run_that_ended_goes_on(
    questions: Path, chunks: Path, tmp_path: Path, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastmetrics.reporting import evaluate_rag

    makers = ["embed", "embed", "search", "with_contexts", "answer", "score", "report"]
    name = dict(zip(STAGES, makers, strict=True))[ends]
    bot, whole = Bot(), getattr(evaluate_rag, name)

    def ended(*arguments: Any, **options: Any) -> Any:
        if name != "embed" or options["output"].name == ends:
            raise KeyboardInterrupt
        return whole(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(evaluate_rag, name, ended)
        with pytest.raises(KeyboardInterrupt):
            run(questions, chunks, bot, tmp_path / "rag")
    whole_ones = STAGES[: STAGES.index(ends)]
    before = times(tmp_path / "rag", whole_ones)
    done = run(questions, chunks, bot, tmp_path / "rag")
    assert (times(done.folder, whole_ones), len(bot.asked)) == (before, 8)
    straight = run(questions, chunks, bot, tmp_path / "straight")
    for stage in STAGES[:-3]:
        assert (done.folder / stage).read_bytes() == (straight.folder / stage).read_bytes()
    assert done.summary == straight.summary


BOT = """
import os, pathlib
asked = pathlib.Path(__file__).with_name("asked")

def reply(question, contexts):
    with asked.open("a") as file:
        file.write(question + "\\n")
    if "Bern" in question and not asked.with_name("killed").exists():
        asked.with_name("killed").touch()
        os.kill(os.getpid(), 9)
    return contexts[0]
"""


@pytest.mark.full
def test_a_killed_program_asks_nothing_twice(questions: Path, chunks: Path, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(BOT)
    call: list[Any] = ["evaluate-rag", questions, chunks, "-o", tmp_path / "rag", "--bot", f"{tmp_path}/bot.py:reply"]
    call += ["--concurrency", 1, "-m", METRICS]
    assert alone(*call).code == -9
    before = times(tmp_path / "rag", STAGES[:4])
    done = program(*call)
    assert done.code == 0, done.err
    assert "answers: 8 ok" in done.out
    assert times(tmp_path / "rag", STAGES[:4]) == before
    asked = (tmp_path / "asked").read_text().splitlines()
    assert sorted(asked) == sorted([*set(asked), "When does the museum of Bern open?"])  # the one of the kill, again
    assert (tmp_path / "rag" / "report.html").exists()


def test_failed_calls_are_asked_for_again(questions: Path, chunks: Path, tmp_path: Path) -> None:
    bot = Bot()
    bot.fails = {"When does the museum of Lima open?"}
    done = run(questions, chunks, bot, tmp_path / "rag")
    assert done.failed == {"error": 1}
    bot.fails.clear()
    before = times(done.folder, STAGES[:4])
    done = run(questions, chunks, bot, tmp_path / "rag")
    assert times(done.folder, STAGES[:4]) == before
    assert (done.statuses, done.summary["token_recall"].n) == ({"ok": 8}, 8)
    assert sorted(bot.asked) == sorted([*dict.fromkeys(bot.asked), "When does the museum of Lima open?"])


def test_other_settings_are_refused_or_start_again(questions: Path, chunks: Path, tmp_path: Path) -> None:
    bot = Bot()
    run(questions, chunks, bot, tmp_path / "rag")
    for match, other in (
        (r"cannot resume .*retrieved\.parquet: k was 3, is 2; choose overwrite=True to start again$", {"k": 2}),
        (r"rankings\.parquet: k was 10, is 20; choose overwrite=True", {"retrieve": 20}),
        (r"scores\.parquet: scores\..* was .*; choose overwrite=True", {"metrics": "token_f1"}),
        (r"scores\.parquet: name was none, is 'new'; choose overwrite=True", {"name": "new"}),
        (r"answers\.parquet: system was 'Bot', is .*; choose overwrite=True", {"bot": lambda question: ""}),
        (r"questions\.parquet: embeddings\..* was .*; choose overwrite=True", {"embedder": "wordllama"}),
    ):
        with pytest.raises(OutputError, match=match):
            run(questions, chunks, other.pop("bot", bot), tmp_path / "rag", **other)
    with questions.open("a") as file:
        file.write("\n")
    with pytest.raises(OutputError, match=r"questions\.parquet: input was questions\.jsonl .*; choose overwrite=True"):
        run(questions, chunks, bot, tmp_path / "rag")
    done = run(questions, chunks, bot, tmp_path / "rag", k=2, overwrite=True)
    assert len(bot.asked) == 16
    assert len(pq.read_table(done.folder / "answers.parquet")["contexts"][0]) == 2


def test_what_is_older_than_its_input_is_made_again(
    questions: Path, chunks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by the second run, if the first ended between the two."""
    bot = Bot()
    first = run(questions, chunks, bot, tmp_path / "rag")
    before = times(first.folder)
    (first.folder / "rankings.parquet").unlink()
    (first.folder / "report.html").write_text("")
    with monkeypatch.context() as patch:
        patch.setattr("fastmetrics.reporting.evaluate_rag.answer", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            run(questions, chunks, bot, tmp_path / "rag")
    done = run(questions, chunks, bot, tmp_path / "rag")
    now = times(done.folder)
    assert now[:2] == before[:2]
    assert all(made > old for made, old in zip(now[2:], before[2:], strict=True))
    assert (done.summary, len(bot.asked)) == (first.summary, 8)
    assert (done.folder / "report.html").stat().st_size


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_questions_and_few_chunks(tmp_path: Path, count: int) -> None:
    texts = {"id": ["a", "b"], "question": ["ab", "ba"], "reference": ["ab", "c"]}
    table = pa.table({name: pa.array(values[:count], pa.string()) for name, values in texts.items()})
    pq.write_table(table, tmp_path / "q.parquet")
    chunks = rows(tmp_path / "c.jsonl", {"id": 7, "text": "ab"}, {"id": 8, "text": "cd"})
    done = run(tmp_path / "q.parquet", chunks, Bot(), tmp_path / "rag", metrics="token_recall")
    answers = pq.read_table(done.folder / "answers.parquet")
    assert answers["retrieved_ids"].to_pylist() == [[7, 8]] * count
    assert answers["answer"].to_pylist() == ["ab"] * count
    before = times(done.folder)
    run(tmp_path / "q.parquet", chunks, Bot(), tmp_path / "rag", metrics="token_recall")
    assert times(done.folder) == before


def test_vectors_of_chunks_an_index_and_other_names(questions: Path, tmp_path: Path) -> None:
    """Chunks with vectors are not embedded; names of columns are the user's."""
    made = [json.loads(line) for line in questions.read_text().splitlines()]
    renamed = [{"nr": n, "frage": row["question"], "gold": row["reference"]} for n, row in enumerate(made)]
    asked = rows(tmp_path / "fragen.jsonl", *renamed)
    table = pa.table({"nr": list(range(8)), "id": ["x"] * 8, "body": TEXTS, "vec": letters(TEXTS).tolist()})
    pq.write_table(table, tmp_path / "c.parquet")
    columns = {"question": "frage", "id": "nr"}
    options = {"columns": columns, "id": "nr", "text": "body", "metrics": "token_recall"}
    done = run(asked, tmp_path / "c.parquet", Bot(), tmp_path / "rag", **options)
    assert not (done.folder / "chunks.parquet").exists()
    assert pq.read_table(done.folder / "answers.parquet")["context_ids"].to_pylist() == nearest(3)
    fm.Index.build(letters(TEXTS), names=list(range(8))).save(tmp_path / "index")
    bare = rows(tmp_path / "bare.jsonl", *({"nr": n, "body": text} for n, text in enumerate(TEXTS)))
    by_index = run(asked, bare, Bot(), tmp_path / "other", index=tmp_path / "index", **options)
    assert by_index.summary == done.summary
    assert not (by_index.folder / "chunks.parquet").exists()


def test_a_table_of_postgresql_is_searched_there(
    postgres: Database, questions: Path, chunks: Path, tmp_path: Path
) -> None:
    texts = {"id": [f"c{n}" for n in range(8)], "text": TEXTS, "embedding": letters(TEXTS).tolist()}
    pq.write_table(pa.table(texts), tmp_path / "v.parquet")
    fm.vectors.load_vectors(tmp_path / "v.parquet", postgres.address(), table="chunks", keep="text")
    table, bot = postgres.address(table="chunks"), Bot()
    done = run(questions, table, bot, tmp_path / "rag", pgvector="ef_search=100")
    assert done.summary == run(questions, chunks, bot, tmp_path / "files").summary
    assert not (done.folder / "chunks.parquet").exists()
    settings = json.loads(pq.read_schema(done.folder / "rankings.parquet").metadata[b"fastmetrics"])
    assert settings["settings"] == {"ef_search": "100"}
    with pytest.raises(OutputError, match=r"cannot go on in .*rag: .*; choose overwrite=True to start again"):
        run(questions, table, bot, tmp_path / "rag", pgvector="ef_search=100")
    postgres.execute("UPDATE chunks SET text = 'closed' WHERE id = 'c0'")
    again = run(questions, table, bot, tmp_path / "rag", pgvector="ef_search=100", overwrite=True)
    assert "closed" in pq.read_table(again.folder / "answers.parquet")["contexts"][0].as_py()


def test_a_model_behind_a_server_answers(
    questions: Path, chunks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-of-the-environment"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with judge_server(reply=lambda body: completion("At 9.")) as server:
        options: list[Any] = ["--bot", "given-contexts", "--model", "m", "--base-url", server.url, "-m", METRICS]
        options += ["--store", tmp_path / "calls.sqlite"]
        done = program("evaluate-rag", questions, chunks, "-o", tmp_path / "rag", *options, "-k", 2)
        assert done.code == 0, done.err
        assert "8 requests, 8 replies" in done.out
        again = program("evaluate-rag", questions, chunks, "-o", tmp_path / "rag", *options, "-k", 2)
        assert (again.code, server.count) == (0, 8)
        prompts = "\n".join(server.questions)
    retrieved = pq.read_table(tmp_path / "rag" / "retrieved.parquet")
    assert all(text in prompts for texts in retrieved["contexts"].to_pylist() for text in texts)
    assert pq.read_table(tmp_path / "rag" / "answers.parquet")["prompt_tokens"].to_pylist() == [100] * 8
    assert key.encode() not in stored_bytes(tmp_path)
    assert key not in done.out + done.err


RUBRICS = ["answer_relevance", "safety"]
MORE = ["judge_answer_relevance", "judge_safety"]


def rating(body: Any) -> str:
    """The score of a rubric of 0 to 1 or of 1 to 5, the same for the same prompt."""
    return json.dumps({"reason": "r", "score": 1})


def judges(server: Any, store: Path, **options: Any) -> fm.models.JudgeSettings:
    settings: dict[str, Any] = {"base_url": server.url, "store": store, "pause": 0.0, **options}
    return fm.models.JudgeSettings(RUBRICS, "j", **with_client(**settings))


def test_a_judge_rates_the_answers(questions: Path, chunks: Path, tmp_path: Path) -> None:
    bot = Bot()
    plain = run(questions, chunks, bot, tmp_path / "rag", metrics=None)
    assert not (plain.folder / "judged.parquet").exists()
    with judge_server(reply=rating) as server:
        judge = judges(server, tmp_path / "calls.sqlite")
        before = times(plain.folder, STAGES[:5])
        done = run(questions, chunks, bot, tmp_path / "rag", metrics=None, judges=judge)
        assert (times(done.folder, STAGES[:5]), server.count) == (before, 16)
        assert (done.judging.requests, done.spending, done.failed) == (16, None, {})
        before = times(done.folder, JUDGED_STAGES)
        again = run(questions, chunks, bot, tmp_path / "rag", metrics=None, judges=judge)
        assert (times(done.folder, JUDGED_STAGES), again.judging, server.count) == (before, None, 16)
        assert again.summary == done.summary
    answers, judged = (pq.read_table(done.folder / f"{name}.parquet") for name in ("answers", "judged"))
    assert judged.select(answers.column_names).to_pylist() == answers.to_pylist()
    own = fm.score(done.folder / "judged.parquet", suites="tier2", embedder=EMBEDDER)
    assert done.summary["judge_answer_relevance"] == fm.summarize(own)["judge_answer_relevance"]
    assert done.summary["judge_answer_relevance"].mean == 1.0
    assert not {"judge_answer_relevance", "judge_safety"} & {*plain.summary}
    page = (done.folder / "report.html").read_text()
    assert all(name in page for name in MORE)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_answers_are_judged(tmp_path: Path, count: int) -> None:
    texts = {"id": ["a", "b"], "question": ["ab", "ba"], "reference": ["ab", "c"]}
    table = pa.table({name: pa.array(values[:count], pa.string()) for name, values in texts.items()})
    pq.write_table(table, tmp_path / "q.parquet")
    chunks = rows(tmp_path / "c.jsonl", {"id": 7, "text": "ab"}, {"id": 8, "text": "cd"})
    with judge_server(reply=rating) as server:
        judge = judges(server, tmp_path / "calls.sqlite")
        done = run(tmp_path / "q.parquet", chunks, Bot(), tmp_path / "rag", metrics=None, judges=judge)
    assert pq.read_table(done.folder / "judged.parquet")["judge_safety"].to_pylist() == [1.0] * count
    assert done.summary["judge_answer_relevance"].n == count


JUDGED_BOT = """
import os, pathlib

def reply(question, contexts):
    pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
    return contexts[0]
"""


@pytest.mark.full
def test_a_program_killed_while_judging_asks_nothing_twice(questions: Path, chunks: Path, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(JUDGED_BOT)
    killed: list[str] = []

    def kill_at_the_tenth(body: Any) -> str:
        if server.count == 10 and not killed:
            killed.append(user_message(body))
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        return rating(body)

    call: list[Any] = ["evaluate-rag", questions, chunks, "-o", tmp_path / "rag", "--bot", f"{tmp_path}/bot.py:reply"]
    call += ["--concurrency", 1, "-m", METRICS, "--rubrics", "answer_relevance,safety", "--judge-model", "j"]
    with judge_server() as server:
        server.reply = kill_at_the_tenth
        call += ["--judge-base-url", server.url, "--store", tmp_path / "calls.sqlite"]
        assert alone(*call).code == -9
        assert not (tmp_path / "rag" / "judged.parquet").exists()
        done = program(*call)
        assert done.code == 0, done.err
        sent = Counter(server.questions)
    assert "judge: 7 requests, 7 replies, 9 from the store" in done.out
    assert (sent - Counter(dict.fromkeys(sent, 1)), len(sent)) == (Counter(killed), 16)


def test_failed_and_unaffordable_judgements_are_asked_for_again(questions: Path, chunks: Path, tmp_path: Path) -> None:
    bot, folder, store = Bot(), tmp_path / "rag", tmp_path / "calls.sqlite"
    with judge_server(reply=rating) as server:
        server.faults = ["500"]
        done = run(questions, chunks, bot, folder, judges=judges(server, store, tries=1, max_calls=9))
        assert (done.failed, done.statuses, done.judging.requests) == ({"http": 1}, {"ok": 8}, 9)
        before = times(folder, STAGES[:5])
        done = run(questions, chunks, bot, folder, judges=judges(server, store))
        assert (times(folder, STAGES[:5]), done.failed, done.judging.requests) == (before, {}, 8)
        with pytest.raises(OutputError, match=r"judged\.parquet: scores\.judge_answer_relevance\.parameters\."):
            run(questions, chunks, bot, folder, judges=judges(server, store, parameters={"temperature": 1}))
    assert pq.read_table(folder / "judged.parquet")["judge_safety"].null_count == 0


def test_unaffordable_answers_are_asked_for_again(questions: Path, chunks: Path, tmp_path: Path) -> None:
    with judge_server(reply=lambda body: "At 9.") as server:
        settings: dict[str, Any] = {"base_url": server.url, "store": tmp_path / "calls.sqlite"}
        done = run(questions, chunks, fm.models.GivenContextsBot("m", max_calls=3, **settings), tmp_path / "rag")
        assert done.statuses == {"budget": 5, "ok": 3}
        done = run(questions, chunks, fm.models.GivenContextsBot("m", **settings), tmp_path / "rag")
        assert (done.statuses, done.spending.requests) == ({"ok": 8}, 5)


def test_the_model_of_a_bot_judges_too(
    questions: Path, chunks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-of-the-environment"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    call: list[Any] = ["evaluate-rag", questions, chunks, "-o", tmp_path / "rag", "--store", tmp_path / "calls.sqlite"]
    call += ["--bot", "given-contexts", "--model", "m", "--suites", "tier2", "--rubrics", "answer_relevance,safety"]
    with judge_server(reply=rating) as server, judge_server(reply=rating) as other:
        done = program(*call, "--base-url", server.url)
        assert (done.code, server.count) == (0, 24), done.err
        assert "judge: 16 requests, 16 replies" in done.out
        assert {body["model"] for body in server.bodies} == {"m"}
        more: list[Any] = ["--judge-model", "j", "--judge-base-url", other.url, "--overwrite"]
        done = program(*call, "--base-url", server.url, *more)
        assert (done.code, server.count, other.count) == (0, 24, 16), done.err
        assert {body["model"] for body in other.bodies} == {"j"}
        bot = fm.models.GivenContextsBot("m", base_url=server.url, store=tmp_path / "calls.sqlite")
        rated = run(questions, chunks, bot, tmp_path / "f", judges="safety", embedder="wordllama", k=5)
        assert (rated.judging.from_store, server.count) == (8, 24)
    assert key.encode() not in stored_bytes(tmp_path)


def test_rubrics_need_a_model(questions: Path, chunks: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"^judges='safety': the bot .* has no model for them; expected a JudgeSet"):
        run(questions, chunks, Bot(), tmp_path / "rag", judges="safety")
    with pytest.raises(OptionError, match=r"^metric='l2': expected 'cosine', 'euclidean' or 'dot'"):
        fm.reporting.ChunkSettings(metric="l2")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"^chunk_settings=.*: expected a ChunkSettings"):
        fm.evaluate_rag(questions, chunks, tmp_path / "rag", Bot(), chunk_settings={})  # type: ignore[arg-type]
    call = ["evaluate-rag", questions, chunks, "-o", tmp_path / "rag", "--bot", "faq", "--faq", questions]
    for more, message in (
        (["--rubrics", "safety"], "error: --rubrics needs --judge-model NAME, since --bot faq has no model\n"),
        (
            ["--judge-model", "m"],
            "error: --judge-model and --judge-base-url need --rubrics NAME, what the judge rates\n",
        ),
    ):
        done = program(*call, *more)
        assert (done.code, done.err) == (2, message)
    assert not (tmp_path / "rag").exists()


def test_bad_input_is_refused(questions: Path, chunks: Path, tmp_path: Path) -> None:
    bot = Bot()

    def refused(
        error: type[Exception], match: str, asked: Path = questions, read: Any = chunks, **options: Any
    ) -> None:
        with pytest.raises(error, match=match):
            run(asked, read, bot, tmp_path / "rag", overwrite=True, **options)

    nameless = rows(tmp_path / "n.jsonl", {"id": 1, "q": "a"})
    refused(ColumnError, r"n\.jsonl: no column 'question', only 'id', 'q'; name it with columns=", nameless)
    refused(
        ColumnError,
        r"chunks\.jsonl: no column 'body', only 'id', 'text'; name that of the chunks with text=$",
        text="body",
    )
    refused(ColumnError, r"no column 'nr', only .*; name that of the chunks with id=$", id="nr")
    refused(ColumnError, r"no column 'v', only .*; name that of the chunks with vector=$", vector="v")
    lists = rows(tmp_path / "c1.jsonl", {"id": "c0", "text": ["ab", "b"]})
    refused(ColumnError, r"c1\.jsonl: column 'text': expected text, got list<item: string>", read=lists)
    refused(FileFormatError, r"absent\.jsonl", read=tmp_path / "absent.jsonl")
    refused(OptionError, r"^k=0: expected", k=0)
    twice = [{"id": "c0", "text": text} for text in TEXTS[:2]]
    refused(ColumnError, r"c2\.jsonl: the id 'c0' is that of several chunks", read=rows(tmp_path / "c2.jsonl", *twice))
    null = rows(tmp_path / "c3.jsonl", {"id": "c0", "text": "ab"}, {"id": None, "text": "b"})
    refused(ColumnError, r"c3\.jsonl: column 'id': 1 ids are null; expected the id of each chunk", read=null)
    table = pa.table({"id": ["a"], "text": pa.array([None], pa.string()), "embedding": [[1.0] * 26]})
    pq.write_table(table, tmp_path / "c4.parquet")
    refused(ColumnError, r"c4\.parquet: the id 'a' has no text: column 'text' is null", read=tmp_path / "c4.parquet")
    pq.write_table(pa.table({"id": ["a"], "text": ["b"], "embedding": [[1.0]]}), tmp_path / "c5.parquet")
    refused(InputError, r"26 numbers|1 number", read=tmp_path / "c5.parquet")
    fm.Index.build(letters(TEXTS), names=[f"d{n}" for n in range(8)]).save(tmp_path / "index")
    refused(ColumnError, r"the id 'd\d' of a retrieved chunk is not among them", index=tmp_path / "index")
    fm.Index.build(letters(TEXTS)).save(tmp_path / "numbers")
    refused(
        ColumnError, r"the ids are of type string, and those of the index of type int64", index=tmp_path / "numbers"
    )
    assert bot.asked == []


def test_a_folder_with_other_files_is_left_alone(questions: Path, chunks: Path, tmp_path: Path) -> None:
    for overwrite in (False, True):
        with pytest.raises(OutputError, match=r"the folder has other files; choose a new or empty folder"):
            run(questions, chunks, Bot(), tmp_path, overwrite=overwrite)
    run(questions, chunks, Bot(), tmp_path / "rag")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match=r"answers\.parquet is an input; write to another name"):
            run(tmp_path / "rag" / "answers.parquet", chunks, Bot(), tmp_path / "rag", overwrite=overwrite)
    assert pq.read_table(tmp_path / "rag" / "answers.parquet").num_rows == 8
    with pytest.raises(OutputError, match=r"^cannot write .*questions\.jsonl"):
        run(questions, chunks, Bot(), questions)
    with pytest.raises(OptionError, match=r"expected a path on this machine"):
        run(questions, chunks, Bot(), "s3://bucket/rag")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bot", "message"),
    [
        (
            "absent_module:reply",
            "error: --bot absent_module:reply: cannot be imported: No module named 'absent_module'",
        ),
        ("math:reply", "error: --bot math:reply: math has no function 'reply'"),
        ("absent.py:reply", "error: --bot absent.py:reply: cannot be imported: [Errno 2]"),
    ],
)
def test_functions_that_are_not_there_are_refused(
    questions: Path, chunks: Path, tmp_path: Path, bot: str, message: str
) -> None:
    done = program("evaluate-rag", questions, chunks, "-o", tmp_path / "rag", "--bot", bot)
    assert (done.code, done.err.startswith(message)) == (2, True), done.err
    assert not (tmp_path / "rag").exists()


def test_the_address_of_the_judge_is_named_by_its_option(questions: Path, chunks: Path, tmp_path: Path) -> None:
    options = ["--model", "m", "--bot", "given-contexts", "--rubrics", "safety", "--embedder", "wordllama"]
    options += ["--judge-base-url", "http://me:secret@127.0.0.1/v1"]
    done = program("evaluate-rag", questions, chunks, "-o", tmp_path / "rag", *options)
    assert done.code == 2
    assert done.err.startswith("error: --judge-base-url 'http://***@127.0.0.1/v1': expected an address")
    assert "secret" not in done.out + done.err
    assert not (tmp_path / "rag").exists()


def test_kept_columns_names_and_a_baseline_are_in_scores_and_report(
    questions: Path, chunks: Path, tmp_path: Path
) -> None:
    """The scores of each row's latency, of abstention and hallucination among them."""
    run(questions, chunks, Bot(), tmp_path / "old")
    options: dict[str, Any] = {"metrics": None, "keep": ["question"], "name": "tuned", "language": "ru"}
    new = run(questions, chunks, Bot(), tmp_path / "new", baseline=tmp_path / "old" / "scores.parquet", **options)
    scores = pq.read_table(new.folder / "scores.parquet")
    assert {"question", "latency_ms", "abstained", "hallucination"} <= set(scores.column_names)
    assert read_metadata(new.folder / "scores.parquet")["name"] == "tuned"
    page = (new.folder / "report.html").read_text(encoding="utf-8")
    assert 'lang="ru"' in page
    assert "tuned" in page
    run(questions, chunks, Bot(), tmp_path / "new", **{**options, "language": "en"})
    assert 'lang="en"' in (new.folder / "report.html").read_text(encoding="utf-8")
