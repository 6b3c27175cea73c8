"""Tables and queries of PostgreSQL as inputs, on a real server."""

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import ColumnError, FileFormatError, OptionError, OutputError
from fastmetrics.base.limits import RETRY_LIMITS, SIZES
from fastmetrics.tables.good_rows import whole_table
from fastmetrics.tables.opening import open_source
from fastmetrics.tables.outputs import read_metadata
from tests.support.goldens import refused
from tests.support.postgres import PASSWORD
from tests.support.table_files import column_bytes

ROWS = pa.table(
    {
        "id": [3, 1, 2],
        "answer": ["in Paris", None, "Rome"],
        "reference": ["Paris", "Lyon", "Rome, Italy"],
        "contexts": [["Paris is big", "x"], [], None],
    }
)


@pytest.fixture
def small_parts(monkeypatch):
    """Runs that save every ten rows."""
    monkeypatch.setattr(SIZES, "part_rows", 10)
    monkeypatch.setattr(SIZES, "read_batch_rows", 10)


def _stopped(address, output):
    """A run that is interrupted after its first parts."""

    class StopError(Exception):
        pass

    def stop(progress):
        if progress.rows >= 50:
            raise StopError

    with pytest.raises(StopError):
        fm.score(address, ["token_f1"], output=output, progress=stop)


def read(address, **kinds):
    source = open_source(address)
    return whole_table(source, kinds or dict.fromkeys(source.names, "any")).to_pylist()


def test_scores_of_a_table_have_the_bytes_of_those_from_parquet(postgres, tmp_path):
    rows = pa.concat_tables([ROWS] * 400).set_column(0, "id", pa.array(range(1_200)))
    pq.write_table(rows, tmp_path / "rows.parquet")
    postgres.fill("answers", rows, "id")
    sources = {"file": tmp_path / "rows.parquet", "table": postgres.address(table="answers")}
    sources["query"] = postgres.address(query="select * from answers order by id")
    metadata = {}
    for name, source in sources.items():
        for suffix, kept in (("parquet", "contexts"), ("csv", "reference")):
            output = tmp_path / f"{name}.{suffix}"
            fm.score(source, ["token_f1", "keyword_recall", "bleu"], output=output, keep=[kept])
            metadata[output.name] = dict(read_metadata(output))
            inputs = metadata[output.name].pop("inputs")
            assert (inputs["files"], "password" in str(inputs)) == (1, False)
    for name in ("table", "query"):
        assert column_bytes(tmp_path / f"{name}.parquet") == column_bytes(tmp_path / "file.parquet")
        assert metadata[f"{name}.parquet"] == metadata["file.parquet"]
        assert (tmp_path / f"{name}.csv").read_bytes() == (tmp_path / "file.csv").read_bytes()
        assert metadata[f"{name}.csv"] == metadata["file.csv"]


def test_the_rows_of_a_table_have_the_order_of_storage(postgres):
    postgres.fill("answers", ROWS, "id")
    assert read(postgres.address(table="answers")) == ROWS.to_pylist()
    assert read(postgres.address(table="public.answers"), id="id") == [{"id": 3}, {"id": 1}, {"id": 2}]


def test_a_query_keeps_its_own_order_and_its_columns(postgres):
    postgres.fill("answers", ROWS, "id")
    sql = 'select id as "the id", upper(answer) as answer from answers order by id desc -- newest first'
    assert read(postgres.address(query=sql)) == [
        {"the id": 3, "answer": "IN PARIS"},
        {"the id": 2, "answer": "ROME"},
        {"the id": 1, "answer": None},
    ]


def test_the_query_is_also_an_argument(postgres):
    postgres.fill("answers", ROWS, "id")
    files = fm.tables.FileSettings(query="select answer, reference from answers where id > 1 order by id;")
    assert fm.score(postgres.address(), ["token_f1"], files=files).num_rows == 2
    refused(OptionError, "table query", lambda: fm.score(postgres.address(table="answers"), ["token_f1"], files=files))
    refused(OptionError, "database", fm.score, "answers.parquet", ["token_f1"], files=files)
    refused(OptionError, "memory", fm.score, ROWS, ["token_f1"], files=files)
    refused(OptionError, "table= query=", lambda: fm.score(postgres.address(), ["token_f1"]))


