"""The fuzzer of scripts/fuzz_inputs: good files of every format, how they are spoilt, and a command on one."""

from __future__ import annotations

import contextlib
import faulthandler
import gzip
import io
import json
import os
import random
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from fastmetrics.cli import program

ROWS = 24


@dataclass(frozen=True)
class Seed:
    """A good file: ``format`` is what the fuzzer counts it as, ``name`` ends in the suffix that commands go by."""

    format: str
    name: str
    data: bytes


def rows() -> pa.Table:
    """Rows with every kind of column: text, lists, ids, numbers, flags, vectors, and text coded in other ways."""
    rng = np.random.default_rng(11)
    words = ["Paris", "in", "the", "größte", "Stadt", "столица", "7", "1,000", "[1]", "東京", "e-mail", "No."]

    def text() -> str:
        return " ".join(rng.choice(words, rng.integers(1, 9)).tolist())

    answers = [None if row == 5 else text() for row in range(ROWS)]
    documents = [[f"d{document}" for document in rng.permutation(9)[: rng.integers(1, 6)]] for _ in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "question": pa.array([text() for _ in range(ROWS)]),
            "answer": pa.array(answers),
            "reference": pa.array([None if row == 7 else [text() for _ in range(row % 3)] for row in range(ROWS)]),
            "contexts": pa.array([[text(), text()] for _ in range(ROWS)]),
            "retrieved_ids": pa.array(documents),
            "relevant_ids": pa.array([documents[row][:2] for row in range(ROWS)]),
            "latency_ms": pa.array(rng.random(ROWS)),
            "answerable": pa.array([row % 4 > 0 for row in range(ROWS)]),
            "session_id": pa.array([row % 3 for row in range(ROWS)]),
            "timestamp": pa.array([f"2024-01-05T10:{row % 60:02}:00Z" for row in range(ROWS)]),
            "rating": pa.array([None if row == 3 else row % 5 for row in range(ROWS)]),
            "question_embedding": pa.array(rng.random((ROWS, 4)).tolist(), pa.list_(pa.float32())),
        }
    )


def vectors() -> pa.Table:
    """An id and a vector a row."""
    values = np.random.default_rng(12).normal(size=(ROWS * 4, 8)).astype(np.float32)
    return pa.table({"id": pa.array(range(len(values))), "vector": pa.array(list(values), pa.list_(pa.float32()))})


def layouts() -> pa.Table:
    """The rows with their columns in Arrow's other layouts: views, dictionaries, runs, lists of fixed size."""
    table = rows()
    lists = table["contexts"].combine_chunks()
    columns = {
        "id": pa.array([f"q{row}" for row in range(ROWS)]).dictionary_encode(),
        "question": table["question"].cast(pa.string_view()),
        "answer": table["answer"].cast(pa.large_string()),
        "reference": table["answer"].dictionary_encode(),
        "contexts": pa.FixedSizeListArray.from_arrays(lists.flatten(), 2),
        "retrieved_ids": pa.array(table["retrieved_ids"].to_pylist(), pa.list_view(pa.string())),
        "relevant_ids": pa.array(table["relevant_ids"].to_pylist(), pa.large_list(pa.string())),
        "latency_ms": pa.RunEndEncodedArray.from_arrays([10, ROWS], [1.5, 2.5]),
    }
    return pa.table(
        {name: column.combine_chunks() if hasattr(column, "chunks") else column for name, column in columns.items()}
    )


