"""Names in the documents, and names in other packages."""

from __future__ import annotations

import math
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
import sacrebleu

import fastmetrics as fm
from fastmetrics.base.errors import UnknownNameError
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.source_names import instead, named, packages, source_names
from fastmetrics.models.prompts import read_rubric, rubric_path
from tests.support.goldens import refused, tables
from tests.support.optional_parts import NO_DOCUMENTS, needs
from tests.support.program import program

TABLES = tables("source_names")

METRICS = TABLES["metrics"]
"""For each document the names of its tables, labels and formulas, and the metric that each means."""

ELSEWHERE = TABLES["elsewhere"]
"""Names of figures that commands compute, and of settings."""


def test_names_of_every_document_mean_a_metric():
    for source, names in METRICS.items():
        for name, spec in names.items():
            for spelling in (name, f" {name} "):
                assert parse(spelling).spec == spec, name
            assert spec in {one.spec for one in named(name) if one.source == source}, name


def test_names_of_figures_and_settings_lead_to_their_command_or_option():
    for name, where in ELSEWHERE.items():
        refused(UnknownNameError, f"{where}", parse, name)
        shown = program("metrics", name)
        assert shown.code == 0
        assert where in " ".join(shown.out.split())


def test_each_entry_exists():
    commands = program("--help").out
    for one in source_names():
        if one.command:
            assert one.command.split()[0] in commands
        elif one.rubric:
            assert read_rubric(rubric_path(one.rubric, "en"))
        else:
            metric = parse(one.spec).metric
            assert metric.name in REGISTRY
            assert not one.option or one.option in metric.defaults, one


def test_a_name_explains_its_figure_beside_the_metric():
    head, meant = program("metrics", "avg_nn_distance").out.splitlines()[:2]
    assert head.startswith("embedding_geometry: corpus metric")
    assert meant == "'avg_nn_distance' in the RAG benchmark: embedding_geometry.avg_nn_distance"


SEVERAL = TABLES["several"]
"""Names of several figures: each is listed, and none is taken."""


@pytest.mark.parametrize("name", SEVERAL)
def test_a_name_of_several_lists_them_and_means_none(name):
    with pytest.raises(UnknownNameError) as error:
        parse(name)
    done = program("metrics", name)
    shown = " ".join(f"{done.out}{done.err}".split())
    assert all(where in text for where in SEVERAL[name] for text in (str(error.value), shown))


@pytest.mark.parametrize("document", METRICS)
def test_all_names_of_a_document_are_columns_of_one_run(document):
    names = [name for name in METRICS[document] if parse(name).metric.level == "row"]
    common = {"answer": ["It was built in 1889."], "contexts": [["It was built in 1889."]], "question": ["When?"]}
    scored = [name for name in names if parse(name).metric.fits(common)]
    if scored:
        columns = fm.score(common, scored).column_names
        words = {f"verdict_{one}" for one in ("word", "reason")}  # beside the number of a verdict
        assert [one for one in columns if one not in words] == list(dict.fromkeys(parse(name).name for name in scored))


def test_the_terms_of_the_hallucination_score():
    contexts = [["Acme announced the Widget phone on 5 January 2024. It costs $1,000."]] * 2
    answers = ["Acme released the Widget phone in 2023 for $900.", "Happy cats everywhere."]
    found = fm.score(
        {"answer": answers, "contexts": contexts}, ["A_total", "A_unsupported", "S_claims", "NgramOverlap", "P_drift"]
    )
    assert [found[name].to_pylist() for name in found.column_names[:3]] == [[3, 0], [2, 0], [2 / 3, 0]]
    assert found["ngram_overlap"].to_pylist() == [2 / 8, 0]
    assert found["drift"].to_pylist() == [0, 0.2]


@pytest.mark.parametrize("name", ["judge prompt", "judge_prompt"])
def test_no_metric_is_made_of_a_name(name):
    done = program("metrics", name)
    assert done.code == 2
    assert "no metric or built-in rubric" in done.err


