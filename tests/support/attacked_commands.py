"""The commands that ``scripts/attack_files`` attacks, with their inputs: all that write."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from tests.support.program import Done, jsonl

METRICS = ("-m", "token_f1,exact_match")
CALLS = ("--model", "m", "--base-url", "{server}", "--store", "stores/calls.sqlite")
COMPARE = ("summarize", "other.parquet", "--worst", "token_f1", "--baseline", "scores.parquet")
WRITERS: Mapping[str, tuple[str, ...]] = {
    "score parquet": ("score", "rows.jsonl", "-o", "{out}/o.parquet", *METRICS),
    "score csv": ("score", "rows.jsonl", "-o", "{out}/o.csv", *METRICS),
    "score folder": ("score", "rows.jsonl", "-o", "{out}/o/", *METRICS),
    "score zst": ("score", "rows.jsonl", "-o", "{out}/o.jsonl.zst", *METRICS),
    "judge": ("judge", "run", "few.jsonl", "-o", "{out}/o.csv", "--rubrics", "safety", *CALLS),
    "judge folder": ("judge", "run", "few.jsonl", "-o", "{out}/o/", "--rubrics", "safety", "--keep-replies", *CALLS),
    "answer": (
        *("answer", "few.jsonl", "-o", "{out}/o.parquet", "--bot", "full-context", "--knowledge", "k.txt", "--keep"),
        "id",
        *CALLS,
    ),
    "embed": ("vectors", "embed", "rows.jsonl", "-o", "{out}/o.parquet", "--of", "answer", "--cache", "stores/vectors"),
    "fit": ("fit", "labelled.jsonl", "--label", "label", "-m", "token_f1,chrf", "-o", "{out}/o.toml"),
    "match": ("match", "few.jsonl", "few.jsonl", "-o", "{out}/o.csv"),
    "sample": ("judge", "sample", "judged.jsonl", "-o", "{out}/o.csv", "-n", "50", "--texts", "rows.jsonl"),
    "rows": ("summarize", "scores.parquet", "--worst", "token_f1", "--answers", "rows.jsonl", "-o", "{out}/o.csv"),
    "rows baseline": (*COMPARE, "--answers", "rows.jsonl", "-o", "{out}/o.csv"),
    "plot svg": ("summarize", "scores.parquet", "--histograms", "--plot", "{out}/o.svg"),
    "plot png": ("compare", "scores.parquet", "other.parquet", "--plot", "{out}/o.png"),
    "plot trend": ("runs", "trend", ".", "token_f1", "--plot", "{out}/o.svg"),
    "plot cache": ("logs", "cache", "log.jsonl", "--embedder", "wordllama", "--plot", "{out}/o.svg"),
    "rank": ("rank", "run.txt", "qrels.txt", "-o", "{out}/o.parquet"),
    "report": ("report", "scores.parquet", "--texts", "rows.jsonl", "-o", "{out}/o.html"),
    "report all": ("report", "scores.parquet", "--texts", "rows.jsonl", "--rows", "all", "-o", "{out}/o"),
    "project": ("vectors", "project", "vectors.npy", "-o", "{out}/o.csv", "--plot", "{out}/p.png"),
    "index": ("vectors", "index", "vectors.npy", "-o", "{out}/o"),
    "search": ("vectors", "search", "index", "vectors.npy", "-o", "{out}/o.jsonl"),
    "usage": ("logs", "chunks", "log.jsonl", "-o", "{out}/o.json", "--table", "{out}/t.csv"),
    "domain": ("logs", "domains", "log.jsonl", "-o", "{out}/o.json"),
    "topics": ("logs", "topics", "log.jsonl", "-o", "{out}/o.json", "--topics", "4", "--embedder", "wordllama"),
    "ux": ("logs", "cache", "log.jsonl", "-o", "{out}/o.json", "--embedder", "wordllama"),
    "sessions": ("logs", "context", "log.jsonl", "-o", "{out}/o.json", "--embedder", "wordllama"),
    "session report": (
        *("logs", "sessions", "log.jsonl", "--success", "token_f1 >= 0.5", "-o", "{out}/o.json"),
        *("--table", "{out}/t.parquet"),
    ),
    "check": ("logs", "check", "few.jsonl", "-o", "{out}/o.json"),
    "gate": ("gate", "scores.parquet", "-r", "token_f1.mean >= 0", "--junit", "{out}/o.xml"),
    "gate json": ("gate", "scores.parquet", "-r", "token_f1.mean >= 0", "--json", "{out}/o.json"),
    "gate markdown": ("gate", "scores.parquet", "-r", "token_f1.mean >= 0", "--markdown", "{out}/o.md"),
    "plot fit": ("fit", "labelled.jsonl", "--label", "label", "-m", "token_f1,chrf", "--plot", "{out}/o.svg"),
    "plot validate": ("validate", "scores.parquet", "labelled.jsonl", "--label", "label", "--plot", "{out}/o.svg"),
}
"""Commands that write into the folder ``{out}``, and with calls of the model server at ``{server}``, by name."""
OUTPUTS = {
    "output": "-o",
    "table": "--table",
    "junit": "--junit",
    "json": "--json",
    "markdown": "--markdown",
    "plot": "--plot",
}
"""The options that name an output, by their arguments."""
RESUMABLE = ("score", "judge run", "answer", "vectors embed")
ALWAYS = ("--junit", "--json", "--markdown", "--plot")
"""Options whose output is replaced without another option."""
NEVER = ("vectors index",)
"""Commands that replace nothing."""
TIMES = ("latency_ms",)
"""Columns of measured times, which differ between two runs."""


def make_inputs(folder: Path, n: int, run: Callable[[tuple[str, ...]], Done]) -> None:
    """Write the inputs of all commands; ``run`` runs the program in the folder."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{word}" for word in rng.integers(0, 400, 12)) for _ in range(n)]
    rows: list[dict[str, Any]] = [
        {"id": at, "question": texts[-at], "answer": text, "reference": texts[at - 1]} for at, text in enumerate(texts)
    ]
    jsonl(folder / "rows.jsonl", *rows)
    jsonl(folder / "few.jsonl", *rows[:200])
    jsonl(folder / "changed.jsonl", *({**row, "answer": row["reference"][: row["id"] % 40]} for row in rows))
    jsonl(folder / "labelled.jsonl", *({**row, "label": row["id"] % 3 % 2} for row in rows[:60]))
    jsonl(folder / "judged.jsonl", *({"id": row["id"], "judge_safety": row["id"] % 5} for row in rows))
    log = [{**row, "retrieved_ids": [f"c{row['id'] % 7}"], "session": row["id"] % 9} for row in rows]
    jsonl(folder / "log.jsonl", *({**row, "timestamp": f"2026-01-01T00:{row['id'] % 60:02}:00Z"} for row in log))
    (folder / "k.txt").write_text("All words are w0.")
    (folder / "run.txt").write_text("".join(f"q{at} Q0 d{at % 5} 1 0.5 t\n" for at in range(n)))
    (folder / "qrels.txt").write_text("".join(f"q{at} 0 d{at % 3} 1\n" for at in range(n)))
    np.save(folder / "vectors.npy", rng.normal(size=(n, 16)).astype(np.float32))
    for words in (
        ("score", "rows.jsonl", "-o", "scores.parquet", *METRICS),
        ("score", "changed.jsonl", "-o", "other.parquet", *METRICS),
        ("vectors", "index", "vectors.npy", "-o", "index"),
        ("judge", "run", "few.jsonl", "-o", "calls.csv", "--rubrics", "safety", *CALLS[:-1], "calls.sqlite"),
    ):
        done = run(words)
        if done.code:
            raise RuntimeError(done.err)


def contents(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, by its path there; without times, if it is a table of answers."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): _lasting(path.read_bytes()) for path in files}


def _lasting(data: bytes) -> bytes:
    """The bytes of a file; of a complete Parquet file with measured times, all but the times."""
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1")):
        return data
    table = pq.read_table(io.BytesIO(data))
    if not set(TIMES) & set(table.column_names):
        return data
    others = table.drop_columns(list(TIMES))
    return f"{others.schema.to_string()}\n{json.dumps(others.to_pylist())}".encode()
