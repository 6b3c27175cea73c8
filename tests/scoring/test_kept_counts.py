"""The counts of corpus metrics kept beside the scores: in files of every kind, through resumed runs, and refused."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError, OutputError
from fastmetrics.tables.outputs import OutputWriter
from tests.results.test_corpus_comparison import ASKED, NEW, OLD, RUNS, SMALL


def write(path, table):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in pa.table(table).to_pylist()))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl", ".jsonl.gz", ".csv", ".tsv.zst", ""])
def test_files_of_scores_keep_counts(tmp_path, suffix):
    asked = {"metrics": ASKED, "keep": "language"}
    outputs = []
    for name, table in (("old", OLD), ("new", NEW)):
        source, out = write(tmp_path / f"{name}.in.jsonl", table), tmp_path / f"{name}{suffix}"
        fm.score(source, output=out, keep_counts=True, threads=2, files=fm.tables.FileSettings(batch_rows=7), **asked)
        plain = fm.score(source, output=tmp_path / f"plain_{name}{suffix}", **asked)
        assert repr(fm.summarize(out).figures) == repr(plain.summary.figures)  # counts are not scores
        outputs.append(str(out))
    found = fm.compare(dict(zip(RUNS, outputs, strict=True)), by="language", **SMALL)
    wanted = fm.compare(RUNS, metrics=[one.metric for one in found if one.segment is None], by="language", **SMALL)
    assert repr(found.comparisons) == repr(wanted.comparisons)
    assert {one.metric for one in found} == set(ASKED)


def test_a_run_goes_on_with_the_same_bytes_and_only_under_the_same_choice(tmp_path, monkeypatch):

    source, whole, out = write(tmp_path / "in.jsonl", OLD), tmp_path / "whole.parquet", tmp_path / "out.parquet"
    asked = {"metrics": "bleu,corpus_bleu"}
    fm.score(source, output=whole, keep_counts=True, **asked)
    monkeypatch.setattr(OutputWriter, "close", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fm.score(source, output=out, keep_counts=True, **asked)
    monkeypatch.undo()
    with pytest.raises(OutputError, match="keep_counts"):
        fm.score(source, output=out, resume=True, **asked)
    fm.score(source, output=out, keep_counts=True, resume=True, **asked)
    assert out.read_bytes() == whole.read_bytes()


def test_a_file_without_a_row_has_the_column(tmp_path):
    fm.score(
        write(tmp_path / "in.jsonl", {**OLD}),
        output=tmp_path / "full.parquet",
        metrics="bleu,corpus_chrf",
        keep_counts=True,
    )
    pq.write_table(pa.table(OLD).slice(0, 0), tmp_path / "none.parquet")
    fm.score(tmp_path / "none.parquet", output=tmp_path / "out.parquet", metrics="bleu,corpus_chrf", keep_counts=True)
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert (
        schema.field("corpus_chrf.counts").type
        == pq.read_schema(tmp_path / "full.parquet").field("corpus_chrf.counts").type
    )


def test_invalid_keep_counts_raises(tmp_path):
    with pytest.raises(OptionError, match="needs a corpus metric"):
        fm.score(OLD, "bleu,token_f1", keep_counts=True)
    clash = {**OLD, "corpus_bleu.counts": OLD["id"]}
    with pytest.raises(OptionError, match="have the same name"):
        fm.score(
            write(tmp_path / "clash.jsonl", clash),
            output=tmp_path / "out.parquet",
            metrics="bleu,corpus_bleu",
            keep="corpus_bleu.counts",
            keep_counts=True,
        )


def test_other_options_and_versions_are_refused(tmp_path):
    paths = []
    for name in ("old", "new"):
        out = tmp_path / f"{name}.jsonl"
        fm.score(write(tmp_path / f"{name}.in.jsonl", OLD), output=out, metrics="bleu,corpus_bleu", keep_counts=True)
        beside = tmp_path / f"{name}.jsonl.meta.json"
        said = json.loads(beside.read_text())
        if name == "new":
            said["scores"]["corpus_bleu"]["tokenizer"] = "char"
        beside.write_text(json.dumps(said))
        paths.append(out)
    with pytest.raises(OptionError, match="tokenizer"):
        fm.compare(paths, metrics="corpus_bleu")
    assert fm.compare(paths, metrics="corpus_bleu", allow_differences=True)[0].delta == 0
