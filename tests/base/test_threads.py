"""Threads of a crew end in every case, also where a signal arrives while one of them starts."""

from __future__ import annotations

import threading

import pytest

from fastmetrics.base.threads import Crew


@pytest.mark.slow
@pytest.mark.parametrize("starts", [True, False])
def test_interrupt_while_a_thread_starts(starts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if starts:
            start(thread)
        raise KeyboardInterrupt

    crew, results = Crew(1, "test"), []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            crew.submit(results.append, 1)
    crew.dismiss()  # raised: cannot join thread before it is started
    assert results == [1] * starts
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test_")]


def test_every_task_is_done_before_a_crew_is_dismissed() -> None:
    crew = Crew(2, "test")
    futures = [crew.submit(pow, n, 2) for n in range(50)]
    crew.dismiss()
    assert [future.result() for future in futures] == [n * n for n in range(50)]
