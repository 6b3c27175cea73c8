"""Connecting to a Ray cluster, or starting a local one that is stopped after use."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastmetrics.base.errors import Argument, MissingExtraError, OptionError, WorkerError
from fastmetrics.base.options import Optional, Whole, argument
from fastmetrics.base.threads import cores

_KNOCK_SECONDS = 10.0
_SHARED_BYTES = 256 << 20
_SHARED_BYTES_A_WORKER = 128 << 20
# Usage reports are off unless the user enables them; Ray sends and logs them even when the process exits.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_USAGE_DISABLED": "1", "RAY_BACKEND_LOG_LEVEL": "fatal"}


def ray_data() -> Any:
    """The package ``ray`` with Ray Data; raises ``MissingExtraError`` if it is not installed."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError.of("ray", "ray") from error
    return ray


class Cluster:
    """``workers`` processes of a cluster: by default one per core."""

    def __init__(self, workers: int | None, address: str | None) -> None:
        self._workers = argument("workers", workers, Optional(Whole(1, 100_000)))
        self._address = address
        self._started = False

    def start(self) -> int:
        """Connect, or start a local cluster if there is none; returns the number of workers."""
        ray = ray_data()
        if not ray.is_initialized():
            self._connect(ray, self._address or os.environ.get("RAY_ADDRESS"))
        elif self._address is not None and not self._started:
            raise OptionError(
                Argument("address", self._address), ": this process is already connected to another Ray cluster"
            )
        return self._workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def _connect(self, ray: Any, address: str | None) -> None:
        if address is not None:
            _knock(address)
        how: dict[str, Any] = {"address": address, "logging_level": logging.ERROR, "log_to_driver": False}
        if address is None:
            workers = self._workers or cores()
            shared = _SHARED_BYTES + workers * _SHARED_BYTES_A_WORKER
            how |= {"address": "local", "num_cpus": workers, "object_store_memory": shared, "include_dashboard": False}
        try:
            for name, value in _QUIET.items():
                os.environ.setdefault(name, value)
            with _hushed():
                ray.init(**how)
        except (ConnectionError, ValueError, RuntimeError) as error:
            if address is None:
                raise WorkerError(f"no Ray cluster could be started on this machine: {error}") from error
            raise OptionError(Argument("address", address), f": no Ray cluster answers: {error}") from error
        self._started = True

    def close(self) -> None:
        """Stop what was started here; other clusters keep running."""
        if self._started:
            ray_data().shutdown()
            self._started = False


def _knock(address: str) -> None:
    """Raise ``OptionError`` if nothing listens at ``host:port``; Ray itself would wait many minutes."""
    scheme, _, place = address.rpartition("://")
    if scheme not in ("", "ray") or place in ("auto", "local"):
        return
    host, _, port = place.partition("/")[0].rpartition(":")
    if not (host and port.isdigit()):
        raise OptionError(Argument("address", address), ": expected host:port, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise OptionError(Argument("address", address), f": no Ray cluster answers: {error}") from error


@contextmanager
def quietly() -> Iterator[None]:
    """Ray Data with console output limited to errors."""
    handlers = [
        handler for handler in logging.getLogger("ray.data").handlers if not isinstance(handler, logging.FileHandler)
    ]
    before = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for handler, level in zip(handlers, before, strict=True):
            handler.setLevel(level)


@contextmanager
def _hushed() -> Iterator[None]:
    """Close standard error for Ray's libraries, which write to it directly that they log nothing."""
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
