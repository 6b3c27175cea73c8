"""Names of columns on the command line, whatever they hold."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmetrics.base.errors import OptionError
from fastmetrics.cli.options import name_list, pairs
from tests.support.program import program

NAMES = ["a,b", "answer = x", 'say "no"', "(a", "b)", "[1,", "'", "a=b=c", " padded "]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@given(st.lists(st.text(st.characters(blacklist_characters="\r\n\0", blacklist_categories=["Cs"])), max_size=4))
def test_any_names_can_be_written(names):
    named = [name for name in names if name.strip()]
    assert name_list([",".join(map(quoted, named))] if named else [""], "--keep") == named
    assert name_list(list(map(quoted, named)), "--keep") == named
    mapped = dict.fromkeys(f"c{place}" for place in range(len(named)))
    written = [quoted(f"{key}={name}") for key, name in zip(mapped, named, strict=True)]
    assert pairs([",".join(written)]) == dict(zip(mapped, named, strict=True))


@pytest.mark.parametrize("option", ["--keep", "--columns", "--raters"])
@pytest.mark.parametrize("text", ['"a', '"a"b'])
def test_unclosed_quote_raises(option, text):
    with pytest.raises(OptionError, match=f"^{option} '{text}': expected a line of CSV"):
        name_list([text], option)


def test_columns_of_any_name_are_read_and_kept(tmp_path):
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table({name: [f"{place} x"] for place, name in enumerate(NAMES)})
    pq.write_table(table, source)
    for place, name in enumerate(NAMES):
        other = NAMES[place - 1]
        mapped = ",".join([quoted(f"answer={name}"), quoted(f"reference={other}")])
        options = ("-m", "token_recall", "--columns", mapped, "--keep", ",".join(map(quoted, NAMES)), "--overwrite")
        done = program("score", source, "-o", out, *options)
        assert (done.code, done.err) == (0, "")
        scored = pq.read_table(out)
        assert scored.select(NAMES).equals(table)
        assert scored["token_recall"].to_pylist() == [0.5]
