"""Kill a run at random moments, resume it, and compare with one that was never killed.

python scripts/kill_test.py [KILLS] [ROWS]
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RUN = """
import sys
import pyarrow as pa, pyarrow.compute as pc
from fastmetrics.engines.local import Job, run
from fastmetrics.tables import open_source
def score(batch):
    length = pc.binary_length(batch["answer"]).cast(pa.float64())
    return pa.record_batch({"id": batch["id"], **{f"m{n}": pc.divide(length, n + 1.0) for n in range(14)}})
job = Job(score, {"id": "id", "answer": "text", "reference": "texts"}, {"version": "1"})
result = run(open_source(sys.argv[1]), job, sys.argv[2], threads=2, resume=True)
print(result.resumed_rows)
"""


def main(kills: int, rows: int) -> int:
    """Run, kill and resume ``kills`` times; 0 if every output is the same."""
    rng = random.Random(0)
    words = np.array([f"w{n}" for n in range(5000)])
    with tempfile.TemporaryDirectory() as folder:
        table, output, whole = (Path(folder, name) for name in ("in.parquet", "o.parquet", "whole.parquet"))
        picks = np.random.default_rng(0).integers(0, len(words), (10_000, 60))
        texts = pa.array([" ".join(row) for row in words[picks]]).take(pa.array(np.arange(rows) % 10_000))
        pq.write_table(pa.table({"id": range(rows), "answer": texts, "reference": texts}), table)
        command = [sys.executable, "-c", RUN, str(table)]
        for _ in range(2):
            whole.unlink(missing_ok=True)
            began = time.perf_counter()
            subprocess.run([*command, str(whole)], check=True, stdout=subprocess.DEVNULL)
            usual = time.perf_counter() - began
        killed = 0
        while killed < kills:
            process = subprocess.Popen([*command, str(output)], stdout=subprocess.DEVNULL)
            time.sleep(rng.random() * usual)
            process.kill()
            process.wait()
            if output.exists() and not output.with_name("o.parquet.partial").exists():
                print("done before the kill")
            else:
                killed += 1
                done = subprocess.run([*command, str(output)], check=True, capture_output=True, text=True)
                print(f"{killed}: resumed {done.stdout.strip()} rows")
            if output.read_bytes() != whole.read_bytes() or len(os.listdir(folder)) != 3:
                print("the output differs from that of a run never killed")
                return 1
            output.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, [*sys.argv[1:], *["20", "1000000"][len(sys.argv) - 1 :]])))
