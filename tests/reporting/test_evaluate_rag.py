"""From questions to the report of a RAG system: each stage by its definition, kills, failed calls, other settings."""

import dataclasses
import json
import os
import signal
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OutputError
from fastmetrics.reporting import evaluate_rag
from fastmetrics.tables.outputs import read_metadata
from tests.support.judge_server import judge_server, user_message, with_client
from tests.support.program import alone, program

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CITIES = ["Paris", "Rome", "Oslo", "Lima", "Quito", "Bern", "Minsk", "Tunis"]
QUESTIONS = [f"When does the museum of {city} open?" for city in CITIES]
TEXTS = [f"The museum of {city} opens at {9 + n % 3}." for n, city in enumerate(CITIES)]
STAGES = [f"{name}.parquet" for name in ("questions", "chunks", "rankings", "retrieved", "answers", "judged", "scores")]
METRICS = "token_recall,retrieval_recall@5,hit_rate@1"
RUBRICS = ["answer_relevance", "safety"]
KEY = "sk-of-the-environment"


def letters(texts):
    """The numbers of letters, as a text's vector."""
    return np.array([[text.lower().count(letter) for letter in LETTERS] for text in texts], np.float32)


EMBEDDER = fm.Embedder(letters)


class Bot:
    """Repeats its first context, counts its calls, and fails for some questions."""

    def __init__(self):
        self.asked, self.fails = [], set()

    def __call__(self, question, contexts):
        self.asked.append(question)
        if question in self.fails:
            raise ValueError("no idea")
        return contexts[0]


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def rag(tmp_path, monkeypatch):
    """A call of ``evaluate_rag`` in an empty folder with eight questions and their chunks; options are its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = [
        {"id": f"q{n}", "question": question, "reference": f"At {9 + n % 3}.", "relevant_ids": [f"c{n}"], "answer": "x"}
        for n, question in enumerate(QUESTIONS)
    ]
    written(tmp_path / "q.jsonl", asked)
    written(tmp_path / "c.jsonl", [{"id": f"c{n}", "text": text} for n, text in enumerate(TEXTS)])

    def run(bot=None, questions="q.jsonl", chunks="c.jsonl", folder=tmp_path / "rag", **options):
        names = [field.name for field in dataclasses.fields(fm.reporting.ChunkSettings) if field.name in options]
        how = fm.reporting.ChunkSettings(**{name: options.pop(name) for name in names})
        options = {"embedder": EMBEDDER, "metrics": METRICS, "k": 3, **options}
        return fm.evaluate_rag(questions, chunks, folder, bot or Bot(), chunk_settings=how, **options)

    return run


def times(folder):
    """When the files of stages were written."""
    return {name: (folder / name).stat().st_mtime_ns for name in STAGES if (folder / name).exists()}


def table(done, stage):
    return pq.read_table(done.folder / f"{stage}.parquet")


def nearest(k):
    """The nearest chunks of each question by the definition of the cosine."""
    asked, stored = (letters(texts).astype(float) for texts in (QUESTIONS, TEXTS))
    norms = np.linalg.norm(asked, axis=1)[:, None] * np.linalg.norm(stored, axis=1)
    return np.argsort(-(asked @ stored.T) / norms, axis=1)[:, :k].tolist()


def rating(body):
    return json.dumps({"reason": "r", "score": 1})


def judges(server, **options):
    return fm.models.JudgeSettings(RUBRICS, "j", **with_client(base_url=server.url, store="calls.sqlite", **options))


def test_each_stage_is_what_its_function_makes(rag):
    done = rag()
    made = {path.name for path in done.folder.iterdir() if path.suffix != ".lock"}
    assert made == {*STAGES, "report.html", "answers.sqlite"} - {"judged.parquet"}
    for row, order in zip(table(done, "answers").to_pylist(), nearest(8), strict=True):  # 10 of 8 chunks
        assert row["retrieved_ids"] == [f"c{n}" for n in order]
        assert row["context_ids"] == row["retrieved_ids"][:3]
        assert row["contexts"] == [TEXTS[n] for n in order[:3]]
        assert (row["answer"], row["answer_status"]) == (TEXTS[order[0]], "ok")
        assert row["retrieved_scores"] == sorted(row["retrieved_scores"], reverse=True)
    assert done.summary["hit_rate@1"].mean == np.mean([order[0] == n for n, order in enumerate(nearest(3))])
    assert dict(done.summary) == dict(fm.summarize(fm.score(done.folder / "answers.parquet", METRICS)))
    assert (done.statuses, done.failed) == ({"ok": 8}, {})
    assert done.notes == ["not read: 'answer', which the evaluation makes"]


@pytest.mark.parametrize(("ids", "repeats"), [(True, 1), (False, 1), (True, 2)])
def test_a_null_question_is_missing_and_the_others_are_evaluated(rag, tmp_path, ids, repeats):
    whole = table(rag(repeats=repeats), "answers").to_pylist()
    rows = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
    rows[2]["question"] = None
    drop = set() if ids else {"id"}
    written(tmp_path / "n.jsonl", [{name: row[name] for name in row.keys() - drop} for row in rows])
    done = rag(questions="n.jsonl", folder=tmp_path / "null", repeats=repeats)
    assert (done.statuses, done.failed) == ({"missing": repeats, "ok": 7 * repeats}, {})
    for at, (row, before) in enumerate(zip(table(done, "answers").to_pylist(), whole, strict=True)):
        n = at // repeats
        assert row["id"] == (f"q{n}" if ids else n)
        if n == 2:
            assert {row[name] for name in ("retrieved_ids", "contexts", "answer")} == {None}
            assert row["answer_reason"] == "null: question, contexts"
        else:
            assert {**row, "id": f"q{n}", "latency_ms": 0} == {**before, "latency_ms": 0}
    assert done.summary["hit_rate@1"].n_missing == repeats


def test_the_search_is_repeated(rag, monkeypatch):
    """A search that finds other chunks each time, as an approximate index may after its settings change."""
    depths, search = [], evaluate_rag.search

    def other_search(*arguments, k, **options):
        depths.append(k)
        found = search(*arguments, k=k, **options)
        columns = {"id": found.table["id"]}
        for name in ("retrieved_ids", "retrieved_scores"):
            lists = [values[len(depths) - 1 :] for values in found.table[name].to_pylist()]
            columns[name] = pa.array(lists, found.table[name].type)
        return dataclasses.replace(found, table=pa.table(columns))

    monkeypatch.setattr(evaluate_rag, "search", other_search)
    bot = Bot()
    done = rag(bot, metrics="retrieval_consistency@2,hit_rate@1", repeats=3, k=2, retrieve=4)
    assert (depths, len(bot.asked)) == ([4, 4, 4], 24)
    # of the first two of ranks 1 to 4, 2 to 4, 3 to 4: 1/3, 0 and 1/3 of the pairs' ids are shared
    assert done.summary.corpus["retrieval_consistency@2"] == pytest.approx(2 / 9)
    assert [(row["id"], row["repeat"]) for row in table(done, "answers").to_pylist()[2:4]] == [("q0", 3), ("q1", 1)]
    assert table(done, "answers")["question_embedding"].null_count == 16  # tier 0 measures distinct questions
    assert "q0 #2" in (done.folder / "report.html").read_text(encoding="utf-8")


def test_a_run_that_ends_at_any_stage_goes_on_and_a_whole_one_makes_nothing(rag, tmp_path):
    bot, folder = Bot(), tmp_path / "rag"
    ends = ["embed", "search", "with_contexts", "answer", "judge", "score", "report", None]
    with judge_server(reply=rating) as server:
        for number, end in enumerate(ends):
            before = times(folder)
            with pytest.MonkeyPatch.context() as patch:
                if end is not None:
                    patch.setattr(evaluate_rag, end, lambda *_, **__: signal.raise_signal(signal.SIGINT))
                    with pytest.raises(KeyboardInterrupt):
                        rag(bot, judges=judges(server))
                else:
                    done = rag(bot, judges=judges(server))
            assert before.items() <= times(folder).items()
            assert len(times(folder)) >= number
        assert (len(bot.asked), server.count, done.spending, done.judging) == (8, 16, None, None)
        before, page = times(folder), (folder / "report.html").read_bytes()
        again = rag(bot, judges=judges(server))
        assert (times(folder), (folder / "report.html").read_bytes()) == (before, page)
        assert (again.summary, len(bot.asked), server.count) == (done.summary, 8, 16)
        straight = rag(bot, folder=tmp_path / "straight", judges=judges(server))
    for stage in STAGES[:4]:
        assert (folder / stage).read_bytes() == (straight.folder / stage).read_bytes()
    assert straight.summary == done.summary


def test_what_is_older_than_its_input_is_made_again(rag):
    """Also by the second run, if the first ended between the two."""
    bot = Bot()
    first = rag(bot)
    before = times(first.folder)
    (first.folder / "rankings.parquet").unlink()
    (first.folder / "report.html").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate_rag, "answer", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            rag(bot)
    done = rag(bot)
    assert [name for name, time in times(done.folder).items() if time == before[name]] == STAGES[:2]
    assert (done.summary, len(bot.asked)) == (first.summary, 8)
    assert (done.folder / "report.html").stat().st_size


BOT = """
import os, pathlib
asked = pathlib.Path(__file__).with_name("asked")

