"""Score a Parquet file of any size in bounded memory, so that a run that is cut short can go on.

::

    python examples/big_parquet.py ANSWERS.parquet SCORES.parquet

Run it again after a crash, or after Ctrl-C: finished parts are not scored twice, and the file of scores is the same to
the byte as that of a run without interruption.  Without arguments it makes a file of the example rows, many times over.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import json

import fastmetrics as fm


def many_rows(path: Path, copies: int = 100) -> None:
    """Write the example rows ``copies`` times over."""
    rows = json.read_json(Path(__file__).with_name("answers.jsonl"))
    pq.write_table(pa.concat_tables([rows] * copies), path)


def main(source: Path, target: Path) -> None:
    """Score ``source`` into ``target``, go on where an earlier run stopped, and print the summary."""
    done = fm.score(
        source,
        output=target,
        metrics=["token_f1", "keyword_recall", "squad_f1(version=2)", "answer_words"],
        keep=["question"],
        # Rows that cannot be read go to SCORES.parquet.rejects.jsonl, and are counted.
        files=fm.tables.FileSettings(on_error="skip"),
        resume=True,
    )
    print(done.summary)
    print(
        f"\n{done.rows:,} rows, {done.resumed_rows:,} of them scored earlier, {done.rejected:,} rejected: {done.output}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            many_rows(Path(folder, "answers.parquet"))
            main(Path(folder, "answers.parquet"), Path(folder, "scores.parquet"))
