"""Files of scores: those that are pooled, read whole or in parts, once, and what arguments of data may be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import InputError
from fastmetrics.base.limits import SIZES
from fastmetrics.models.dry_run import estimate_judging
from fastmetrics.results import opening_scores
from fastmetrics.results.opening_scores import read_table
from fastmetrics.results.summary import summarize
from fastmetrics.tables.addresses import parse
from fastmetrics.tables.input_files import DataFile
from fastmetrics.tables.opening import is_paths
from fastmetrics.tables.outputs import read_metadata
from fastmetrics.tables.remote_files import store
from fastmetrics.tables.sources import FileSource
from tests.support.judge_server import completion, judge_server
from tests.support.program import jsonl, program, unfolded

ROWS = [{"id": n, "answer": "a b", "reference": "a", "gold": "a b"} for n in range(3)]

BYTES = [sum(len(json.dumps(row)) + 1 for row in rows) for rows in (ROWS, ROWS[:2])]
THREE, TWO = (f"{name}.jsonl ({size} bytes)" for name, size in zip(("three", "two"), BYTES, strict=True))


@pytest.fixture
def two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "three.jsonl", *ROWS)
    jsonl(tmp_path / "two.jsonl", *ROWS[:2])


STRANGE = [
    {"inputs": said, "scores": {}}
    for said in (7, [1], {}, {"first": 7}, {"first": [7], "files": 1, "bytes": 1}, {"first": [[1, 2]], "files": 2})
]


def scored(name, out, *options, metrics="token_f1"):
    done = program("score", name, "-o", out, "-m", metrics, *options)
    assert (done.code, done.err) == (0, "")


def notes(*names):
    done = program("summarize", *names, "--json")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    printed = unfolded(program("summarize", *names).out)
    assert all(unfolded(note) in printed for note in told["notes"])
    return told["notes"]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv", ".arrow", "/"])
def test_note_names_files_and_their_rows(two_files, suffix):
    scored("three.jsonl", f"a{suffix}")
    scored("two.jsonl", f"b{suffix}")
    assert notes(f"a{suffix}") == []
    assert notes(f"a{suffix}", f"b{suffix}") == [
        f"2 files pooled: a{suffix} (3 rows), b{suffix} (2 rows)",
        f"different inputs: a{suffix} from {THREE}; b{suffix} from {TWO}",
    ]
    assert "read: answer, reference (not gold)" in program("summarize", f"a{suffix}", f"b{suffix}").out.splitlines()


def test_files_from_globs_and_folders_are_pooled(two_files, tmp_path):
    (tmp_path / "s").mkdir()
    scored("three.jsonl", "s/a.parquet")
    scored("two.jsonl", "s/b.parquet")
    for name in ("s", "s/*.parquet"):
        told = notes(name)
        assert told[0].startswith("2 files pooled: ")
        assert all(part in told[0] for part in ("a.parquet (3 rows)", "b.parquet (2 rows)"))
    both = program("summarize", "s/a.parquet", "s/b.parquet", "--json").out
    figures = json.loads(program("summarize", "s", "--json").out)["metrics"]
    assert figures == json.loads(both)["metrics"]


def test_pooled_glob_distinguishes_undefined_from_missing(two_files, tmp_path):
    rows = [{"retrieved_ids": ["a"], "relevant_ids": []}, {"retrieved_ids": None, "relevant_ids": ["a"]}]
    for name in "xy":
        jsonl(tmp_path / f"{name}.jsonl", *rows)
        scored(f"{name}.jsonl", f"{name}.parquet", metrics="r_precision")
    found = summarize("[xy].parquet")["r_precision"]
    assert (found.n, found.n_missing, found.n_undefined) == (0, 2, 2)


def test_differing_settings_are_named(two_files, tmp_path):
    scored("three.jsonl", "a.csv", metrics="squad_f1(version=1)")
    scored("two.jsonl", "b.csv", "--columns", "reference=gold", metrics="squad_f1(version=1)")
    assert notes("a.csv", "b.csv")[1:] == [
        "columns.reference is 'reference' in a.csv, 'gold' in b.csv",
        f"different inputs: a.csv from {THREE}; b.csv from {TWO}",
    ]
    path = tmp_path / "b.csv.meta.json"
    told = json.loads(path.read_text())
    told["fastmetrics"] = "0.0.1"
    told["scores"]["squad_f1"]["version"] = 2
    path.write_text(json.dumps(told))
    now = json.loads((tmp_path / "a.csv.meta.json").read_text())["fastmetrics"]
    assert notes("a.csv", "b.csv", "b.csv")[1:] == [
        f"fastmetrics is '{now}' in a.csv, '0.0.1' in b.csv, b.csv",
        "scores.squad_f1.version is 1 in a.csv, 2 in b.csv, b.csv",
        "columns.reference is 'reference' in a.csv, 'gold' in b.csv, b.csv",
        f"different inputs: a.csv from {THREE}; b.csv, b.csv from {TWO}",
        f"files from the same input (by name and size); its rows are counted repeatedly: b.csv, b.csv from {TWO}",
    ]
    told["scores"]["squad_f1"] |= {f"option{n}": n for n in range(9)}
    path.write_text(json.dumps(told))
    assert "7 more differences in settings" in notes("a.csv", "b.csv")


def test_files_without_metadata_have_unknown_settings(two_files, tmp_path):
    scored("three.jsonl", "a.jsonl")
    jsonl(tmp_path / "o.jsonl", {"token_f1": 0.5})
    assert notes("o.jsonl", "a.jsonl")[1:] == ["unknown settings: o.jsonl"]
    assert notes("o.jsonl", "o.jsonl") == ["2 files pooled: o.jsonl (1 rows), o.jsonl (1 rows)"]


def test_note_on_many_files_names_the_first(two_files, tmp_path):
    for n in range(9):
        jsonl(tmp_path / f"f{n}.jsonl", {"token_f1": 0.5})
    (note,) = notes(*(f"f{n}.jsonl" for n in range(9)))
    assert note.startswith("9 files pooled: f0.jsonl (1 rows), ")
    assert note.endswith("f4.jsonl (1 rows) and 4 more")


def test_malformed_metadata_cause_no_traceback(two_files, tmp_path):
    for n, said in enumerate(
        ({"columns": 7}, {"passed_over": {"a": 7}, "columns": {"a": None}}, {"scores": [1]}, *STRANGE)
    ):
        jsonl(tmp_path / f"f{n}.jsonl", {"token_f1": 0.5})
        (tmp_path / f"f{n}.jsonl.meta.json").write_text(json.dumps(said))
        assert program("summarize", f"f{n}.jsonl").code == 0
    assert program("summarize", *(f"f{n}.jsonl" for n in range(3 + len(STRANGE)))).code == 0


def inputs_of(path):
    return read_metadata(path)["inputs"]


def test_location_of_data_does_not_change_output_bytes(two_files, tmp_path):
    for place in ("here", "there/deep"):
        (tmp_path / place).mkdir(parents=True)
        jsonl(tmp_path / place / "three.jsonl", *ROWS)
        for suffix in (".parquet", ".csv", ".arrow"):
            scored(tmp_path / place / "three.jsonl", f"{place}/o{suffix}")
            assert "here" not in json.dumps(inputs_of(f"{place}/o{suffix}"))
    for name in ("o.parquet", "o.csv", "o.csv.meta.json", "o.arrow", "o.arrow.meta.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there/deep" / name).read_bytes()
    assert notes("here/o.csv", "there/deep/o.csv")[1:] == [
        "files from the same input (by name and size); its rows are counted repeatedly: "
        f"here/o.csv, there/deep/o.csv from {THREE}"
    ]


@pytest.mark.parametrize("count", [1, 5, 6, 40])
def test_note_on_many_inputs_names_the_first_and_compares_all(two_files, tmp_path, count):
    for n in range(count):
        for side in "ab":
            (tmp_path / side).mkdir(exist_ok=True)
            jsonl(
                tmp_path / side / f"{n:02}.jsonl",
                {"answer": "a" * (1 + (side == "b" and n == count - 1)), "reference": "a"},
            )
    for side in "ab":
        scored(side, f"{side}.parquet")
    found = inputs_of("a.parquet")
    assert (found["files"], len(found["first"])) == (count, min(count, 5))
    assert found["bytes"] == sum(path.stat().st_size for path in (tmp_path / "a").iterdir())
    (note,) = notes("a.parquet", "b.parquet")[1:]
    assert note.startswith("different inputs: a.parquet from 00.jsonl (")
    assert (f" and {count - 5} more, " in note) == (count > 5)


def test_names_of_addresses_and_streams_omit_secrets(two_files, tmp_path):
    rows = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    scored_in = program("score", "-", "-o", "o.csv", "-m", "token_f1", stdin=rows)
    assert scored_in.code == 0
    assert inputs_of("o.csv")["first"] == [["stream", len(rows)]]
    for address in ("s3://key:secret@bucket/in/rows.csv?region=x", "http://me:secret@host/rows.csv?token=secret"):
        shown = parse(address).shown
        assert DataFile(address, shown, "csv", stamp=(7, None)).name == "rows.csv"


def test_rows_of_files_that_are_read_twice_are_counted_once(two_files):
    for name in ("three", "two"):
        scored(f"{name}.jsonl", f"{name}.parquet")
    summary = summarize(["three.parquet", "two.parquet"], statistics={"token_f1": ["p50"]})  # which reads them again
    assert summary.n_rows == 5
    assert "2 files pooled: three.parquet (3 rows), two.parquet (2 rows)" in summary.notes


@pytest.fixture
def scored_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text("id,label\n007,1\n008,0\n")
    (tmp_path / "labels.tsv").write_text("id\tlabel\n007\t1\n008\t0\n")
    (tmp_path / "s.csv").write_text("id,answer,reference\n007,a,a\n008,b,c\n009,x,x\n")
    assert program("score", "s.csv", "-o", "s.parquet", "-m", "token_f1,exact_match").code == 0


@pytest.mark.parametrize("labels", ["labels.csv", "labels.tsv"])
def test_label_ids_keep_their_spelling(scored_files, labels):
    done = program("validate", "s.parquet", labels, "--json")
    found = json.loads(done.out)
    assert (found["n_rows"], found["n_only_scores"], found["metrics"]["token_f1"]["auc"]["value"]) == (2, 1, 1.0)


def test_validate_accepts_metrics_in_every_form(scored_files):
    for options in (["-m", "token_f1, exact_match"], ["-m", "token_f1", "-m", "exact_match"]):
        done = program("validate", "s.parquet", "labels.csv", "--json", *options)
        assert list(json.loads(done.out)["metrics"]) == ["token_f1", "exact_match"]


def test_faq_cells_are_text(scored_files, tmp_path):
    (tmp_path / "faq.csv").write_text('question,answer\n1889,2024-01-05\n"two\nlines",007\n')
    (tmp_path / "q.csv").write_text("id,question\n007,in 1889\n008,lines?\n")
    (tmp_path / "faq.jsonl").write_text('{"question": "in 1889", "answer": "2024-01-05"}\n')
    assert program("match", "q.csv", "faq.csv", "-o", "m.parquet").code == 0
    made = pq.read_table("m.parquet").to_pydict()
    assert (made["id"], made["answer"]) == (["007", "008"], ["2024-01-05", "007"])
    assert program("match", "q.csv", "faq.jsonl", "-o", "n.parquet").code == 0
    assert pq.read_table("n.parquet")["answer"].to_pylist() == ["2024-01-05", None]  # no word of the second is known


def test_scores_in_text_without_metadata_are_found_by_their_look(scored_files, tmp_path):
    assert program("score", "s.csv", "-o", "s2.csv", "-m", "token_f1").code == 0
    with_metadata = fm.summarize("s2.csv")["token_f1"]
    (tmp_path / "s2.csv.meta.json").unlink()
    assert fm.summarize("s2.csv")["token_f1"] == with_metadata
    (tmp_path / "a.csv").write_text("id,score,ok,comment\n1,0.5,True,3\n2,,False,good\n3,NA,,\n4,1,True,\n")
    (tmp_path / "b.tsv").write_text("id\tscore\tok\n1\t0\tTrue\n2\t1\tTrue\n3\t0\tFalse\n4\t0.5\tTrue\n")
    found = fm.summarize("a.csv")
    assert list(found) == ["score", "ok"]
    assert [(one.n, one.n_missing, one.mean) for one in found.values()] == [(2, 2, 0.75), (3, 1, 2 / 3)]
    difference = fm.compare({"a": "a.csv", "b": "b.tsv"}, better={"score": "higher", "ok": "higher"})
    assert "score" in str(difference)
    assert "ok" in str(difference)
    rules = ("-r", "score.mean >= 0.7", "-r", "ok.delta >= -1", "--unpaired", "ignore", "--min-n", 1)
    checked = program("gate", "a.csv", "--baseline", "b.tsv", *rules)
    assert checked.code == 0, checked.err


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow", "p.jsonl", "p.csv", "p.tsv", "p.csv.gz", "p.jsonl.zst", "p/"])
def test_validation_is_equal_for_every_format(scored_files, name):
    assert program("score", "s.csv", "-o", name, "-m", "token_f1,exact_match").code == 0
    done = program("validate", name, "labels.csv", "--json")
    assert (done.err, done.out) == ("", program("validate", "s.parquet", "labels.csv", "--json").out)


def test_late_numbers_keep_their_values(scored_files, tmp_path):
    (tmp_path / "l.jsonl").write_text('{"id": "007", "label": 1}\n{"id": 8, "label": 0.5}\n')
    assert read_table("l.jsonl").to_pydict() == {"id": ["007", "8"], "label": [1.0, 0.5]}
    (tmp_path / "l.csv").write_text("id,label,flag,text,none\n007,1,TRUE,a,\n8,,false,NA,null\n")
    assert read_table("l.csv", {"id"}).to_pylist() == [
        {"id": "007", "label": 1, "flag": True, "text": "a", "none": None},
        {"id": "8", "label": None, "flag": False, "text": "NA", "none": None},
    ]
    assert read_table("l.csv").to_pylist()[1] == {
        **{"id": "8", "label": None, "flag": "false", "text": "NA", "none": "null"}
    }


METRICS = [f"m{number}" for number in range(20)]
SPECS = ",".join(f"token_f1(name='{name}')" for name in METRICS)
WORDS = ["in Paris", "Rome", "the city of Paris", "a river", "London or Rome"]


def rows_of(scores: str) -> str:
    """The file that was scored."""
    return str(Path(scores).with_name(f"{Path(scores).stem}_rows.parquet"))


CALLS: dict[str, Callable[[str, str], Any]] = {
    "gate": lambda new, old: fm.gate(new, [f"{name} >= 0.1" for name in METRICS]),
    "gate of corpus metrics": lambda new, old: fm.gate(new, ["corpus_bleu >= 1", "corpus_chrf >= 1", "m1.p50 >= 0"]),
    "gate of changes": lambda new, old: fm.gate(new, [f"{name}.delta >= -1" for name in METRICS], baseline=old),
    "gate of segments": lambda new, old: fm.gate(
        new, [f"{name} >= 0.1 where kind=*" for name in METRICS], baseline=old
    ),
    "compare": lambda new, old: fm.compare([old, new], resamples=50),
    "summarize": lambda new, old: fm.summarize(new),
    "summarize_by": lambda new, old: fm.results.summarize_by(new, by="kind"),
    "side_by_side": lambda new, old: fm.results.side_by_side([old, new]),
    "primary_table": lambda new, old: fm.results.primary_table([old, new]),
    "histograms": lambda new, old: fm.results.histograms(new),
    "correlations": lambda new, old: fm.results.correlations(new),
    "worst_rows": lambda new, old: fm.worst_rows(new, "m1", baseline=old),
    "power": lambda new, old: fm.power([old, new], metrics="m1", delta=0.1),
    "report": lambda new, old: fm.report(new, Path(new).parent / "report.html", baseline=old, overwrite=True),
    "report with texts": lambda new, old: fm.report(
        new,
        Path(new).parent / "texts.html",
        baseline=old,
        texts=rows_of(new),
        baseline_texts=rows_of(old),
        overwrite=True,
    ),
    "worst_rows with answers": lambda new, old: fm.worst_rows(new, "m1", answers=rows_of(new)),
    "domain_analysis": lambda new, old: fm.logs.domain_analysis(rows_of(new)),
    "chunk_utilization": lambda new, old: fm.logs.chunk_utilization(rows_of(new)),
    "judge_report": lambda new, old: fm.judge_report([old, new]),
}


@pytest.fixture(scope="module", params=["csv", "jsonl"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    rows = {
        **{"id": list(range(40)), "question": [f"why {number}?" for number in range(40)], "kind": ["a", "b"] * 20},
        **{"judge_x": [1.0, 2.0, 4.0, 5.0] * 10, "judge_x_status": ["ok"] * 40, "reference": WORDS * 8},
        "retrieved_ids": [["a", "b"]] * 40,
    }
    paths = []
    for place, name in enumerate(("new", "old")):
        table = {**rows, "answer": [WORDS[(number + place * number // 3) % 5] for number in range(40)]}
        keep = ["question", "kind", "judge_x", "judge_x_status"]
        path = folder / f"{name}.{request.param}"
        source = folder / f"{name}_rows.parquet"
        pq.write_table(pa.table(table), source)
        fm.score(source, f"{SPECS},token_f1,corpus_bleu,corpus_chrf", output=path, keep=keep, keep_counts=True)
        paths.append(str(path))
    return paths[0], paths[1]


@pytest.mark.parametrize("name", CALLS)
def test_each_file_is_opened_and_read_once(name: str, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: Counter[str] = Counter()
    read: Counter[str] = Counter()
    chunks, of = FileSource.chunks, opening_scores._of_source

    def counted_chunks(self: FileSource, *options: Any, **named: Any) -> Any:
        read.update(file.name for file in self.files)
        return chunks(self, *options, **named)

    def counted_of(address: str, *rest: Any) -> opening_scores.ScoreTable:
        opened[address] += 1
        return of(address, *rest)

    monkeypatch.setattr(FileSource, "chunks", counted_chunks)
    monkeypatch.setattr(opening_scores, "_of_source", counted_of)
    CALLS[name](*files)
    assert set(opened.values()) <= {1}
    # CSV has no types: the counts of corpus metrics are read as lists by the summary that needs them; the first rows of
    # the texts of a report tell whether they hold the labels of a classifier
    again = files[0].endswith("csv") or name == "report with texts"
    assert set(read.values()) <= ({1, 2} if again else {1})


def rows(count, distinct):
    """So many rows with so many distinct prompts, in turn."""
    return ({"id": n, "question": f"q {n % distinct}", "answer": "a"} for n in range(count))


def test_a_dry_run_counts_prompts_once_over_batches_and_retries(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    count = 3 * SIZES.call_rows + 5
    path, some = jsonl(tmp_path / "rows.jsonl", *rows(count, 7)), jsonl(tmp_path / "some.jsonl", *rows(3, 7))
    with judge_server(reply=lambda body: completion(None, refusal="no")) as judge:
        how = {"store": tmp_path / "s.sqlite", "base_url": judge.url}
        fm.judge(some, fm.models.JudgeSettings("safety", "m", **how), output=tmp_path / "o.jsonl")
        for retry, calls, known in (((), 4, 3), (("refused",), 7, 0)):
            estimate = estimate_judging(path, fm.models.JudgeSettings("safety", "m", retry=retry, **how))
            assert (estimate.rows, estimate.calls, estimate.stored_calls) == (count, calls, known)
        fm.judge(path, fm.models.JudgeSettings("safety", "m", retry="refused", **how), output=tmp_path / "all.jsonl")
        assert judge.count == 3 + 7


def test_the_number_of_a_long_row_counts_all_batches_and_files(tmp_path):
    first = jsonl(tmp_path / "a.jsonl", *rows(2 * SIZES.call_rows + 1, 5))
    second = jsonl(tmp_path / "b.jsonl", *rows(2, 5), {"id": 9, "question": "long " * 100, "answer": "a"})
    bot = fm.models.FullContextBot(
        "text", "m", base_url="http://localhost:1/v1", client={"max_chars": 500}, store=tmp_path / "s.sqlite"
    )
    row = 2 * SIZES.call_rows + 4
    with pytest.raises(InputError) as raised:
        fm.answer([first, second], bot, output=tmp_path / "o.jsonl", keep=["id"])
    assert f"row {row:,}: " in str(raised.value)


def test_changed_credentials_open_a_new_connection(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    systems = []
    for key in ("one", "one", "two"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        systems.append(store(parse("s3://bucket/o.parquet?region=eu-west-1")).system)
    assert systems[0] is systems[1]
    assert systems[2] is not systems[1]


IDS = ["a", "b", "c", "d", "e", "f"]
SCORES = pa.table({"id": IDS, "token_f1": [0.1, 0.4, 0.5, 0.6, 0.7, 0.8]})
OTHER = pa.table({"id": IDS, "token_f1": [0.2, 0.4, 0.6, 0.5, 0.7, 0.9]})
LABELS = pa.table({"id": IDS, "label": [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]})
SEGMENTS = pa.table({"id": IDS, "language": ["de", "de", "de", "en", "en", "en"]})
QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}}


def _halves(folder: Path, table: pa.Table) -> list[Path]:
    """The rows of a table in two files."""
    paths = [folder / f"{table.column_names[1]}-{part}.parquet" for part in (1, 2)]
    for number, path in enumerate(paths):
        pq.write_table(table.slice(3 * number, 3), path)
    return paths


def test_the_rule(tmp_path: Path) -> None:
    assert all(is_paths(paths, or_column=True) for paths in ("a.csv", tmp_path, [tmp_path], (tmp_path, tmp_path)))
    assert is_paths(["a.csv", tmp_path])
    assert not is_paths(["yes", "no"], or_column=True)
    assert not any(is_paths(data, or_column=both) for data in ([], [1], SCORES, {"id": IDS}) for both in (False, True))


def test_several_files_are_one_table(tmp_path: Path) -> None:
    def compared(segments: Any) -> str:
        return str(fm.compare([SCORES, OTHER], by="language", segments=segments))

    segments = _halves(tmp_path, SEGMENTS)
    assert compared(segments) == compared([str(path) for path in segments]) == compared(SEGMENTS)
    labels = _halves(tmp_path, LABELS)
    assert str(fm.validate(SCORES, labels)) == str(fm.validate(SCORES, LABELS))