def reply(question, contexts):
    asked.with_name("pid").write_text(str(os.getpid()))
    with asked.open("a") as file:
        file.write(question + "\\n")
    if "Bern" in question and not asked.with_name("killed").exists():
        asked.with_name("killed").touch()
        os.kill(os.getpid(), 9)
    return contexts[0]
"""


@pytest.mark.full
def test_a_program_killed_while_answering_and_while_judging_asks_nothing_twice(rag, tmp_path):
    (tmp_path / "bot.py").write_text(BOT)
    killed = []

    def kill_at_the_tenth(body):
        if server.count == 10 and not killed:
            killed.append(user_message(body))
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        return rating(body)

    call = ["evaluate-rag", "q.jsonl", "c.jsonl", "-o", "rag", "--bot", "bot.py:reply", "--concurrency", 1]
    call += ["-m", METRICS]
    call += ["--rubrics", ",".join(RUBRICS), "--judge-model", "j", "--store", "calls.sqlite"]
    with judge_server(reply=kill_at_the_tenth) as server:
        call += ["--judge-base-url", server.url]
        assert [alone(*call).code, alone(*call).code] == [-9, -9]
        assert not (tmp_path / "rag" / "judged.parquet").exists()
        before = times(tmp_path / "rag")
        done = program(*call)
        sent = Counter(server.questions)
    assert (done.code, before.items() <= times(tmp_path / "rag").items()) == (0, True), done.err
    assert "judge: 7 requests, 7 replies, 9 from the store" in done.out
    asked = Counter((tmp_path / "asked").read_text().splitlines())
    assert (asked - Counter(QUESTIONS), len(asked)) == (Counter([QUESTIONS[5]]), 8)  # the call of the kill, again
    assert (sent - Counter(dict.fromkeys(sent, 1)), len(sent)) == (Counter(killed), 16)


def test_failed_and_unaffordable_calls_are_asked_for_again(rag):
    bot = Bot()
    bot.fails = {QUESTIONS[3]}
    with judge_server(reply=rating) as server:
        server.faults = ["500"]
        done = rag(bot, judges=judges(server, tries=1, max_calls=9))
        assert (done.failed, done.statuses) == ({"error": 1, "http": 1}, {"error": 1, "ok": 7})
        assert (done.judging.requests, done.spending.requests) == (9, 8)
        bot.fails, before = set(), times(done.folder)
        done = rag(bot, judges=judges(server))
    assert [name for name, time in times(done.folder).items() if time == before[name]] == STAGES[:4]
    assert (done.statuses, done.failed, done.summary["token_recall"].n) == ({"ok": 8}, {}, 8)
    assert (Counter(bot.asked) - Counter(QUESTIONS), done.judging.requests) == (Counter([QUESTIONS[3]]), 8)
    assert table(done, "judged")["judge_safety"].null_count == 0


def test_unaffordable_answers_are_asked_for_again(rag):
    with judge_server(reply=lambda body: "At 9.") as server:
        settings = {"base_url": server.url, "store": "calls.sqlite"}
        assert rag(fm.models.GivenContextsBot("m", max_calls=3, **settings)).statuses == {"budget": 5, "ok": 3}
        done = rag(fm.models.GivenContextsBot("m", **settings))
    assert (done.statuses, done.spending.requests) == ({"ok": 8}, 5)


def test_a_judge_rates_the_answers_that_are_there(rag):
    bot = Bot()
    plain = rag(bot, metrics=None)
    assert any("judge_e2e" in note for note in plain.notes)
    before = times(plain.folder)
    with judge_server(reply=rating) as server:
        done = rag(bot, metrics=None, judges=judges(server))
        assert (done.judging.requests, done.spending, done.failed, len(bot.asked)) == (16, None, {}, 8)
        with pytest.raises(OutputError, match=r"judged\.parquet: scores\.judge_answer_relevance\.parameters\."):
            rag(bot, metrics=None, judges=judges(server, parameters={"temperature": 1}))
    assert [name for name, time in times(done.folder).items() if time == before.get(name)] == STAGES[:5]
    answers, judged = table(done, "answers"), table(done, "judged")
    assert judged.select(answers.column_names).to_pylist() == answers.to_pylist()
    own = fm.score(done.folder / "judged.parquet", suites="tier2", embedder=EMBEDDER)
    assert done.summary["judge_answer_relevance"] == fm.summarize(own)["judge_answer_relevance"]
    assert done.summary["judge_answer_relevance"].mean == 1.0
    assert {*done.summary} - {*plain.summary} == {"judge_answer_relevance", "judge_safety"}
    page = (done.folder / "report.html").read_text()
    assert "judge_answer_relevance" in page
    assert "judge_safety" in page


@pytest.mark.parametrize(
    ("other", "names"),
    [
        ({"k": 2}, "retrieved.parquet: k was 3, is 2"),
        ({"retrieve": 20}, "rankings.parquet: k was 10, is 20"),
        ({"metrics": "token_f1"}, "scores.parquet: scores."),
        ({"name": "new"}, "scores.parquet: name was none, is 'new'"),
        ({"bot": lambda question: ""}, "answers.parquet: system was 'Bot'"),
        ({"embedder": "wordllama"}, "questions.parquet: embeddings."),
        ({"questions": "more.jsonl"}, "questions.parquet: input was q.jsonl"),
    ],
)
def test_other_settings_are_refused_by_the_stage_that_has_them(rag, tmp_path, other, names):
    rag()
    (tmp_path / "more.jsonl").write_text((tmp_path / "q.jsonl").read_text() + "\n")
    with pytest.raises(OutputError) as raised:
        rag(**other)
    assert f"{tmp_path / 'rag'}/{names}" in str(raised.value)
    assert "overwrite=True" in str(raised.value)


def test_overwriting_starts_again(rag):
    bot = Bot()
    with judge_server(reply=rating) as server:
        rag(bot, judges=judges(server))
        done = rag(bot, k=2, overwrite=True)
    assert (len(bot.asked), len(table(done, "answers")["contexts"][0])) == (16, 2)
    assert "judged.parquet" not in times(done.folder)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_questions_and_few_chunks(rag, tmp_path, count):
    texts = {"id": ["a", "b"], "question": ["ab", "ba"], "reference": ["ab", "c"]}
    few = {name: pa.array(values[:count], pa.string()) for name, values in texts.items()}
    pq.write_table(pa.table(few), tmp_path / "q.parquet")
    written(tmp_path / "c.jsonl", [{"id": 7, "text": "ab"}, {"id": 8, "text": "cd"}])
    with judge_server(reply=rating) as server:
        done, again = (rag(questions="q.parquet", metrics=None, judges=judges(server)) for _ in range(2))
        assert server.count == 2 * count
    assert table(done, "answers")["retrieved_ids"].to_pylist() == [[7, 8]] * count
    assert table(done, "answers")["answer"].to_pylist() == ["ab"] * count
    assert table(done, "judged")["judge_safety"].to_pylist() == [1.0] * count
    assert (done.summary["judge_answer_relevance"].n, again.spending) == (count, None)


def test_vectors_of_chunks_an_index_and_other_names(rag, tmp_path):
    """Chunks with vectors are not embedded; names of columns are the user's."""
    written(tmp_path / "fragen.jsonl", [{"nr": n, "frage": q, "gold": "At 9."} for n, q in enumerate(QUESTIONS)])
    columns = {"nr": list(range(8)), "id": ["x"] * 8, "body": TEXTS, "vec": letters(TEXTS).tolist()}
    pq.write_table(pa.table(columns), tmp_path / "c.parquet")
    options = {"questions": "fragen.jsonl", "columns": {"question": "frage", "id": "nr"}, "id": "nr", "text": "body"}
    options["metrics"] = "token_recall"
    done = rag(chunks="c.parquet", **options)
    assert table(done, "answers")["context_ids"].to_pylist() == nearest(3)
    fm.Index.build(letters(TEXTS), names=list(range(8))).save("index")
    written(tmp_path / "bare.jsonl", [{"nr": n, "body": text} for n, text in enumerate(TEXTS)])
    by_index = rag(chunks="bare.jsonl", folder=tmp_path / "other", index="index", **options)
    assert by_index.summary == done.summary
    assert "chunks.parquet" not in {*times(done.folder), *times(by_index.folder)}


