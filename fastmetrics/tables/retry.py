"""Reading that goes on after a fault that may pass, such as a network's, where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from fastmetrics.errors import FileFormatError
from fastmetrics.tables.chunks import Chunk
from fastmetrics.tables.input_files import reading
from fastmetrics.tables.remote import files as remote
from fastmetrics.tables.remote.stores import passing


def patient(read: Callable[[int], Iterator[Chunk]], start: int, shown: str) -> Iterator[Chunk]:
    """The chunks that ``read`` gives from row ``start`` on, read again from behind the last if the system fails.

    Raises ``FileFormatError`` at once if the fault will not pass, else after three failures without a row between.
    """
    failures = 0
    while True:
        try:
            with reading(shown):
                for chunk in read(start):
                    yield chunk
                    start, failures = max(start, chunk.stop), 0
            return
        except FileFormatError as error:
            failures += 1
            if failures == remote.TRIES or not passing(error.__cause__):
                raise
        time.sleep(remote.PAUSE * 2 ** (failures - 1))
