"""The recipes of examples/*/README.md run from an empty folder as printed, and end in the tables of their documents."""

from __future__ import annotations

import io
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from tests.support.program import program

FOLDER = Path(__file__).parents[2] / "examples"
_SAYS = """fastmetrics() { printf '%s\\0' fastmetrics "$@"; echo; }; python() { printf '%s\\0' python "$@"; echo; }"""


def run(recipe: str) -> dict[str, str]:
    """What the commands of a page print, in their order, by their names; bash expands its lines."""
    [block] = re.findall(r"^```sh\n(.*?)^```$", (FOLDER / recipe / "README.md").read_text("utf-8"), re.M | re.S)
    lines = re.sub(r"^RECIPE=.*$", f"RECIPE={FOLDER / recipe}", block, flags=re.M)
    said = subprocess.run(["bash", "-ec", f"{_SAYS}\n{lines}"], capture_output=True, text=True, check=True).stdout
    printed: dict[str, str] = {}
    for name, *words in (line.split("\0")[:-1] for line in said.splitlines()):
        if name == "fastmetrics":
            done = program(*words)
            assert done.code == 0, (words, done.err)
            printed[words[0]] = done.out
        else:
            with mock.patch.object(sys, "argv", words), redirect_stdout(io.StringIO()) as out:
                runpy.run_path(words[0], run_name="__main__")
            printed[name] = out.getvalue()
    return printed


def cells(text: str) -> list[list[str]]:
    """The cells of a printed table, which lie at least two spaces apart."""
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_answers_are_checked() -> None:
    heads, *rows, _, counts = cells(run("answer_checks")["python"])
    scores = ["S_cosine", "S_jaccard", "S_rel", "S_comp"]
    scores += ["A_total", "A_unsupported", "S_claims", "NgramOverlap", "P_drift", "S_hall"]
    assert heads == [*scores, "Verdict"]
    found = {id: dict(zip([*heads, "why"], row, strict=False)) for id, *row in rows}
    assert [found["a1"][name] for name in scores[4:]] == ["3.00", "2.00", "0.67", "0.25", "0.00", "0.67"]
    assert {id: (row["Verdict"], row.get("why")) for id, row in found.items()} == {
        "a1": ("FAIL", "hallucination 0.67 > 0.5: 2023; 900"),
        "a2": ("PASS", None),
        "a3": ("WARN", "completeness 0.25 < 0.6"),
        "a4": ("FAIL", "relevance 0 < 0.1"),
        "a5": ("PASS", None),
        "a6": ("FAIL", "hallucination 1 > 0.5: Trucks pay a toll of 5 euros on the bridge; 5 euros"),
    }
    assert counts == ["FAIL 3, WARN 1, PASS 2"]
    assert "verdict.at_50" in Path("report.html").read_text("utf-8")


@pytest.mark.full
def test_bots_are_compared() -> None:
    table, _, disagreeing = run("compare_bots")["python"].partition("\n\n")
    heads, *rows = cells(table)
    assert heads == ["strict semantic-match bot", "full-context bot", "full-context bot, temperature 1"]
    assert [row for row in rows if row[1] != "Latency"] == [
        ["Correctness", "Exact match", "0.50", "0.00", "0.00"],
        ["Correctness", "Keyword recall", "0.79", "0.91", "0.91"],
        ["Communication", "Answer length", "55.83", "76.00", "91.00"],
        ["Communication", "Politeness", "0.00", "0.00", "0.50"],
        ["Semantic review", "Relevance", "4.17", "4.50", "4.50"],
        ["Semantic review", "Faithfulness", "4.17", "4.50", "4.50"],
        ["Semantic review", "Safety", "5.00", "5.00", "5.00"],
        ["Semantic review", "Robustness", "4.17", "4.50", "4.50"],
    ]
    assert [row[:2] for row in rows][4] == ["Operations", "Latency"]
    assert "\nq1  full-context bot: Passwords:" in disagreeing
    assert "\nq6  strict" not in disagreeing


@pytest.mark.full
def test_answers_are_grounded() -> None:
    tables = [cells(part) for part in run("grounded_answers")["summarize"].split("\n\n")]
    assert tables[0][0] == ["run", "N", "Faithfulness", "Overlap", "F1", "Tokens", "Latency", "Abstain Rate"]
    assert [[*row[:6], row[7]] for row in tables[0][1:]] == [
        ["gate 0.0", "8", "1", "1", "0.4663", "64.50", "0"],
        ["gate 0.4", "8", "1", "1", "0.4663", "64.50", "0"],
        ["gate 0.7", "8", "0.5250", "0.3750", "0.5146", "31.12", "0.6250"],
        ["gate 0.9", "8", "0.4000", "0.2500", "0.4184", "24.75", "0.7500"],
    ]
    assert tables[1][0] == ["appendix", "N", "Avg EM", "IDK+Cit Count"]
    assert [row[2:] for row in tables[1][1:]] == [["0", "0"], ["0", "0"], ["0.2500", "0"], ["0.2500", "0"]]
    assert ["gate 0.7", "Faithfulness, F1", "0.2500", "0.1250", "0.2500", "0.3750", "8"] in tables[2]
    assert "Abstain Rate" in Path("gate.svg").read_text("utf-8")


@pytest.mark.full
def test_tiers_are_on_one_page() -> None:
    run("rag_tiers")
    page = re.sub(r"<[^>]+>", " ", Path("report.html").read_text("utf-8"))
    shown = re.sub(r"\s+", " ", page)
    for tier in ("Tier 0: ", "Tier 1: ", "Tier 3: ", "Tier Judge: ", "Tier Judge Pipeline: ", "Tier UX: "):
        assert tier in shown
    for figure in (
        *("total_samples 8", "recall@3 1", "mrr 0,9375", "retrieval_consistency 1", "avg_e2e_score хорошо 1"),
        *("response_exact_match_rate 1", "consistency_score 1", "error_rate 0", "accuracy 1 judge_show_answer"),
        *("cache_hit_rate 0,3000", "context_preservation 0,4855", "utilization_rate 1", "avg_chunks_per_topic 3,500"),
    ):
        assert figure in shown, figure
    assert "latency_ms.p50" in shown
    assert "<svg" in Path("chunks.svg").read_text("utf-8")


@pytest.mark.full
def test_temperatures_are_compared() -> None:
    printed = run("writing_quality")
    assert printed["compare"].startswith("temperature 1 is worse than temperature 0 (overall_quality 0.8155 → 0.6356)")
    assert cells(printed["python"]) == [
        ["Metric", "Weight", "temperature 0", "temperature 1"],
        ["Coherence", "0.25", "0.71", "0.57"],
        ["Completeness", "0.25", "0.96", "0.96"],
        ["Length", "0.20", "0.76", "0.22"],
        ["Structure", "0.15", "0.89", "0.67"],
        ["Vocabulary", "0.15", "0.75", "0.71"],
        ["Weighted Average", "1.00", "0.82", "0.64"],
    ]
    assert "temperature 1" in Path("report.html").read_text("utf-8")
