"""Every name of the source documents is found: the names as their tables, labels and formulas spell them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import fastmetrics as fm
from fastmetrics.base.errors import UnknownNameError
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.source_names import named, source_names
from fastmetrics.models.prompts import read_rubric, rubric_path
from tests.support.goldens import tables
from tests.support.optional_parts import NO_DOCUMENTS
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
        with pytest.raises(UnknownNameError, match=f"is no metric; .*{where}"):
            parse(name)
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
        *("context_entity_recall", "noise_sensitivity", "topic_adherence", "aspect_critic", "context_relevance"),
        *("contextual_precision", "contextual_recall", "contextual_relevancy", "knowledge_retention", "toxicity"),
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
    with pytest.raises(UnknownNameError, match="unknown metric 'Sentiment_Analysis'"):
        parse("Sentiment Analysis")
    assert parse("Semantic Similarity").spec == "semantic_similarity"
    assert parse("keyword recall").spec == "keyword_recall"
    assert parse("abstained(phrases=['x y (a|b) c'])").options["phrases"] == ("x y (a|b) c",)
