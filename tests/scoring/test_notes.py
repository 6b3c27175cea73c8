"""Notes on rows: bad ones, drift, and others."""

import gzip
import importlib.util
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from fastmetrics.results.opening_scores import open_file
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.readers import Limits
from tests.support.fitted_models import CUTS, features, written
from tests.support.toy_scores import KINDS, FunctionMaker, choosy, names, run, score

RUSSIAN = {"answer": ["Париж в столице"] * 6, "reference": ["Париж в столице"] * 6}
CHINESE = {"answer": ["巴黎是法国的首都"] * 6, "reference": ["巴黎是法国的首都"] * 6}
ENGLISH = {"answer": ["in Paris"] * 6, "reference": ["Paris"] * 6}
DROPPED = "6 of 6 scored rows (100 %) are in a script other than Latin, whose words this tokenizer drops"
UNSPACED = "6 of 6 scored rows (100 %) are in a script without spaces"


def told(call):
    """What a call returns, and the notes that it hands on, each warning with the line that made the call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert all(one.category is fm.ScoreWarning and issubclass(one.category, UserWarning) for one in caught)
    assert len(caught) <= 1
    return result, [note for one in caught for note in str(one.message).split("\n")]


def accessor(frame):
    (fm.pandas if isinstance(frame, pd.DataFrame) else fm.polars).register()
    return frame.fm


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda rows: pl.DataFrame(rows).lazy(),
    "arrow": pa.table,
    "dict": dict,
    "dicts": lambda rows: pa.table(rows).to_pylist(),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(("rows", "note"), [(RUSSIAN, f"rougeL_f1: {DROPPED}"), (CHINESE, f"token_f1: {UNSPACED}")])
def test_tables_of_every_kind_hand_on_the_notes_of_their_summary(kind, rows, note):
    table = FRAMES[kind](rows)
    metric = note.split(":", maxsplit=1)[0]
    scores, of_score = told(lambda: fm.score(table, metric))
    assert [one[: len(note)] for one in of_score] == [note]
    assert of_score == fm.summarize(scores).notes

    def with_scores():
        scored = fm.with_scores(table, metric)
        return scored.collect(engine="in-memory") if kind == "lazy" else scored

    scored, of_frame = told(with_scores)
    assert len(of_frame) == 1
    if kind in ("pandas", "arrow"):
        assert of_frame == of_score == fm.summarize(scored).notes
    assert told(lambda: fm.score(FRAMES[kind](ENGLISH), metric))[1] == []
    assert told(lambda: fm.with_scores(FRAMES[kind](ENGLISH), metric))[1] == []


def test_the_warning_is_at_the_line_of_the_caller():
    for call in (
        lambda: fm.score(RUSSIAN, "rougeL_f1"),
        lambda: fm.with_scores(RUSSIAN, "rougeL_f1"),
        lambda: fm.rouge(RUSSIAN["answer"], RUSSIAN["reference"]),
        lambda: fm.token_f1(*CHINESE.values()),
    ):
        with pytest.warns(fm.ScoreWarning) as caught:
            call()
        assert [one.filename for one in caught] == [__file__]


@pytest.mark.parametrize(
    ("call", "start"),
    [
        (lambda: fm.token_f1(*CHINESE.values()), f"token_f1: {UNSPACED}"),
        (lambda: fm.token_f1(*CHINESE.values(), tokenizer="unicode"), None),
        (lambda: fm.token_f1(*RUSSIAN.values()), None),
        (lambda: fm.bleu(*CHINESE.values()), f"bleu: {UNSPACED}"),
        (lambda: fm.corpus_bleu(*CHINESE.values()), f"corpus_bleu: {UNSPACED}"),
        (lambda: fm.corpus_bleu(*CHINESE.values(), tokenizer="zh"), None),
        (lambda: fm.rouge(*RUSSIAN.values(), types="rougeL"), f"rougeL_recall, rougeL_precision, rougeL_f1: {DROPPED}"),
        (lambda: fm.token_f1(["a"], ["['a', 'b']"]), "reference: 1 text is a list"),
        (lambda: fm.reciprocal_rank([["a"]], [[]]), "reciprocal_rank: 1 of 1 scored rows (100 %) have no relevant"),
        (
            lambda: fm.response_exact_match_rate(["a", "a"], ["q", "q"], ["c1", "c1"]),
            "response_exact_match_rate: 2 of 2 scored rows (100 %) share a model call",
        ),
        (lambda: fm.response_exact_match_rate(["a", "b"], [7, 7]), None),
        (lambda: fm.token_f1(["a"], [7]), "reference: 1 number or flag was read as text"),
        (lambda: fm.scoring.verdicts(["法国的首都"], ["巴黎是法国的首都"], [["巴黎"]]), "verdict"),
        (lambda: accessor(pd.DataFrame(CHINESE)).token_f1(), f"token_f1: {UNSPACED}"),
        (lambda: accessor(pd.DataFrame(CHINESE)).score("token_f1"), f"token_f1: {UNSPACED}"),
        (lambda: accessor(pl.DataFrame(CHINESE)).with_scores("token_f1"), f"token_f1: {UNSPACED}"),
        (lambda: pl.DataFrame(CHINESE).select(fm.polars.token_f1("answer", "reference")), f"token_f1: {UNSPACED}"),
        (lambda: fm.datasets.scorer("token_f1")(CHINESE), f"token_f1: {UNSPACED}"),
        (lambda: fm.scoring.assert_scores(CHINESE, "token_f1 > 0.5", min_n=1), f"token_f1: {UNSPACED}"),
    ],
)
def test_functions_of_one_metric_and_frames(call, start):
    notes = told(call)[1]
    assert [note.startswith(start or "no note") for note in notes[:1]] == [True] * (start is not None)


def test_duckdb_tells_once_of_a_query_of_many_pieces():
    import duckdb

    with duckdb.connect() as connection:
        fm.duckdb.register(connection, "token_f1(name='f1_of_pieces')")
        query = "SELECT sum(f1_of_pieces('巴黎' || i, '巴黎')) FROM range(10000) numbers(i)"
        assert len(told(lambda: connection.sql(query).fetchall())[1]) == 1


def test_a_tier_names_what_the_columns_do_not_allow():
    notes = told(lambda: fm.score({"answer": ["a"], "reference": ["a"], "question": ["q"]}, suites="tier3"))[1]
    assert any(note.startswith("tier3: not scored for lack of columns: ") for note in notes)


def test_frames_of_pandas_keep_notes_with_all_their_rows_only():
    frame = pd.DataFrame({**RUSSIAN, "id": range(6)}, index=list("abcdef"))
    scored = told(lambda: fm.with_scores(frame, "rougeL_f1,token_f1"))[0]
    (note,) = fm.summarize(scored).notes
    assert note.startswith(f"rougeL_f1: {DROPPED}")
    assert fm.summarize(scored.sort_index(ascending=False)).notes == [note]
    assert fm.summarize(scored.copy()).notes == [note]
    assert fm.summarize(scored.head(3)).notes == []
    again = told(lambda: fm.with_scores(scored, "rouge1_f1"))[0]
    (both,) = fm.summarize(again).notes
    assert both.startswith(f"rougeL_f1, rouge1_f1: {DROPPED}")
    assert frame.attrs == {}


def test_pandas_frames_tell_undefined_scores_from_missing_ones():
    rows = {"retrieved_ids": [["a"], ["a"], None], "relevant_ids": [["a"], [], ["a"]]}
    for kind in (pd.DataFrame, pa.table):
        summary = fm.summarize(told(lambda kind=kind: fm.with_scores(kind(rows), "reciprocal_rank"))[0])
        found = summary["reciprocal_rank"]
        assert (found.n, found.n_undefined, found.n_missing) == (1, 1, 1)
        (note,) = summary.notes
        assert note.startswith("reciprocal_rank: 1 of 2 scored rows (50 %) have no relevant document")


@pytest.mark.skipif(not importlib.util.find_spec("wordllama"), reason="not installed: wordllama")
@pytest.mark.parametrize("embedder", ["wordllama", "Embedder"])
def test_the_default_embedder_is_a_model_of_english(embedder):
    model = fm.Embedder() if embedder == "Embedder" else embedder
    rows = {**RUSSIAN, "contexts": [["Париж [1]."]] * 6}
    scores, notes = told(lambda: fm.score(rows, "semantic_similarity", embedder=model))
    assert [note.partition(";")[0] for note in notes] == [
        "semantic_similarity: 6 of 6 scored rows (100 %) are in a script other than Latin, and wordllama, the "
        "embedder, is a model of English"
    ]
    assert fm.summarize(scores).notes == notes
    grounded = told(lambda: fm.score(rows, "grounding_overlap", embedder=model))[1]
    assert [note.partition(" are ")[2][:27] for note in grounded if " are in" in note] == [
        "in a script other than Lati"
    ]
    assert len(grounded) == 2  # and that nothing is cited
    assert told(lambda: fm.score(ENGLISH, "semantic_similarity", embedder=model))[1] == []


def test_vectors_of_other_models_have_no_such_note():
    own = fm.Embedder(lambda texts: np.ones((len(texts), 2), np.float32))
    assert told(lambda: fm.score(RUSSIAN, "semantic_similarity", embedder=own))[1] == []
    vectors = {"answer_embedding": [[1.0, 0.0]] * 2, "question": ["где?"] * 2, "reference_embedding": [[1.0, 0.0]] * 2}
    assert told(lambda: fm.summarize(fm.score(vectors, "semantic_similarity,response_semantic_consistency")))[1] == []


def test_results_with_a_summary_do_not_warn(tmp_path):
    scored, notes = told(lambda: fm.score(RUSSIAN, "rougeL_f1", output=tmp_path / "a.parquet"))
    assert notes == []
    assert scored.summary.notes[0].startswith(f"rougeL_f1: {DROPPED}")


SIGNS = {
    "thought": ("answer", "<think>2 or 4?</think>4", 1, "holds the thoughts of a model"),
    "heading": ("answer", "**Thinking Process:** 2 or 4?", 1, "holds the thoughts of a model"),
    "list": ("reference", '["Paris", "Rome"]', 1, "text is a list, as JSON"),
    "object": ("answer", '{"city": "Paris"}', 1, "text is an object in JSON"),
    "chat": ("answer", '[{"role": "user", "content": "a"}]', 1, "text is a history of messages in JSON"),
    "pipes": ("reference", "Paris | Rome", 60, "texts have parts between pipes"),
    "script": ("answer", "巴黎是法国的首都", 6, "are in a script without spaces between words"),
    "spelling": ("reference", "Straße – 3", 1, "holds a reference but for its spelling"),
}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("begin", [0, 40])
def test_a_note_stands_where_some_rows_have_its_sign_and_nowhere_else(sign, begin, tmp_path):
    """What only some bytes tell is seen wherever a text lies, in memory and in a file."""
    column, text, rows, note = SIGNS[sign]
    plain = ["thin here, a < b of the anal thou"[:begin] + f" word {n}" for n in range(100)]
    table = {"answer": list(plain), "reference": list(plain)}
    assert _notes(table, tmp_path) == []
    table[column][begin : begin + rows] = [text] * rows
    if sign == "spelling":
        table["answer"][begin] = "It is strasse - 3."
    assert sum(note in one for one in _notes(table, tmp_path)) == 1


def _notes(table, folder):
    """The notes on token_f1 of a table in memory, which are those of a file."""
    _, notes = told(lambda: fm.score(table, "token_f1"))
    pq.write_table(pa.table(table), folder / "rows.parquet")
    scored = fm.score(folder / "rows.parquet", "token_f1", output=folder / "scores.parquet", overwrite=True)
    assert scored.summary.notes == notes
    return notes


def rejects(source, **options):
    """The rejects of a run, line by line."""
    output = source.with_name("o.jsonl")
    made = run(open_source(source), FunctionMaker(choosy, KINDS), output, on_error="skip", overwrite=True, **options)
    return [json.loads(line) for line in made.rejects.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("length", [9_999, 10_000, 10_001, 3_000_000])
def test_long_rejected_row_is_cut_after_10_000_characters(tmp_path, length):
    (tmp_path / "in.jsonl").write_text('{"id": 1, "answer": "x"}\n' + "ü" * length, encoding="utf-8")
    (found,) = rejects(tmp_path / "in.jsonl")
    assert found["raw"] == "ü" * min(length, 10_000)


def test_rejects_are_in_row_order(tmp_path):
    """Whether the reader found them or scoring did, and whichever comes first within a batch."""
    answers = ["short", "fine", "bad", "fine", "a,b", "caf\udce9", "bad", "fine", "short", "a,b", "caf\udce9", "bad"]
    lines = [f"q{n}" if one == "short" else f"q{n},{one}" for n, one in enumerate(answers)]
    (tmp_path / "in.csv").write_bytes("\n".join(["id,answer", *lines]).encode(errors="surrogateescape"))
    for limits in (Limits(), Limits(batch_rows=1), Limits(part_rows=2), Limits(batch_rows=2, part_rows=3)):
        for threads in (1, 3):
            found = rejects(tmp_path / "in.csv", limits=limits, threads=threads)
            assert [one["row"] for one in found] == [n for n, one in enumerate(answers) if one != "fine"]


def test_a_row_that_scoring_rejects_is_of_its_own_file(tmp_path):
    for name, answers in (("a.csv", ["fine", "fine"]), ("b.csv", ["bad", "fine", "bad"])):
        (tmp_path / name).write_text("\n".join(["id,answer", *(f"q{n},{one}" for n, one in enumerate(answers))]))
    sources, output = open_source([tmp_path / "a.csv", tmp_path / "b.csv"]), tmp_path / "o.jsonl"
    made = run(sources, FunctionMaker(choosy, KINDS), output, on_error="skip")
    found = [json.loads(line) for line in made.rejects.read_text(encoding="utf-8").splitlines()]
    assert [(one["file"], one["row"]) for one in found] == [(str(tmp_path / "b.csv"), 0), (str(tmp_path / "b.csv"), 2)]


def test_a_row_on_which_scoring_fails_is_set_aside_only_on_request(tmp_path):
    def fails(batch):
        if "bad" in batch["answer"].to_pylist():
            raise ZeroDivisionError("no words")
        return choosy(batch)

    (tmp_path / "in.csv").write_text("id,answer\nq0,fine\nq1,bad\nq2,fine")
    source, job = open_source(tmp_path / "in.csv"), FunctionMaker(fails, KINDS)
    with pytest.raises(ZeroDivisionError):
        run(source, job, tmp_path / "o.jsonl")
    made = run(source, job, tmp_path / "o.jsonl", on_error="skip")
    [found] = [json.loads(line) for line in made.rejects.read_text(encoding="utf-8").splitlines()]
    assert (made.rows, found["row"], found["reason"], found["raw"]) == (2, 1, "no words", "id: q1; answer: bad")


LIMITS = Limits(batch_rows=16, part_rows=40)
N = 400


class StopError(Exception):
    """What ends a run early here."""


def bad(n):
    """Rows that cannot be read: one here and there, the very first, and so many that parts begin and end with some."""
    return n % 37 == 0 or 155 <= n < 175


def csv(mark):
    """Ragged lines, too short and too long; cells with line breaks; and a blank line."""
    lines = [f"id{mark}answer"]
    for n in range(N):
        good = f'q{n}{mark}"word\n{n}"' if n % 5 == 0 else f"q{n}{mark}word {n}"
        lines.append([f"q{n}", f"q{n}{mark}x{mark}y"][n % 2] if bad(n) else good)
    return "\n".join([*lines[:60], "", *lines[60:]])


def jsonl():
    """Broken lines, wrong types, lines that are empty or blank."""
    lines = [json.dumps({"id": f"q{n}", "answer": f"word {n}"}) for n in range(N)]
    for n in filter(bad, range(N)):
        lines[n] = ["broken", json.dumps({"id": f"q{n}", "answer": n})][n % 2]
    return "\n".join([*lines[:60], "", " \t", *lines[60:]])


def parquet(path):
    """Text that is not UTF-8."""
    answers = [b"\xff" if bad(n) else b"word %d" % n for n in range(N)]
    table = pa.table({"id": [f"q{n}" for n in range(N)], "answer": pa.array(answers, pa.binary()).view(pa.string())})
    pq.write_table(table, path, row_group_size=60)


MADE = {
    "in.csv": lambda path: path.write_text(csv(",")),
    "in.tsv.gz": lambda path: path.write_bytes(gzip.compress(csv("\t").encode())),
    "in.jsonl": lambda path: path.write_text(jsonl()),
    "in.parquet": parquet,
}


@pytest.fixture(params=MADE)
def source(tmp_path, request):
    MADE[request.param](tmp_path / request.param)
    return tmp_path / request.param


def go(source, output, **options):
    settings = {"limits": LIMITS, "on_error": "skip", **options}
    return run(open_source(source), FunctionMaker(choosy, KINDS, {"version": "1"}), output, **settings)


def stopping(after):
    """A progress bar that ends the run after so many batches."""
    left = [after]

    def progress(done):
        left[0] -= 1
        if left[0] < 0:
            raise StopError

    return progress


def test_bad_rows_before_and_after_the_resume_point(tmp_path, source):
    whole = go(source, tmp_path / "whole.csv")
    assert (whole.rows, whole.rejected) == (N - sum(map(bad, range(N))), sum(map(bad, range(N))))
    resumed = []
    for after in (5, 9, 12, 15, 19, 22):
        output = tmp_path / f"{after}.csv"
        with pytest.raises(StopError):
            go(source, output, progress=stopping(after))
        made = go(source, output, resume=True)
        assert output.read_bytes() == whole.output.read_bytes()
        assert made.rejects.read_bytes() == whole.rejects.read_bytes()
        assert (made.rows, made.rejected) == (whole.rows, whole.rejected)
        resumed.append(made.resumed_rows)
    assert resumed == sorted(resumed)
    assert 0 < resumed[0] < resumed[-1] < N


def test_progress_of_a_resumed_run_counts_each_row_once(tmp_path, source):
    with pytest.raises(StopError):
        go(source, tmp_path / "o.csv", progress=stopping(20))
    seen = []
    made = go(source, tmp_path / "o.csv", resume=True, progress=seen.append)
    rows = [one.rows for one in seen]
    assert rows == sorted(set(rows))
    assert rows[-1] == made.rows + made.rejected == N
    kept = [one for one in rows if one <= made.resumed_rows + made.rejected]
    assert len(kept) > 1, "parts that are kept are counted one by one"


def test_rescored_part_replaces_its_rejects(tmp_path):
    """Where the program has been mended in between, and rows that were bad are no more."""
    rows = pa.table(
        {"id": [f"q{n}" for n in range(120)], "answer": ["bad" if n % 40 == 5 else "x" for n in range(120)]}
    )
    pq.write_table(rows, tmp_path / "in.parquet")
    with pytest.raises(StopError):
        go(tmp_path / "in.parquet", tmp_path / "o.csv", progress=stopping(8))
    (tmp_path / "o.csv.partial" / "part-000001.arrow").unlink()
    job = FunctionMaker(score, KINDS, {"version": "1"})
    options = {"limits": LIMITS, "on_error": "skip", "resume": True}
    made = run(open_source(tmp_path / "in.parquet"), job, tmp_path / "o.csv", **options)
    assert (made.rows, made.rejected) == (119, 1)
    assert [json.loads(line)["row"] for line in made.rejects.read_text().splitlines()] == [5]


def test_run_without_bad_rows_removes_an_old_rejects_file(tmp_path, source):
    go(source, tmp_path / "o.csv")
    assert "o.csv.rejects.jsonl" in names(tmp_path)
    (tmp_path / "good.jsonl").write_text('{"id": "a", "answer": "x"}\n')
    made = go(tmp_path / "good.jsonl", tmp_path / "o.csv", overwrite=True)
    assert (made.rejects, made.rejected) == (None, 0)
    assert "o.csv.rejects.jsonl" not in names(tmp_path)


FAR = {"judge_x": [6.0] * N}  # above the upper edge, where 40 % of the labelled rows are
NEAR = {"judge_x": np.random.default_rng(0).choice([0.1, 0.4, 0.9], N, p=[0.3, 0.3, 0.4]).tolist()}


def with_answers(columns):
    return {"answer": ["Paris", "Rome"] * (len(columns["judge_x"]) // 2)} | columns


def drift_notes(notes):
    return [note for note in notes if "far from the labelled rows" in note]


@pytest.fixture
def path(tmp_path):
    return str(written(tmp_path, features=features(["judge_x"]), thresholds=CUTS))


def test_the_run_and_all_that_read_its_scores_have_the_note(path, tmp_path):
    scores = tmp_path / "scores.parquet"
    metrics = f"{path},verdict(fitted='{path}'),answer_words"
    (note,) = drift_notes(fm.score(with_answers(FAR), metrics, output=scores).summary.notes)
    assert note.startswith(f"mine, verdict(fitted='{path}'): these 400 rows are far")
    assert "for 1 of 1 metrics (population stability index: judge_x" in note
    assert drift_notes(fm.summarize(scores).notes) == [note]
    assert drift_notes(fm.summarize(fm.score(FAR, metrics.rpartition(",")[0])).notes) == [note]
    pq.write_table(pq.read_table(scores).slice(0, 10), tmp_path / "part.parquet")
    assert not drift_notes(fm.summarize(tmp_path / "part.parquet").notes)  # the counts are of all rows


def test_gate_and_compare_have_the_note_of_each_run(path, tmp_path):
    far, near, part = (tmp_path / f"{name}.parquet" for name in ("far", "near", "part"))
    for columns, output in ((FAR, far), (NEAR, near)):
        fm.score({"id": list(range(N)), **columns}, path, output=output)
    scores = {"far": fm.score({"id": list(range(N)), **FAR}, path), "near": near}
    start = "these 400 rows are far"
    (note,) = drift_notes(fm.gate(far, ["mine >= 0"], baseline=near).notes)
    assert note.startswith(f"far: mine: {start}")
    (note,) = drift_notes(fm.gate(near, ["mine.drop <= 1"], baseline=far).notes)
    assert note.startswith("far: mine: ")
    assert drift_notes(fm.gate(scores["far"], ["mine >= 0"]).notes)
    assert not drift_notes(fm.gate(near, ["mine >= 0"]).notes)
    (note,) = drift_notes(fm.compare(scores).notes)
    assert note.startswith(f"far: mine: {start}")
    pq.write_table(pq.read_table(far).slice(0, 10), part)
    assert not drift_notes(fm.gate(part, ["mine >= 0"]).notes)  # the counts are of all rows


@pytest.mark.parametrize("n", [0, 1, 2, 5, N])
def test_rows_like_the_labelled_ones_have_no_note(path, n):
    near = {name: values[:n] for name, values in NEAR.items()}
    near["judge_x"] = pa.array(near["judge_x"], pa.float64())
    assert not drift_notes(fm.summarize(fm.score(near, path)).notes)


def test_batches_threads_and_pooled_files_give_the_same_counts(path, tmp_path):
    stored = []
    for threads, batch_rows in ((1, 7), (3, 7), (2, 1000)):
        output = tmp_path / f"{threads}-{batch_rows}.parquet"
        files = fm.tables.FileSettings(batch_rows=batch_rows)
        pq.write_table(pa.table(with_answers(FAR)), tmp_path / "rows.parquet")
        fm.score(tmp_path / "rows.parquet", path, output=output, threads=threads, files=files)
        stored.append(output.read_bytes())
    assert len(set(stored)) == 1
    metadata = open_file(output).metadata
    assert list(metadata.drift["mine"].inputs[0].counts) == [0, 0, N, 0, 0]
    halves = [{name: values[at : at + N // 2] for name, values in FAR.items()} for at in (0, N // 2)]
    outputs = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for half, output in zip(halves, outputs, strict=True):
        fm.score(half, path, output=output)
    whole = fm.summarize(tmp_path / "1-7.parquet")
    assert drift_notes(fm.summarize(outputs).notes) == drift_notes(whole.notes) != []


def test_a_resumed_run_counts_what_was_done_before(path, tmp_path, monkeypatch):
    pq.write_table(pa.table(FAR), tmp_path / "rows.parquet")
    options = {"metrics": path, "files": fm.tables.FileSettings(batch_rows=10), "threads": 1}
    fm.score(tmp_path / "rows.parquet", output=tmp_path / "whole.parquet", **options)
    monkeypatch.setattr(SIZES, "part_rows", 50)

    def stopping(progress):
        if progress.rows > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fm.score(tmp_path / "rows.parquet", output=tmp_path / "out.parquet", progress=stopping, **options)
    scored = fm.score(tmp_path / "rows.parquet", output=tmp_path / "out.parquet", resume=True, **options)
    assert scored.resumed_rows > 0
    assert drift_notes(scored.summary.notes) == drift_notes(fm.summarize(tmp_path / "whole.parquet").notes) != []
