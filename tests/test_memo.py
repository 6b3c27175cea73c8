"""Results by identity: an object that came to an id later never gets what was found for another."""

import gc
import weakref

from fastmetrics.core.memo import Memo


class Thing:
    """Something that can be watched."""


def test_objects_live_as_long_as_what_was_found_of_them():
    memo, watched = Memo(), []
    for number in range(100):
        thing = Thing()
        watched.append(weakref.ref(thing))
        assert memo.of("number", (thing,), lambda number=number: number) == number
        del thing
    gc.collect()
    assert all(ref() is not None for ref in watched)
    assert [memo.of("number", (ref(),), lambda: None) for ref in watched] == list(range(100))
    del memo
    gc.collect()
    assert all(ref() is None for ref in watched)


def test_results_are_told_apart_by_what_was_asked_and_by_all_objects():
    memo, one, two = Memo(), Thing(), Thing()
    asked = [
        ("a", ()),
        ("b", ()),
        ("a", (one,)),
        ("a", (two,)),
        ("a", (one, two)),
        ("a", (two, one)),
        (("a", 1), (one,)),
    ]
    for number, (what, beside) in enumerate(asked):
        assert not memo.holds(what, beside)
        assert memo.of(what, beside, lambda number=number: number) == number
    assert [memo.of(what, beside, lambda: None) for what, beside in asked] == list(range(len(asked)))


def test_nothing_is_a_result_too():
    memo, calls = Memo(), []
    for _ in range(2):
        assert memo.of("none", (), lambda: calls.append(1)) is None
    assert calls == [1]