def test_each_type_becomes_one_of_arrow(postgres):
    sql = """select 1::int2 as small, 5::bigint as big, 1.5::float4 as real, 2.50::numeric as exact,
        'NaN'::numeric as nothing, true as flag, 'x'::varchar(3) as word, 'ab'::name as name,
        date '2026-01-02' as day, timestamp '2026-01-02 03:04:05.5' as local_time,
        timestamptz '2026-01-02 03:04:05+02' as utc, array['a', null]::text[] as texts, array[1, 2]::int[] as numbers,
        array[1.5, 2]::numeric[] as exact_list, '6ab8d2f1-0000-4000-8000-0123456789ab'::uuid as key,
        array['6ab8d2f1-0000-4000-8000-0123456789ab']::uuid[] as keys, null as nothing_at_all"""
    (row,) = read(postgres.address(query=sql))
    assert str(row.pop("nothing")) == "nan"
    assert row == {
        **{"small": 1, "big": 5, "real": 1.5, "exact": 2.5, "flag": True, "word": "x", "name": "ab"},
        "day": dt.date(2026, 1, 2),
        "local_time": dt.datetime(2026, 1, 2, 3, 4, 5, 500_000),
        "utc": dt.datetime(2026, 1, 2, 1, 4, 5, tzinfo=dt.UTC),
        **{"texts": ["a", None], "numbers": [1, 2], "exact_list": [1.5, 2.0]},
        "key": "6ab8d2f1-0000-4000-8000-0123456789ab",
        **{"keys": ["6ab8d2f1-0000-4000-8000-0123456789ab"], "nothing_at_all": None},
    }


def test_vectors_are_lists_of_numbers(postgres):
    postgres.execute("CREATE EXTENSION vector")
    values = "(1, '[1,2.5]'::vector, '[1,2]'::halfvec), (2, null, null), (3, '[7]', '[3]')"
    sql = f"select * from (values {values}) v(id, a, b)"
    source = open_source(postgres.address(query=sql))
    table = whole_table(source, {"a": "vector", "b": "vector"})
    assert table["a"].to_pylist() == [[1.0, 2.5], None, [7.0]]
    assert table["b"].to_pylist() == [[1.0, 2.0], None, [3.0]]
    assert table.schema.field("a").type == pa.list_(pa.float32())


@pytest.mark.parametrize("type_", ["json", "jsonb"])
def test_json_is_lists_or_text(postgres, type_):
    values = [
        "('[\"a\", \"b\"]', '{\"x\": 1}', '[1, 2]', '\"word\"')",
        "(null, '[]', '[]', null)",
        "('[]', null, null, 'null')",
    ]
    columns = ", ".join(f"{name}::{type_}" for name in "abcd")
    address = postgres.address(query=f"select {columns} from (values {', '.join(values)}) v(a, b, c, d)")
    rows = read(address, a="texts", b="any", c="ids", d="text")
    assert [row["a"] for row in rows] == [["a", "b"], None, []]
    assert [row["b"] for row in rows] == ['{"x": 1}', "[]", None]
    assert [row["c"] for row in rows] == [[1, 2], [], None]
    assert [row["d"] for row in rows] == ["word", None, None]


def test_json_of_another_kind_is_a_bad_row(postgres):
    sql = """select i as id, (case when i = 3 then '7' else '["a"]' end)::jsonb as contexts
        from generate_series(1, 3) i order by i"""
    postgres.execute(f"CREATE TABLE t AS {sql}")
    source = open_source(postgres.address(table="t"))
    (chunk,) = source.chunks(source.select({"contexts": "texts"}))
    assert chunk.batch.to_pylist() == [{"contexts": ["a"]}, {"contexts": ["a"]}]
    (reject,) = chunk.rejects
    assert (reject.where, reject.column) == ("row 2", "contexts")
    assert reject.reason == "expected a string or a list of strings, got the number 7"


@pytest.mark.parametrize(
    ("expression", "kind", "reason"),
    [
        ("'\\xdead'::bytea", "text", "column 'answer': expected text, got binary"),
        ("point(1, 2)", "text", "column 'answer' is of type point, which cannot be read; leave it out"),
        ("interval '1 day'", "any", "column 'answer' is of type interval, which cannot be read"),
        ("int4range(1, 3)", "any", "column 'answer' is of type unnamed<oid:3904>, which cannot be read"),
        ("1", "text", "column 'answer': expected text, got int32"),
    ],
)
def test_a_type_that_does_not_fit_is_named(postgres, expression, kind, reason):
    address = postgres.address(query=f"select {expression} as answer, 'x' as reference")
    assert read(address, reference="text") == [{"reference": "x"}]
    with pytest.raises(ColumnError, match=reason.replace("\\", "\\\\")):
        read(address, answer=kind)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("insert into answers values (9) returning id", "syntax error|read-only transaction"),
        ("with gone as (delete from answers returning id) select * from gone", "data-modifying|read-only"),
        ("select nextval('counter')", "cannot execute nextval\\(\\) in a read-only transaction"),
        ("select 1; drop table answers", "syntax error"),
        ("select 1) x; drop table answers; --", "multiple commands|syntax error"),
        ("select set_config('transaction_read_only', 'off', false)", "must be set before any query"),
        ("commit", "syntax error"),
        ("select nosuch from answers", 'column "nosuch" does not exist'),
        ("select * from nosuch", 'relation "nosuch" does not exist'),
        ("select", "has no columns|syntax error"),
    ],
)
def test_a_query_only_reads(postgres, sql, reason):
    postgres.fill("answers", ROWS, "id")
    postgres.execute("CREATE SEQUENCE counter")
    with pytest.raises(FileFormatError, match=reason) as error:
        read(postgres.address(query=sql))
    advice = 'the query must be one SELECT that only reads, as in "select id, answer, reference from answers"'
    assert (advice in str(error.value)) == ("nosuch" not in sql and sql != "select")
    assert postgres.execute(
        "SELECT count(*) FROM answers", "SELECT count(*), (SELECT is_called FROM counter) FROM answers"
    ) == [(3, False)]


