"""Results by identity: an object that came to an id later never gets what was found for another."""

import gc
import weakref

from fastmetrics.base.arrays import Memo


class Thing:
    """Something that can be watched."""


def test_memo_keeps_objects_alive():
    memo, watched = Memo(), []
    for number in range(100):
        thing = Thing()
        watched.append(weakref.ref(thing))
        assert memo.remember("number", lambda number=number: number, thing) == number
        del thing
    gc.collect()
    assert all(ref() is not None for ref in watched)
    assert [memo.remember("number", lambda: None, ref()) for ref in watched] == list(range(100))
    del memo
    gc.collect()
    assert all(ref() is None for ref in watched)


def test_memo_key_includes_name_and_all_objects():
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
        assert memo.remember(what, lambda number=number: number, *beside) == number
    assert [memo.remember(what, lambda: None, *beside) for what, beside in asked] == list(range(len(asked)))


def test_none_is_cached():
    memo, calls = Memo(), []
    for _ in range(2):
        assert memo.remember("none", lambda: calls.append(1)) is None
    assert calls == [1]
