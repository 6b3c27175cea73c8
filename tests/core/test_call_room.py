"""Nested calls with room for their frames."""

import resource
import sys

import pytest

from fastmetrics.core.process.call_room import with_room


def faults(function, *arguments):
    """The pages that the system gives to this process during a call."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    function(*arguments)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def calls_at_each_depth(depth):
    """Forty calls of a function at each of so many depths: at some of them a chunk of frames ends."""
    for _ in range(40):
        abs_of(depth)
    if depth:
        calls_at_each_depth(depth - 1)


def abs_of(number):
    return abs(number)


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="the frames of CPython")
def test_calls_at_the_end_of_a_chunk_of_frames_ask_for_no_memory():
    depth = 800
    least = [
        min(faults(call, *arguments) for _ in range(3))
        for call, *arguments in ((calls_at_each_depth, depth), (with_room, calls_at_each_depth, depth))
    ]
    assert least[1] < least[0] // 2


def test_arguments_results_and_errors_pass_through():
    assert with_room(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        with_room(divmod, 7, 0)