DOCUMENTS = sorted(Path(os.environ.get("FASTMETRICS_SEEDS", "seeds")).glob("*.txt"))
"""The source documents, where they are at hand."""
_SYMBOLS = re.compile(
    r"final_[of]|(?:S|A|P|K)_(?:\{\w+\}|\w+)|[a-z]+Score|avg_\w+|\w+@\d+|ROUGE-\w(?:-F)?|"
    r"(?:total|std|min|max|density|spread|effective)_\w+|response_\w+|(?:[A-Z]\w+ ){1,2}(?:Score|Rate)"
)
_HEADINGS = re.compile(r"^#+ (.+)$|([A-Z][\w -]{2,60}?) (?:-{6,}|\^{6,}) ", re.MULTILINE)
_HEADS = re.compile(r"^\| *`?([^|`]+?)`? *\|", re.MULTILINE)
_CODE = re.compile(r"^function (\w+)|^const ([A-Z_]+)|/(\w+\.py)", re.MULTILINE)
_PROSE = re.compile(
    r"total_words|expectedScore|avg_pairwise|Metrics and Mathematical|Interpreting|Core Evaluation|.*Best Practices|"
    r".*Documentation|Overview|Metric Design|Core Principles|Scoring System|Detailed Metric|Purpose|Formula|Components|"
    r"Example Calc|.*Limitations|Language Dep|Context Ign|Subjectivity|Implementation|Performance Opt|Caching|"
    r"Automated|.*Test Cases|Future|Planned|Advanced|Multilingual|Research|Academic|Industry|[-: ]+$|\d$|Библиотека|"
    r"Уровень|Метрика$|Tier$|[\d.]+ (?:Введение|Цель|Классификация|Библиотеки|Какие|Декомпозиция|Теорет|Почему|"
    r"Метрики$|Формулы|Интерпр|Детальное|Принцип|Роль)|numpy|scikit|sqlalchemy|sentence-|openai|requests|rouge-score|"
    r"sacrebleu|pandas|plotly|umap-learn|Metric *$"
)
"""Headings and libraries that name no figure, setting, command or page."""


@pytest.mark.skipif(not DOCUMENTS, reason=NO_DOCUMENTS)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name[:3])
def test_the_headings_table_heads_code_names_and_symbols_of_a_document_are_found(document):
    text = document.read_text()
    asked = {name for kind in (_SYMBOLS, _HEADINGS, _HEADS, _CODE) for name in kind.findall(text)}
    asked = {next(filter(None, name)) if isinstance(name, tuple) else name for name in asked}
    lost = {
        name
        for name in asked
        if not (_PROSE.match(name) or named(name) or named(name, "metric") or named(name, "near"))
    }
    assert len(asked) > 5
    assert not lost


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("IDBasedContextRecall", "'IDBasedContextRecall' in Ragas: retrieval_recall; the same"),
        ("stringpresence", "'StringPresence' in Ragas: cover_match; whole words here"),
        ("AspectCritic", "'AspectCritic' in Ragas: fm.judge with a rubric of your own; another prompt"),
        ("mcnemar", "'mcnemar' in evaluate: fm.compare(..., tests=\"fisher,wilcoxon\"); random signs of flags are "
         "McNemar's exact test"),
    ],
)  # fmt: skip
def test_names_of_other_packages_say_what_is_here(name, said):
    assert instead(name) == said


def test_what_is_here_for_other_packages_exists():
    here = [code for row in packages() for text in row["here"] for code in re.findall("`([^`]+)`", text)]
    unknown = []
    for code in here:
        name = re.sub(r"[(=].*", "", code).removeprefix("fm.")
        found: Any = fm
        for part in name.split("."):
            found = getattr(found, part, None)
        known = found is not None or name in REGISTRY or named(name, "near")
        command = code.startswith(("fastmetrics ", "score "))
        if not (known or command or name in ("stemmer", "tokenizer", "version", "pairwise", "answer_faithfulness")):
            unknown.append(code)
    assert len(here) > 40
    assert unknown == []


