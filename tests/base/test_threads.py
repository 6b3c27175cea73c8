"""Threads of a group of workers end in every case, also where a signal arrives while one of them starts."""

import threading

import pytest

from fastmetrics.base.threads import Workers


@pytest.mark.slow
@pytest.mark.parametrize("starts", [True, False])
def test_interrupt_while_a_thread_starts(starts, monkeypatch):
    start = threading.Thread.start

    def interrupted(thread):
        if starts:
            start(thread)
        raise KeyboardInterrupt

    workers, results = Workers(1, "test"), []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workers.submit(results.append, 1)
    workers.dismiss()  # raised: cannot join thread before it is started
    assert results == [1] * starts
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test_")]


def test_every_task_is_done_before_a_crew_is_dismissed():
    workers = Workers(2, "test")
    futures = [workers.submit(pow, n, 2) for n in range(50)]
    workers.dismiss()
    assert [future.result() for future in futures] == [n * n for n in range(50)]
