"""``fastmetrics rank``: files in, a table of means out, values per query in a file."""

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fastmetrics.base.errors import OptionError, OutputError
from fastmetrics.cli.program import app
from fastmetrics.retrieval.rank import rank
from tests.support.program import unfolded


@pytest.fixture
def files(tmp_path):
    """A good run, a poor one, and judgements of two queries with something relevant and one without."""
    good, poor, qrels = tmp_path / "good.txt", tmp_path / "poor.jsonl", tmp_path / "qrels.txt"
    good.write_text("q1 Q0 a 1 2.5 x\nq1 Q0 b 2 1.5 x\nq2 Q0 c 1 1 x\nq3 Q0 c 1 1 x\n")
    poor.write_text('{"qid": "q1", "pid": "b", "score": 2}\n{"qid": "q1", "pid": "a", "score": 1}\n')
    qrels.write_text("q1 0 a 1\nq2 0 c 2\nq3 0 c 0\n")
    return good, poor, qrels


def invoke(*arguments):
    return CliRunner().invoke(app, ["rank", *map(str, arguments)])


def test_query_values_are_written_to_file_and_means_printed(files, tmp_path):
    good, _, qrels = files
    out = tmp_path / "per_query.parquet"
    done = invoke(good, qrels, "-m", "ndcg@10,mrr,RBP(p=0.8)", "-o", out, "--no-relevant", "undefined")
    assert done.exit_code == 0, done.output
    head, row, blank, *notes = (line.split() for line in done.output.splitlines())
    assert head == ["ranking", "scored", "missing", "unjudged", "ndcg@10", "mrr", "RBP(p=0.8)"]
    assert row == [str(good), "3", "0", "0", "1.0000", "1.0000", "0.2000"]
    assert (blank, " ".join(notes[0][3:7])) == ([], "1 of 3 queries")
    written = pq.read_table(out)
    assert written.to_pydict() == {
        "query_id": ["q1", "q2", "q3"],
        "ndcg@10": [1.0, 1.0, None],
        "mrr": [1.0, 1.0, None],
        "RBP(p=0.8)": [pytest.approx(0.2), pytest.approx(0.2), None],
    }
    metadata = json.loads(written.schema.metadata[b"fastmetrics"])
    assert metadata["mean"]["mrr"] == 1.0
    assert metadata["n_undefined"] == {"ndcg@10": 1, "mrr": 1, "RBP(p=0.8)": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "good.txt",
        "per_query.parquet",
        "poor.jsonl",
        "qrels.txt",
    ]


def _note(how):
    leaves = "no_relevant='undefined' excludes them from the mean"
    return f"mrr, P@1: 1 of 3 queries have no relevant document and {how}; {leaves}"


def test_several_runs_are_printed_as_a_table(files):
    good, poor, qrels = files
    done = invoke(good, poor, qrels, "-m", "mrr", "-m", "P@1", "--missing", "skip", "--no-relevant", "zero")
    rows = [line.split() for line in done.output.splitlines()]
    assert rows[1:3] == [[str(good), "3", "0", "0", "0.6667", "0.6667"], [str(poor), "1", "2", "0", "0.5000", "0.0000"]]
    left_out = "are left out (missing: skip, the default of trec_eval; zero scores them 0)"
    missing = f"{poor}: 2 of 3 judged queries are not in the ranking and {left_out}"
    assert rows[3] == []
    assert unfolded(" ".join(done.output.splitlines()[4:])) == f"{good}: {_note('score 0')} {missing}"


def test_json_output_and_options(files):
    good, _, qrels = files
    done = invoke(good, qrels, "-m", "P@2", "-l", "2", "-M", "1", "--no-relevant", "zero", "--json")
    found = json.loads(done.output)[str(good)]
    assert found["mean"]["P@2"] == pytest.approx(1 / 6)
    assert (found["n"]["P@2"], found["n_missing"], found["n_undefined"]) == (3, 0, {"P@2": 2})


def test_default_measures_are_computed(files):
    good, _, qrels = files
    assert invoke(good, qrels).output.split()[4:7] == ["ndcg@10", "mrr", "recall@100"]


def test_existing_output_is_kept_unless_overwrite(files, tmp_path):
    good, poor, qrels = files
    out = tmp_path / "out.csv"
    out.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        rank(good, qrels, output=out, measures="mrr")
    assert out.read_text() == "mine"
    rank(good, qrels, output=out, measures="mrr", overwrite=True)
    assert out.read_text().splitlines()[0] == '"query_id","mrr"'
    with pytest.raises(OutputError, match="cannot write"):
        rank([good], qrels, output=tmp_path / "absent" / "out.csv", measures="mrr")
    for name in ("folder", "out.xlsx"):
        with pytest.raises(OptionError):
            rank([good], qrels, output=tmp_path / name, measures="mrr")
    both = rank([good, poor], qrels, output=tmp_path / "both.csv", measures="mrr")
    lines = (tmp_path / "both.csv").read_text().splitlines()
    assert lines[0] == '"ranking","query_id","mrr"'
    assert len(lines) == 1 + 2 * both.results[str(good)].n_scored


@pytest.mark.parametrize("names", [[], [0, 0]])
def test_run_names_must_be_unique(files, names):
    with pytest.raises(OptionError):
        rank([files[name] for name in names], files[2], measures="mrr")