def test_options_follow_a_name():
    assert parse("avg_rouge1_f(stemmer=False)").metric.name == "rouge1_f1"
    assert parse("AVG em").spec == "exact_match(tokenizer='plain')"
    assert parse("Avg F1(tokenizer='char')").spec == "token_f1(tokenizer='char')"


@pytest.mark.parametrize("name", ["density_scor", "edit_distance", "answer_rating"])
def test_other_words_are_no_misspelling(name):
    with pytest.raises(UnknownNameError) as error:
        parse(name)
    assert not {"diversity_score", "euclidean_distance", "overall_accuracy", "answer_rate"} & set(
        str(error.value).replace("'", " ").split()
    ), error.value


@pytest.mark.parametrize(
    "name",
    [
        *("context_entity_recall", "noise_sensitivity", "topic_adherence", "aspect_critic"),
        *("contextual_precision", "contextual_recall", "knowledge_retention", "toxicity"),
        *("bias", "g_eval", "task_completion", "summarization", "llm-rubric", "icontains", "starts-with", "perplexity"),
        *("qs_relevance", "comprehensiveness", "meteor", "mauve", "bleurt", "comet", "glue", "seqeval"),
        *("code_eval", "nist_mt", "charcut", "reason"),
    ],
)
def test_names_of_other_packages_suggest_nothing_that_is_only_spelled_alike(name):
    with pytest.raises(UnknownNameError) as error:
        parse(name)
    assert "did you mean" not in str(error.value)


def test_names_with_spaces_are_names():
    refused(UnknownNameError, "Sentiment_Analysis", parse, "Sentiment Analysis")
    assert parse("Semantic Similarity").spec == "semantic_similarity"
    assert parse("keyword recall").spec == "keyword_recall"
    assert parse("abstained(phrases=['x y (a|b) c'])").options["phrases"] == ("x y (a|b) c",)


ANSWERS = ["It opened in Paris.", "The running cats", "Rome\nin spring", "", "a b c d e f", "Über Straße 3.5 %"]
REFERENCES = ["Paris opened it", "the cat runs", "in Rome\nspring came", "x", "a b c d e g", "über 3.5 % straße"]


def rankings(*, ties: bool) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """A run of 30 queries with 20 documents each, and judgements."""
    chance = random.Random(4)
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for query in (f"q{number}" for number in range(30)):
        documents = [f"d{number}" for number in chance.sample(range(60), 20)]
        scores = [float(chance.randrange(6)) for _ in documents] if ties else chance.sample(range(1_000), 20)
        run[query] = dict(zip(documents, map(float, scores), strict=True))
        qrels[query] = {f"d{number}": chance.randrange(1, 4) for number in chance.sample(range(60), 9)}
    return run, qrels


def values(run: Any, qrels: Any, measures: str) -> dict[str, list[float]]:
    result = fm.rank(run, qrels, measures).per_query
    order = sorted(range(result.num_rows), key=lambda row: result[0][row].as_py())
    return {name: [result[name][row].as_py() for row in order] for name in result.column_names[1:]}


WITHOUT_NOTES = pytest.mark.filterwarnings("error::fastmetrics.ScoreWarning")


@WITHOUT_NOTES
def test_pytrec_eval():
    run, qrels = rankings(ties=True)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "recip_rank", "map"}).evaluate(run)
    ours = values(run, qrels, "ndcg@10,mrr,map")
    for column, name in zip(ours.values(), ("ndcg_cut_10", "recip_rank", "map"), strict=True):
        assert column == [theirs[query][name] for query in sorted(run)]


@WITHOUT_NOTES
@needs("ir_measures")
def test_ir_measures():
    import ir_measures

    run, qrels = rankings(ties=True)
    theirs = ir_measures.calc_aggregate([ir_measures.nDCG @ 10, ir_measures.RR], qrels, run)
    ours = values(run, qrels, "nDCG@10,RR")
    for column, value in zip(ours.values(), (theirs[ir_measures.nDCG @ 10], theirs[ir_measures.RR]), strict=True):
        assert sum(column) / len(column) == pytest.approx(value, rel=1e-14)


