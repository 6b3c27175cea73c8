"""Every function that scores without a summary hands on the notes of one, as a warning, once a call."""

import importlib.util
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.tables.sources import FrameSource
from tests.support.judge_server import judge_server

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


KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda rows: pl.DataFrame(rows).lazy(),
    "arrow": pa.table,
    "dict": dict,
    "dicts": lambda rows: pa.table(rows).to_pylist(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "note"), [(RUSSIAN, f"rougeL_f1: {DROPPED}"), (CHINESE, f"token_f1: {UNSPACED}")])
def test_tables_of_every_kind_hand_on_the_notes_of_their_summary(kind, rows, note):
    table = KINDS[kind](rows)
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
    assert told(lambda: fm.score(KINDS[kind](ENGLISH), metric))[1] == []
    assert told(lambda: fm.with_scores(KINDS[kind](ENGLISH), metric))[1] == []


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


def test_judge_tells_of_lists_too(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    rows = {"question": ["q"], "answer": ["a"], "reference": ["['a', 'b']"]}
    with judge_server() as judge:
        where = {"base_url": judge.url, "store": tmp_path / "calls.sqlite"}
        judged, notes = told(lambda: fm.judge(rows, "correctness", model="m", **where))
    assert notes == fm.summarize(judged).notes
    assert notes[0].startswith("reference: 1 text is a list")


def test_results_with_a_summary_do_not_warn(tmp_path):
    scored, notes = told(lambda: fm.score(RUSSIAN, "rougeL_f1", output=tmp_path / "a.parquet"))
    assert notes == []
    assert scored.summary.notes[0].startswith(f"rougeL_f1: {DROPPED}")


def test_readers_of_the_table_itself_are_not_changed():
    source = FrameSource(pd.DataFrame(ENGLISH))
    assert source.names == ["answer", "reference"]


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
