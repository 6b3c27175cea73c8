"""Names as users type them: synonyms work wherever a metric is asked for, others lead to the right one."""

import random
import string

import pytest

import fastmetrics as fm
from fastmetrics.base import specs
from fastmetrics.base.errors import FEW, fold, nearest, suggestion
from fastmetrics.metrics import suites as families
from fastmetrics.metrics.metric import REGISTRY, SPELLINGS
from fastmetrics.metrics.score_names import parse
from fastmetrics.plans.plan import ScoreRequest, plan
from fastmetrics.retrieval.measures import FAMILIES, measure
from tests.support.goldens import tables
from tests.support.program import jsonl, program

TABLES = tables("metric_names")

SAME = TABLES["same"]
RANKED = {"retrieved_ids": [["a", "b"]], "relevant_ids": [["b"]]}
TEXTS = {"answer": ["a b"], "reference": ["a"]}


@pytest.mark.parametrize(("typed", "name", "k"), SAME)
def test_synonym_resolves_to_the_metric(typed, name, k):
    score = parse(typed)
    assert (score.name, score.metric.name) == (name + ("" if k is None else f"@{k}"), name)
    assert score.options == REGISTRY[name].defaults | ({} if k is None else {"k": k})


def test_every_spelling_of_every_name_resolves():
    spellings = [(name, one) for name, metric in REGISTRY.items() for one in (name, *metric.others)]
    for name, spelling in spellings:
        for written in (spelling, spelling.upper(), spelling.replace("_", "-"), spelling.replace("_", "")):
            assert parse(written.replace("@k", "@5").replace("@K", "@5")).metric.name == name


def test_spellings_are_unique_and_distinct_from_cues():
    owners = {}
    for spelling, name in SPELLINGS.items():
        assert owners.setdefault(fold(spelling), name) == name, spelling
    cues = {fold(cue) for metric in REGISTRY.values() for cue in metric.cues}
    assert not cues & set(owners)


def test_at_most_three_names_are_suggested(full):
    chance = random.Random(5)
    for name in sorted(REGISTRY)[:: 1 if full else 5]:
        letters = list(name)
        letters[chance.randrange(len(letters))] = chance.choice(string.ascii_lowercase)
        assert len(nearest("".join(letters), REGISTRY, (), SPELLINGS)) <= 3
        assert nearest(name, REGISTRY, (), SPELLINGS)[0] == name


@pytest.mark.parametrize("typed", ["mrr", "MRR@10", "P@5", "recall_at_5", "hit@5", "nDCG@10", "map", "f1@5"])
def test_score_and_rank_accept_the_same_names(tmp_path, typed):
    scores = fm.score(RANKED, metrics=[typed])
    name = parse(typed).name
    assert scores.column_names == [name]
    found = fm.rank({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, typed)
    assert found.mean[typed] == scores[name][0].as_py()
    table = jsonl(tmp_path / "t.jsonl", {name: column[0] for name, column in RANKED.items()})
    done = program("score", table, "-o", tmp_path / "o.parquet", "-m", typed)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].split()[0] == name
    assert program("summarize", tmp_path / "o.parquet").out.strip() in done.out
    assert program("metrics", typed).out.split(":")[0] == parse(typed).metric.name


def metric_names(metric):
    return [one.replace("@k", "@5") for one in (metric.name, *metric.others)]


def test_rank_accepts_every_name_of_retrieval_metrics():
    names = {fold(name): family.names[0] for family in FAMILIES for name in family.names}
    for metric in families.suite("retrieval"):
        if metric.name != "repeated_ids" and metric.level == "row":
            assert {measure(one).family.names[0] for one in metric_names(metric)} == {names[fold(metric.name)]}


def test_f1_with_a_cut_off_can_only_be_that_of_retrieval():
    assert plan([*RANKED, *TEXTS], ScoreRequest("f1@5")).scores[0].options["k"] == 5
    assert "retrieval_f1" in plan([*RANKED, *TEXTS], ScoreRequest(suites="retrieval")).names


@pytest.mark.parametrize("typed", ["mrr", "recall_at_k", "structure"])
def test_spellings_are_package_attributes(typed):
    assert getattr(fm, typed) is getattr(fm, SPELLINGS[typed])
    assert typed not in fm.__all__


def test_options_with_backslashes_give_no_warning():
    assert parse(r"idk_citations(pattern='\[\d+\]')").options["pattern"] == r"\[\d+\]"


@pytest.mark.parametrize(
    ("spec", "name", "at", "options"),
    [
        ("AP(rel=2)@100", "AP", "100", {"rel": 2}),
        ("ndcg@10(gain='linear')", "ndcg", "10", {"gain": "linear"}),
        ("iprec_at_recall_0.20", "iprec_at_recall", "0.20", {}),
        ("11pt_avg", "11pt_avg", "", {}),
    ],
)
def test_specs_are_parsed_into_name_and_options(spec, name, at, options):
    known = {"ap", "ndcg", "iprec_at_recall", "11pt_avg"}
    read = specs.parse_spec(spec, lambda one: one.lower() in known)
    assert (read.name, read.at, read.options) == (name, at, options)


@pytest.mark.parametrize("count", [0, 1, FEW - 1, FEW, FEW + 1, 3 * FEW])
def test_suggestion_lists_first_names_and_count_of_others(count):
    names = [f"n{place:03}" for place in range(count)]
    shown = ", ".join(names[:FEW]) or "none"
    assert suggestion("x", reversed(names)) == f"known: {shown}" + f" and {count - FEW} more" * (count > FEW)


def test_the_metrics_are_a_table_in_python_and_the_list_of_the_command(tmp_path):
    rows = fm.metrics.list_metrics().to_pylist()
    assert [row["name"] for row in rows] == list(REGISTRY)
    for row in rows:
        metric = REGISTRY[row["name"]]
        assert (row["level"], row["better"], (row["low"], row["high"])) == (metric.level, metric.better, metric.bounds)
        assert set(metric.required) <= set(row["columns"].split(", "))
    families = list(dict.fromkeys(row["family"] for row in rows))
    listed = [line.partition(":  ") for line in program("metrics").out.splitlines()]
    assert [family for family, _, _ in listed] == families
    assert [name for _, _, names in listed for name in names.split(", ")] == [row["name"] for row in rows]


def test_a_metric_without_a_source_is_explained_without_one(tmp_path):
    text = "import fastmetrics as fm\n\n\n@fm.metric(bounds=(0, 1), better='higher')\n"
    text += "def unsourced(answer: str) -> float:\n    return 1.0\n"
    (tmp_path / "own.py").write_text(text)
    done = program("metrics", "unsourced", "--plugin", tmp_path / "own.py")
    REGISTRY.pop("unsourced", None)
    SPELLINGS.pop("unsourced", None)
    assert done.out.splitlines()[:2] == ["unsourced: row metric, 0 to 1", "higher is better"]