def test_a_table_of_postgresql_is_searched_there(postgres, rag, tmp_path):
    texts = {"id": [f"c{n}" for n in range(8)], "text": TEXTS, "embedding": letters(TEXTS).tolist()}
    fm.vectors.load_vectors(pa.table(texts), postgres.address(), table="chunks", keep="text")
    there = {"chunks": postgres.address(table="chunks"), "pgvector": "ef_search=100"}
    done = rag(**there)
    assert done.summary == rag(folder=tmp_path / "files").summary
    assert "chunks.parquet" not in times(done.folder)
    assert read_metadata(done.folder / "rankings.parquet")["settings"] == {"ef_search": "100"}
    with pytest.raises(OutputError, match=r"cannot go on in .*rag: .*; choose overwrite=True to start again"):
        rag(**there)
    postgres.execute("UPDATE chunks SET text = 'closed' WHERE id = 'c0'")
    assert "closed" in table(rag(**there, overwrite=True), "answers")["contexts"][0].as_py()


NASTY = ["'", '"; drop table chunks; --', "", " ", "a", "A", "a ", "é", "e\u0301", "\u202e", "😀", "1", "01"]
NASTY += ["null", "%s"]
LARGE = [0, -1, 2**63 - 1, -(2**63), 7]


@pytest.mark.parametrize(
    ("ids", "stored", "indexed"),
    [
        (NASTY, pa.string(), pa.large_string()),
        (NASTY, pa.large_string(), pa.string()),
        (NASTY, pa.dictionary(pa.int8(), pa.string()), pa.string()),
        (LARGE, pa.int64(), pa.int64()),
        ([1, 2], pa.int32(), pa.int64()),
        ([1, 2**40], pa.uint64(), pa.int64()),
    ],
)
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_each_id_has_its_own_text(rag, tmp_path, ids, stored, indexed, suffix):
    """Ids of any kind and width; rows without an id are nobody's."""
    rows = [{"id": id, "text": f"text of {id!r}"} for id in [*ids, None, None]]
    chunks = tmp_path / f"odd.{suffix}"
    if suffix == "parquet":
        text = pa.array([row["text"] for row in rows])
        pq.write_table(pa.table({"id": pa.array([row["id"] for row in rows], stored), "text": text}), chunks)
    else:
        written(chunks, rows)
    fm.Index.build(np.random.default_rng(5).normal(size=(len(ids), 26)), names=pa.array(ids, indexed)).save("index")
    done = rag(chunks=chunks, index="index", k=20, metrics="answer_length")
    for row in table(done, "retrieved").to_pylist():
        assert sorted(row["context_ids"]) == sorted(ids)
        assert row["contexts"] == [f"text of {id!r}" for id in row["context_ids"]]


