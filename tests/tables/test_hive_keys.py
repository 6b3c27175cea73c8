"""Keys of hive folders of which only some look like numbers: one type and one value, whichever files are read."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastmetrics as fm
from fastmetrics.tables.opening import open_source
from tests.support.table_files import FORMATS, read, write

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder of rows without a key."""

KINDS = [
    (["1", "2", "30", "0", "-4"], pa.int64()),
    (["1", "2", NULL], pa.int64()),
    (["1", "02", "abc"], pa.string()),
    (["1", "02"], pa.string()),
    (["02", "1"], pa.string()),
    (["abc", "1"], pa.string()),
    (["1", "2", "2.5"], pa.string()),
    (["1", "-0"], pa.string()),
    (["1", "٢"], pa.string()),
    (["1", "1e3", "nan", ""], pa.string()),
    (["1", str(10**18)], pa.string()),
    (["1", "x", NULL], pa.string()),
]


def folder(top, values, name):
    for value in values:
        place = top / f"key={value}"
        place.mkdir(parents=True)
        write(pa.table({"id": [value], "answer": ["a b"], "reference": ["a"]}), place / name)
    return top


def expected(values, kind):
    """The key of each id: an integer, or the text of the folder."""
    keys = {value: None if value == NULL else value for value in values}
    return {one: None if key is None else int(key) if kind == pa.int64() else key for one, key in keys.items()}


@pytest.mark.parametrize(("values", "kind"), KINDS, ids=[" ".join(values) for values, _ in KINDS])
@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_key_has_one_type_by_the_values_of_all_folders(tmp_path, values, kind, name):
    source = open_source(folder(tmp_path, values, name))
    table, rejects = read(source, {"id": "id", "key": "any"})
    assert (table["key"].type, rejects) == (kind, [])
    assert dict(zip(table["id"].to_pylist(), table["key"].to_pylist(), strict=True)) == expected(values, kind)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("values", [["1", "02", "abc"], ["abc", "1", "02"], ["02", "1"], ["1", "2"]])
def test_kept_keys_are_the_same_values_in_every_format(tmp_path, name, values):
    out = tmp_path / "o.parquet"
    rows = folder(tmp_path / "rows", values, name)
    fm.score(
        rows, output=out, metrics="token_f1", keep=["id", "key"], threads=1, files=fm.tables.FileSettings(batch_rows=1)
    )
    table = pq.read_table(out)
    kind = pa.int64() if "2" in values else pa.string()
    assert table["key"].type == kind
    assert dict(zip(table["id"].to_pylist(), table["key"].to_pylist(), strict=True)) == expected(values, kind)
    found = fm.gate(out, "token_f1 >= 0 where key=1", min_n=1)
    assert (found.passed, found[0].n) == (True, 1)


def test_names_and_values_of_folders_are_unquoted(tmp_path):
    """Writers quote the characters that a path cannot contain, in names as in values."""
    place = tmp_path / "two%20words=a%2Fb" / "part%3Dof%25=50%25" / "plain=1%202"
    place.mkdir(parents=True)
    write(pa.table({"id": ["x"]}), place / "t.parquet")
    source = open_source(tmp_path)
    keys = {"two words": "a/b", "part=of%": "50%", "plain": "1 2"}
    assert source.names == ["id", *keys]
    table, _ = read(source, dict.fromkeys(source.names, "any"))
    assert table.to_pylist() == [{"id": "x", **keys}]
