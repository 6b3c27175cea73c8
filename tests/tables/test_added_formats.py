"""A format of files is one entry: found by name or first bytes, read by all commands, written if it can be."""

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.tables.encoders import Encoder
from fastmetrics.tables.formats import FORMATS
from fastmetrics.tables.opening import expand
from fastmetrics.tables.readers import Chunk, Format, Reader
from tests.support.program import program

MAGIC = b"%cards\n"


class CardsReader(Reader):
    """One column in each line: its name, a colon and its cells, separated by bars."""

    def __init__(self, file):
        super().__init__(file)
        with file.open()[0] as stream:
            lines = stream.read().removeprefix(MAGIC).decode().splitlines()
        cells = {name: text.split("|") for name, _, text in (line.partition(":") for line in lines)}
        self.table = pa.table(cells).to_batches()[0]
        self.schema, self.rows = self.table.schema, self.table.num_rows

    def read(self, selection, number, start, threads):
        names = [name for name in selection.schema.names if name in self.schema.names]
        rows = np.arange(start, self.rows)
        yield Chunk(number, rows, self.table.select(names).slice(start))


CARDS = "id:a|b\nanswer:in Paris|Rome\nreference:in Paris|in Rome\n"


class CardsEncoder(Encoder):
    """Writes the file when it is closed."""

    def __init__(self, path):
        self.path, self.parts = path, []

    def write(self, part):
        self.parts.append(part)

    def close(self, conclusion):
        columns = pa.Table.from_batches(self.parts).to_pydict()
        lines = [f"{name}:{'|'.join(map(str, cells))}\n" for name, cells in columns.items()]
        self.path.write_bytes(MAGIC + "".join(lines).encode())

    def discard(self):
        """There is nothing to close."""


@pytest.fixture
def cards(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, "cards", Format("cards", (".cards",), CardsReader, magic=(MAGIC,)))
    (tmp_path / "rows.cards").write_bytes(MAGIC + CARDS.encode())
    return tmp_path / "rows.cards"


def test_format_is_read_by_functions_and_commands(cards, tmp_path):
    fm.score(cards, output=tmp_path / "s.parquet", metrics="token_f1")
    done = program("score", cards, "-m", "token_f1", "-o", tmp_path / "c.parquet")
    assert done.code == 0, done.err
    for name in ("s.parquet", "c.parquet"):
        assert pa.parquet.read_table(tmp_path / name)["token_f1"].to_pylist() == [1.0, pytest.approx(2 / 3)]


def test_format_is_detected_by_suffix_first_bytes_option_and_in_folders(cards, tmp_path):
    (tmp_path / "unnamed").write_bytes(cards.read_bytes())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part.cards").write_bytes(cards.read_bytes())
    for path in (cards, tmp_path / "unnamed", tmp_path / "folder"):
        assert [file.format for file in expand(path)] == ["cards"]
    (tmp_path / "plain.txt").write_text(CARDS)
    assert [file.format for file in expand(tmp_path / "plain.txt", "cards")] == ["cards"]


def test_output_in_a_format_without_encoder_is_refused(cards, tmp_path):
    with pytest.raises(OptionError, match="cards are read, but not written"):
        fm.score(cards, output=tmp_path / "s.cards", metrics="token_f1")
    assert not (tmp_path / "s.cards").exists()


def test_output_in_a_format_with_encoder_is_written(cards, tmp_path, monkeypatch):
    encoder = lambda path, schema, compression: CardsEncoder(path)  # noqa: E731
    monkeypatch.setitem(FORMATS, "cards", Format("cards", (".cards",), CardsReader, magic=(MAGIC,), encoder=encoder))
    fm.score(cards, output=tmp_path / "s.cards", metrics="exact_match", keep="answer")
    assert (tmp_path / "s.cards").read_text() == "%cards\nid:a|b\nanswer:in Paris|Rome\nexact_match:1.0|0.0\n"
    assert (tmp_path / "s.cards.meta.json").exists()
    with pytest.raises(OptionError, match="expected a name ending in"):
        fm.score(cards, output=tmp_path / "s.cards.gz", metrics="exact_match")