@pytest.mark.parametrize("type_", ["text", "varchar(40)", "bigint", "integer", "uuid"])
def test_ids_in_postgresql(postgres, rag, type_):
    ids = {"bigint": LARGE, "integer": [0, -1, 2**31 - 1]}.get(type_, NASTY)
    if type_ == "uuid":
        ids = [f"6ab8d2f1-0000-4000-8000-00000000000{number}" for number in range(5)]
    postgres.fill("given", pa.table({"id": ids, "text": [f"text of {id!r}" for id in ids]}))
    postgres.execute(f"CREATE TABLE chunks AS SELECT id::{type_} AS id, text FROM given")
    done = rag(chunks=postgres.address(table="chunks"), k=20, metrics="answer_length")
    for row in table(done, "retrieved").to_pylist():
        assert sorted(row["context_ids"]) == sorted(ids)
        assert row["contexts"] == [f"text of {id!r}" for id in row["context_ids"]]


def test_a_model_behind_a_server_answers_and_judges(rag, tmp_path):
    call = ["evaluate-rag", "q.jsonl", "c.jsonl", "-o", "rag", "--store", "calls.sqlite", "-k", 2, "-m", METRICS]
    call += ["--bot", "given-contexts", "--model", "m", "--rubrics", ",".join(RUBRICS)]
    with judge_server(reply=rating) as server, judge_server(reply=rating) as other:
        first, again = (program(*call, "--base-url", server.url) for _ in range(2))
        assert (first.code, again.code, server.count) == (0, 0, 24), first.err
        prompts = "\n".join(server.questions)
        more = ["--judge-model", "j", "--judge-base-url", other.url, "--overwrite"]
        elsewhere = program(*call, "--base-url", server.url, *more)
        assert (elsewhere.code, server.count, other.count) == (0, 24, 16), elsewhere.err
        assert ({body["model"] for body in server.bodies}, {body["model"] for body in other.bodies}) == ({"m"}, {"j"})
    lines = first.out.splitlines()
    assert (lines[0], len(lines) <= 12) == ("the page to read: rag/report.html", True), first.out
    assert lines[1:4] == ["answers: 8 ok; files of all stages: rag", *lines[2:4]]
    assert ("8 requests, 8 replies" in lines[2], "judge: 16 requests, 16 replies" in lines[3]) == (True, True)
    assert "judge_safety: 1, the mean of 8 rows" in lines
    contexts = pq.read_table("rag/retrieved.parquet")["contexts"].to_pylist()
    assert all(text in prompts for texts in contexts for text in texts)
    assert pq.read_table("rag/answers.parquet")["prompt_tokens"].to_pylist() == [100] * 8
    stored = b"".join(path.read_bytes() for path in [*(tmp_path / "rag").iterdir(), tmp_path / "calls.sqlite"])
    tables = [pq.read_table(path) for path in (tmp_path / "rag").glob("*.parquet")]
    columns = "".join(f"{made.schema.metadata} {made.to_pylist()}" for made in tables)
    assert KEY not in first.out + first.err + columns
    assert KEY.encode() not in stored


def test_kept_columns_names_and_a_baseline_are_in_scores_and_report(rag, tmp_path):
    """The scores of each row's latency, of abstention and hallucination among them."""
    rag(folder=tmp_path / "old")
    options = {"metrics": None, "keep": ["question"], "name": "tuned", "baseline": tmp_path / "old" / "scores.parquet"}
    pages = []
    for language in ("ru", "en"):
        new = rag(folder=tmp_path / "new", language=language, **options)
        pages.append((new.folder / "report.html").read_text(encoding="utf-8"))
        assert f'lang="{language}"' in pages[-1]
    assert {"question", "latency_ms", "abstained", "hallucination"} <= {*table(new, "scores").column_names}
    assert read_metadata(new.folder / "scores.parquet")["name"] == "tuned"
    assert "tuned" in pages[0]
