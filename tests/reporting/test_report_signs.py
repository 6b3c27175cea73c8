"""Intervals, verdicts and p agree in what they say, and each sign has its key below its table."""

from __future__ import annotations

import html
import math
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import fastmetrics as fm
from fastmetrics.reporting.compared_systems import compared
from fastmetrics.reporting.labels import labels
from fastmetrics.results.opening_scores import open_scores

ROWS = 120
NAMES = ["squad_f1", "rouge1_f1", "rouge2_f1", "rougeL_f1", "jaccard", "keyword_recall", "token_recall",
         "token_precision", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10"]  # fmt: skip
OPTIONS = SimpleNamespace(resamples=2_000, by=["language"], main=None, allow_differences=False, seed=0, threads=1)


def run(seed: int) -> pa.Table:
    """Differences of all sizes, and a metric that differs in few rows."""
    base, own = np.random.default_rng(0), np.random.default_rng(seed)
    columns = {name: base.random(ROWS) / 4 + own.random(ROWS) / 2 + 0.012 * at * seed for at, name in enumerate(NAMES)}
    rare = np.where(np.arange(ROWS) < 9 * seed, 0.9, 0.5)
    return pa.table(
        {"id": list(range(ROWS)), "language": ["en", "ru", "de"] * (ROWS // 3), **columns, "token_f1": rare}
    )


OLD, NEW = run(0), run(1)


@pytest.fixture(scope="module")
def lines():
    found = compared([open_scores(OLD, name="old"), open_scores(NEW, name="new")], OPTIONS)
    return [one for one in found.found if one.n_paired], found


def test_an_interval_without_0_has_a_verdict_or_says_that_it_stands_alone(lines):
    """The interval is of one difference by itself; the verdict is corrected for all of them."""
    comparison = fm.compare({"old": OLD, "new": NEW}, by=[["language"]], resamples=2_000)
    pairs = {(pair.metric, None if pair.segment is None else str(pair.segment)): pair for pair in comparison}
    kinds = set()
    for line in lines[0]:
        pair = pairs[line.metric, line.segment]
        leaves_out_0 = pair.low > 0 or pair.high < 0
        alone, verdict = lines[1].alone(line), comparison.verdict(pair)
        assert bool(alone) == (leaves_out_0 and verdict == "–")
        assert alone in ("", "higher", "lower", "better", "worse")
        assert lines[1].by_p(line) == (verdict != "–" and not leaves_out_0 and not math.isnan(pair.low))
        kinds.add((leaves_out_0, verdict == "–"))
    assert kinds >= {(True, True), (True, False), (False, True)}


@pytest.mark.parametrize("language", ["en", "ru"])
def test_each_sign_has_its_key_below_its_table(tmp_path, language):
    old, new = OLD.slice(0, 9), NEW.slice(0, 9)
    fm.report({"new": new}, tmp_path / "r.html", baseline=old, resamples=2_000, language=language)
    page = html.unescape((tmp_path / "r.html").read_text(encoding="utf-8")).replace('<li lang="en">', "<li>")
    words = labels(language)
    parts = re.findall(r'<table class="(?:forest|differences)".*?(?=<h[23]|<section)', page, re.S)
    bodies, tables = zip(*(part.split("</table>", 1) for part in parts), strict=True)
    signs = {"†": "<li>†"}
    for name in ("alone", "by_p"):
        word = words[name].format(word="").strip()
        signs[f"<small>{word}"] = f"<li>{words[f'{name}_key'][0]}{word}"
    seen = set()
    for body, keys in zip(bodies, tables, strict=True):
        for sign, key in signs.items():
            assert (sign in body) == (key in keys), sign
            seen |= {sign} if sign in body else set()
    assert (len(bodies), seen) == (2, set(signs))
    assert words["interval_of"].format(percent="95") in bodies[0]


def test_the_tables_of_two_systems_name_them(tmp_path):
    fm.report({"new": NEW}, tmp_path / "r.html", baseline={"id": OLD["id"], "token_f1": OLD["token_f1"]})
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    heads = re.findall(r'<th scope="col" class="mean-of" title="(.*?)">', page)
    assert heads[:2] == ["run 1", "new"]