def _ipc(table: pa.Table, make: Callable[..., pa.RecordBatchWriter], compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=ROWS // 2)
    return sink.getvalue()


def _parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **{"row_group_size": ROWS // 2, **options})
    return sink.getvalue()


def _csv(table: pa.Table, delimiter: str) -> bytes:
    lists = [name for name in table.column_names if pa.types.is_list(table[name].type)]
    for name in lists:
        texts = [None if value is None else json.dumps(value) for value in table[name].to_pylist()]
        table = table.set_column(table.column_names.index(name), name, pa.array(texts))
    sink = io.BytesIO()
    pacsv.write_csv(table, sink, pacsv.WriteOptions(delimiter=delimiter))
    return sink.getvalue()


def _jsonl(table: pa.Table) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()).encode()


def _npy(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def tables() -> Iterator[Seed]:
    """Rows to score, in each format."""
    table, other, points = rows(), layouts(), vectors()
    yield Seed("parquet", "rows.parquet", _parquet(table, compression="none", use_dictionary=False))
    yield Seed("parquet", "rows.parquet", _parquet(table, compression="none", data_page_version="2.0"))
    yield Seed("parquet", "rows.parquet", _parquet(table, compression="zstd"))
    yield Seed(
        "parquet",
        "vectors.parquet",
        _parquet(points, compression="snappy", column_encoding="PLAIN", use_dictionary=False),
    )
    for made_table in (table, other):
        yield Seed("arrow file", "rows.arrow", _ipc(made_table, pa.ipc.new_file))
        yield Seed("arrow stream", "rows.arrows", _ipc(made_table, pa.ipc.new_stream))
    yield Seed("arrow file", "rows.arrow", _ipc(table, pa.ipc.new_file, "lz4"))
    yield Seed("arrow file", "vectors.arrow", _ipc(points, pa.ipc.new_file, "zstd"))
    yield Seed("arrow stream", "rows.arrows", _ipc(other, pa.ipc.new_stream, "zstd"))
    for name, data in (("rows.jsonl", _jsonl(table)), ("rows.csv", _csv(table, ",")), ("rows.tsv", _csv(table, "\t"))):
        yield Seed(name.partition(".")[2], name, data)
        yield Seed("gz", f"{name}.gz", gzip.compress(data, mtime=0))
        yield Seed("zst", f"{name}.zst", _zstd(data))
    yield Seed("npy", "vectors.npy", _npy(np.array(points["vector"].to_pylist(), np.float32)))
    yield Seed("npy", "vectors.npy", _npy(np.asfortranarray(np.array(points["vector"].to_pylist()))))


def runs() -> Iterator[Seed]:
    """A run and its judgements, in each format that ``rank`` reads."""
    ranked = [(f"q{query}", f"d{doc}", 1 / (1 + doc), int(doc % 3 == 0)) for query in range(8) for doc in range(6)]
    for kind, column, at in (("run", "score", 2), ("qrels", "relevance", 3)):
        triples = [(ranked_document[0], ranked_document[1], ranked_document[at]) for ranked_document in ranked]
        table = pa.table(dict(zip(("query_id", "doc_id", column), zip(*triples, strict=True), strict=True)))
        nested: dict[str, dict[str, float]] = {}
        for query, doc, value in triples:
            nested.setdefault(query, {})[doc] = value
        line = "{} Q0 {} 1 {} tag\n" if kind == "run" else "{} 0 {} {}\n"
        yield Seed(kind, f"{kind}.txt", "".join(line.format(*ranked_document) for ranked_document in triples).encode())
        yield Seed(kind, f"{kind}.json", json.dumps(nested).encode())
        yield Seed(kind, f"{kind}.jsonl", _jsonl(table))
        yield Seed(kind, f"{kind}.csv", _csv(table, ","))
        yield Seed(
            kind,
            f"{kind}.txt.gz",
            gzip.compress("".join(line.format(*ranked_document) for ranked_document in triples).encode()),
        )
        yield Seed(kind, f"{kind}.parquet", _parquet(table))
        yield Seed(kind, f"{kind}.arrow", _ipc(table, pa.ipc.new_file))


def all_seeds() -> list[Seed]:
    """Every good file but the folders of indexes, which only the program itself can make."""
    return [*tables(), *runs()]


def write(seed: Seed, folder: Path) -> Path:
    """The seed as a file."""
    path = folder / seed.name
    path.write_bytes(seed.data)
    return path


Mutation = Callable[[bytearray, random.Random, Sequence[bytes]], None]

_NARROW = (0, -1, 1, 2, 7, 8, 127, 128, 255, 256, 65_535, 65_536, 2**24, 2**30, 2**31 - 1, -(2**31), 1_000_000)
_WIDE = (*_NARROW, 2**32, 2**33, 2**40, 2**59, 2**60, 2**62, 2**63 - 1, -(2**63), -(2**33))
_TOKENS = (
    *(b'"', b"'", b",", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\\", b"\\u0000", b"\\ud800"),
    *(b"{", b"}", b"[", b"]", b":", b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 400, b"1e-400"),
    *(b"[" * 300, b'{"a":' * 300, b"[" * 30_000, b'{"a":' * 30_000, b'"' * 999, b" " * 5000, b"\n" * 5000),
    b"x" * 70_000,
    *(b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xa8", b"\x1a", b"\x85", b"#", b"#\n", b"Q0"),
    *(b"PAR1", b"ARROW1"),
)


def _place(data: bytearray, rng: random.Random) -> int:
    """An offset; half of them near either end, where headers and footers are."""
    chance = rng.random()
    near = min(len(data), 400)
    if chance < 0.25:
        return rng.randrange(near + 1)
    if chance < 0.5:
        return len(data) - rng.randrange(near + 1)
    return rng.randrange(len(data) + 1)


def _slice(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = _place(data, rng)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 16, 64, 256, 4096)))


def flip(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """One bit, or a few."""
    for _ in range(rng.choice((1, 1, 1, 2, 8, 32))):
        if data:
            data[min(_place(data, rng), len(data) - 1)] ^= 1 << rng.randrange(8)


def replace(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """A slice by other bytes."""
    start, stop = _slice(data, rng)
    filling = rng.choice((b"\x00", b"\xff", b"\x80", b"\x7f", None))
    size = stop - start
    data[start:stop] = rng.randbytes(size) if filling is None else filling * size


def truncate(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """The end, or the beginning, cut off."""
    at = _place(data, rng)
    del data[slice(at, None) if rng.random() < 0.8 else slice(0, at)]


def duplicate(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """A slice put somewhere once more, or in place of what is there."""
    start, stop = _slice(data, rng)
    to = _place(data, rng)
    piece = bytes(data[start:stop]) * rng.choice((1, 1, 2, 50))
    data[to : to + (len(piece) if rng.random() < 0.5 else 0)] = piece


def delete(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """A slice taken out."""
    start, stop = _slice(data, rng)
    del data[start:stop]


def splice(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """The beginning of one file with the end of another."""
    other = rng.choice(list(others))
    at = _place(data, rng)
    data[at:] = other[min(at, len(other)) if rng.random() < 0.5 else rng.randrange(len(other) + 1) :]


def number(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """Aligned whole numbers replaced by extreme ones, as an offset, a length or a count would be."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        form, values = rng.choice((("<i", _NARROW), ("<q", _WIDE)))
        size = struct.calcsize(form)
        if len(data) < size:
            return
        at = min(_place(data, rng), len(data) - size)
        at -= at % rng.choice((size, size, 1))
        (present,) = struct.unpack_from(form, data, at)
        value = rng.choice((*values, present + 1, present - 1, present * 2, len(data), -present))
        data[at : at + size] = struct.pack(form, max(-(2 ** (8 * size - 1)), min(value, 2 ** (8 * size - 1) - 1)))


def token(data: bytearray, rng: random.Random, others: Sequence[bytes]) -> None:
    """Bytes that mean something to a parser, put in or in place of others."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, piece = _place(data, rng), rng.choice(_TOKENS)
        data[at : at + (len(piece) if rng.random() < 0.3 else 0)] = piece


MUTATIONS: tuple[Mutation, ...] = (flip, replace, truncate, duplicate, delete, splice, number, token)


def mutate(data: bytes, rng: random.Random, others: Sequence[bytes]) -> tuple[bytes, str]:
    """The bytes spoilt in one to three ways, and which; of a compressed file half the time what it holds."""
    inside = _unpacked(data) if rng.random() < 0.5 else None
    spoilt = bytearray(data if inside is None else inside[0])
    names = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        chosen = rng.choice(MUTATIONS)
        chosen(spoilt, rng, others)
        names.append(chosen.__name__)
    return (bytes(spoilt) if inside is None else inside[1](bytes(spoilt))), "+".join(names)


def _unpacked(data: bytes) -> tuple[bytes, Callable[[bytes], bytes]] | None:
    """What a compressed file holds, and how to compress it again."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data), lambda content: gzip.compress(content, 1, mtime=0)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            return stream.read(), lambda content: bytes(pa.compress(content, "zstd", asbytes=True))
    return None


SECONDS = 10
GROWTH = 1 << 30
_CODES = {0: "scored", 2: "usage", 3: "input", 4: "output"}
_SPACE = 6 << 30
_STUCK = 6
"""How many times the processor's seconds the clock may show, as others use this machine too."""


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: ``scored`` or an error of our own (``input``, ...), or ``signal``, ``traceback``, ..."""

    kind: str
    detail: str
    growth: int

    @property
    def failed(self) -> bool:
        """Whether a program should never end like this."""
        return self.kind not in _CODES.values()


def attempt(arguments: Sequence[str], folder: Path, seconds: int = SECONDS) -> Outcome:
    """Run the program in a fork of this process, which must hold no threads, within ``folder``."""
    log = folder / ".log"
    before = _resident()
    child = os.fork()
    if not child:
        try:
            os._exit(_run(arguments, folder, log, seconds))
        finally:
            os._exit(99)
    _, status, used = os.wait4(child, 0)
    text = log.read_text(errors="replace") if log.exists() else ""
    growth = max(0, used.ru_maxrss * 1024 - before)
    return Outcome(_kind(status, growth), text[-6000:], growth)


def _kind(status: int, growth: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "hang" if name in ("SIGALRM", "SIGXCPU") else name
    if growth > GROWTH:
        return "memory"
    return _CODES.get(os.WEXITSTATUS(status), "traceback")


def _run(arguments: Sequence[str], folder: Path, log: Path, seconds: int) -> int:
    """What the child does: the program under limits, with all that it says in ``log``."""
    os.chdir(folder)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_STUCK * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_virtual() + _SPACE, resource.RLIM_INFINITY))
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        faulthandler.enable(output)
        sys.argv = ["fastmetrics", *arguments]
        sys.stdout = sys.stderr = output
        try:
            with contextlib.suppress(BrokenPipeError):
                program.main()
        except SystemExit as left:
            output.flush()
            return int(left.code or 0)
        except BaseException:  # noqa: BLE001 - whatever it is, it is a failure
            traceback.print_exc(file=output)
            output.flush()
            return 1
    return 0


def _status(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _resident() -> int:
    return _status("VmRSS")


def _virtual() -> int:
    return _status("VmSize")