def test_no_table_and_no_server_are_named(postgres, monkeypatch):
    monkeypatch.setattr(RETRY_LIMITS, "pause_seconds", 0.0)
    refused(FileFormatError, "nosuch", read, postgres.address(table="nosuch"))
    refused(FileFormatError, "refused", read, "postgresql://reader:secret@127.0.0.1:1/db?table=answers")
    refused(FileFormatError, "nowhere", read, postgres.server.address("nowhere", table="answers"))


def test_passwords_stay_secret(postgres, tmp_path, capsys):
    postgres.fill("answers", ROWS, "id")
    postgres.execute("GRANT SELECT ON answers TO reader")
    encoded = PASSWORD.replace("#", "%23")
    address = postgres.address(f"reader:{encoded}", table="answers")
    output = tmp_path / "scores.parquet"
    fm.score(address, ["token_f1"], output=output)
    wrong = address.replace(encoded, "wrong-horse")
    refused = f"postgresql://reader:{encoded}@host:5x/db?table=answers"
    texts = []
    for bad in (
        wrong,
        refused,
        address.replace("table=answers", "table=nosuch"),
        address.replace("&table=", "&tabel="),
    ):
        with pytest.raises((FileFormatError, OptionError)) as error:
            read(bad)
        texts.append(str(error.value))
        assert error.value.__cause__ is None or PASSWORD not in str(error.value.__cause__)
    assert "password authentication failed" in texts[0]
    written = [path.read_bytes().decode("latin1") for path in tmp_path.rglob("*") if path.is_file()]
    for text in (*texts, *written, repr(open_source(address).files), str(open_source(address).fingerprint)):
        for secret in (PASSWORD, encoded, "wrong-horse"):
            assert secret not in text


def test_a_run_of_a_database_is_not_resumed(postgres, tmp_path, small_parts):
    postgres.execute("CREATE TABLE t AS SELECT i AS id, 'a' AS answer, 'a' AS reference FROM generate_series(1, 100) i")
    postgres.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    output = tmp_path / "scores.parquet"
    for address in (postgres.address(table="t"), postgres.address(query="select * from t order by id")):
        _stopped(address, output)
        refused(OutputError, "resume=True", fm.score, address, ["token_f1"], output=output, resume=True)
        assert fm.score(address, ["token_f1"], output=output, overwrite=True).rows == 100
        output.unlink()


def test_a_lost_connection_ends_the_run(postgres, monkeypatch):
    monkeypatch.setattr(RETRY_LIMITS, "pause_seconds", 0.0)
    monkeypatch.setattr(SIZES, "query_batch_bytes", 50_000)
    monkeypatch.setattr(SIZES, "read_batch_rows", 50)
    postgres.execute("CREATE TABLE t AS SELECT i AS id, repeat('x', 50000) AS answer FROM generate_series(1, 3000) i")
    source = open_source(postgres.address(table="t"))
    selection = source.select({"id": "id", "answer": "text"})
    numbers = []

    def read_all(*, cut):
        for chunk in source.chunks(selection):
            if cut and not numbers:
                postgres.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            numbers.extend(chunk.batch["id"].to_pylist())

    refused(FileFormatError, "lost again", read_all, cut=True)
    assert 0 < len(numbers) < 3000
    numbers.clear()
    read_all(cut=False)
    assert numbers == list(range(1, 3001))


def test_reads_one_after_the_other_show_one_moment(postgres):
    postgres.fill("answers", ROWS, "id")
    source = open_source(postgres.address(table="answers"))
    selection = source.select({"id": "id"})
    reading = source.chunks(selection)
    counts = [next(reading).batch.num_rows]
    postgres.execute("INSERT INTO answers (id) VALUES (4)")
    beside = [chunk.batch.num_rows for chunk in source.chunks(selection)]  # by a connection of its own
    counts += [chunk.batch.num_rows for chunk in reading]
    after = [chunk.batch.num_rows for chunk in source.chunks(selection)]
    assert (sum(counts), beside, len(after)) == (3, [4], 1)
    assert after[0] in (3, 4)
    del source
    fresh = open_source(postgres.address(table="answers"))
    rows = [[chunk.batch.num_rows for chunk in fresh.chunks(selection)]]
    postgres.execute("INSERT INTO answers (id) VALUES (5)")
    rows.append([chunk.batch.num_rows for chunk in fresh.chunks(selection)])
    assert rows == [[4], [4]]
