"""How many threads may be asked for: one check, one message, before anything is read."""

import inspect

import numpy as np
import pytest

import fastmetrics as fm
from fastmetrics.base.errors import OptionError
from fastmetrics.cli.commands import all_commands
from fastmetrics.vectors.search_files import build_index
from tests.support.program import program

MISSING = "there-is-no-such-file"
FUNCTIONS = {
    "token_f1": lambda **options: fm.token_f1([1], [], **options),
    "rouge": lambda **options: fm.rouge([1], [], **options),
    "score": lambda **options: fm.score({"answer": ["a"]}, "no such metric", **options),
    "score of files": lambda **options: fm.score(MISSING, output="out.parquet", **options),
    "rank": lambda **options: fm.rank(MISSING, MISSING, **options),
    "rank of runs": lambda **options: fm.rank({"run": {"q": {"a": 1}}}, {"q": {"a": 1}}, "mrr", **options),
    "geometry": lambda **options: fm.vectors.geometry(MISSING, **options),
    "project": lambda **options: fm.vectors.project(MISSING, **options),
    "nearest": lambda **options: fm.vectors.nearest(MISSING, **options),
    "Index.build": lambda **options: fm.Index.build(MISSING, **options),
    "Index.load": lambda **options: fm.Index.load(MISSING, **options),
    "Index.search": lambda **options: fm.Index.build(np.eye(3)).search(MISSING, **options),
    "build_index": lambda **options: build_index(MISSING, **options),
    "search": lambda **options: fm.search(fm.Index.build(np.eye(3)), MISSING, **options),
    "match_faq": lambda **options: fm.retrieval.match_faq([1], ["a"], **options),
    "match": lambda **options: fm.match(MISSING, MISSING, **options),
    "answer_all": lambda **options: fm.retrieval.StrictMatchBot({"question": ["a"], "answer": ["b"]}).answer_all(
        [1], **options
    ),
    "check_dataset": lambda **options: fm.logs.check_dataset(MISSING, **options),
    "chunk_utilization": lambda **options: fm.logs.chunk_utilization(MISSING, **options),
    "domain_analysis": lambda **options: fm.logs.domain_analysis(MISSING, **options),
}
"""Calls in which much is wrong: the number of threads is checked before anything is read."""


REFUSED = r"^threads=.*: expected a whole number from 1 to 1,024$"


def test_functions_refuse_the_same_thread_counts():
    for call in FUNCTIONS.values():
        with pytest.raises(OptionError, match=REFUSED):
            call(threads=0)


def test_threads_accept_integers_of_any_type():
    assert fm.token_f1(["a"], ["a"], threads=np.int64(1)).tolist() == [1.0]
    assert fm.rank({"q": {"a": 1}}, {"q": {"a": 1}}, "mrr", threads=np.int8(2)).mean == {"mrr": 1.0}


IN = {"rank": 2, "match": 2, "vectors search": 2, "evaluate-rag": 2, "compare": 2}


COMMANDS = [name for name, one in all_commands().items() if "threads" in inspect.signature(one).parameters]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_the_same_thread_counts(command):
    more = {
        "summarize": ["--intervals"],
        "runs trend": ["token_f1"],
        "report": ["-o", "out.html"],
        "fit": ["--label", "good"],
        "evaluate-rag": ["-o", "out", "--bot", "given-contexts", "--model", "m"],
    } | {
        name: ["-o", "out.parquet"] for name in ("score", "vectors index", "vectors search", "match", "vectors project")
    }
    done = program(*command.split(), *[MISSING] * IN.get(command, 1), *more.get(command, []), "--threads", "1025")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: --threads 1025: expected a whole number from 1 to 1,024\n"