@WITHOUT_NOTES
@needs("ranx")
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning", "ignore::DeprecationWarning")
def test_ranx():
    import ranx

    run, qrels = rankings(ties=False)
    theirs = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["ndcg@10", "mrr"])
    ours = values(run, qrels, "ndcg@10,mrr")
    for column, name in zip(ours.values(), ("ndcg@10", "mrr"), strict=True):
        assert sum(column) / len(column) == pytest.approx(theirs[name], rel=1e-12)


TABLE = {"answer": ANSWERS, "reference": REFERENCES}


@WITHOUT_NOTES
def test_means_of_rouge():
    from rouge_score import rouge_scorer

    theirs = rouge_scorer.RougeScorer(["rougeL"])
    scores = [theirs.score(r, a)["rougeL"].fmeasure for a, r in zip(ANSWERS, REFERENCES, strict=True)]
    mean = fm.summarize(fm.score(TABLE, "rougeL_f1"))["rougeL_f1"].mean
    assert mean == pytest.approx(sum(scores) / len(scores), rel=1e-15)
    cyrillic = ["Привет мир"], ["Привет мир"]
    assert theirs.score(*cyrillic[0], *cyrillic[1])["rougeL"].fmeasure == 0
    with pytest.warns(fm.ScoreWarning, match="in a script other than Latin, whose words this tokenizer drops"):
        assert fm.rouge(*cyrillic, types=["rougeL"])["rougeL_f1"].tolist() == [0.0]
    assert fm.rouge(*cyrillic, types=["rougeL"], tokenizer="unicode")["rougeL_f1"].tolist() == [1.0]


@WITHOUT_NOTES
def test_several_references_are_a_list_in_each_row():
    others = REFERENCES[::-1]
    theirs = sacrebleu.corpus_bleu(ANSWERS, [REFERENCES, others]).score
    assert fm.corpus_bleu(ANSWERS, list(map(list, zip(REFERENCES, others, strict=True)))).score == theirs


@WITHOUT_NOTES
def test_squad_without_answers():
    rows = {"answer": [None, "", "Rome"], "reference": ["Rome"] * 3}
    summary = fm.summarize(fm.score(rows, "squad_em"))["squad_em"]
    assert (summary.n, summary.n_missing, summary.mean) == (2, 1, 0.5)
    unanswerable: list[list[str]] = [[], []]
    for metric in (fm.squad_em, fm.squad_f1):
        assert metric(["", "Rome"], unanswerable, version=2).tolist() == [1.0, 0.0]


@WITHOUT_NOTES
def test_queries_without_relevant_documents():
    run, qrels = {"a": {"d": 1.0}, "b": {"d": 1.0}}, {"a": {"d": 0}, "b": {"d": 1}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)
    assert [theirs[query]["ndcg_cut_10"] for query in "ab"] == [0.0, 1.0]
    undefined, score = values(run, qrels, "ndcg@10")["ndcg@10"]
    assert math.isnan(undefined)
    assert score == 1.0
    zero = fm.rank(run, qrels, "ndcg@10", no_relevant="zero").per_query
    assert sorted(zero["ndcg@10"].to_pylist()) == [0.0, 1.0]


@WITHOUT_NOTES
def test_other_calls_of_the_page():
    assert fm.exact_match([" A  b "], ["a b"]).tolist() == [1.0]
    assert fm.retrieval_precision([["a", "b", "b"]], [["a", "c"]], k=3).tolist() == [1 / 3]
    assert fm.keyword_recall(["Rome in May"], ["Rome"]).tolist() == [1.0]
    scores = fm.score(TABLE, "rouge1_f1")
    assert not fm.gate(scores, ["rouge1_f1 >= 0.75"], min_n=1).passed
    fm.scoring.assert_scores(scores, "rouge1_f1 >= 0.1", min_n=1)
    for schema, names in (
        ("ragas", ("response", "reference")),
        ("deepeval", ("actual_output", "expected_output")),
        ("hf", ("predictions", "references")),
    ):
        table = dict(zip(names, (["Rome"], ["Rome"]), strict=True))
        assert fm.score(table, "squad_em", schema=schema)["squad_em"].to_pylist() == [1.0]
