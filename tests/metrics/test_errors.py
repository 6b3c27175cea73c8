"""What the metrics refuse: names, options, columns, files of metrics and of fitted scores."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import fastmetrics as fm
from fastmetrics.base.errors import (
    ColumnError,
    FileFormatError,
    InputError,
    OptionError,
    PluginError,
    UnknownNameError,
)
from fastmetrics.metrics.grounding import grounding_evidence
from fastmetrics.metrics.repeated_questions import exact_match_rate
from tests.support.fitted_models import CUTS, written
from tests.support.goldens import errors_of
from tests.support.program import jsonl, program

RUN, JUDGED = {"q": {"a": 1}}, {"q": {"a": 1}}
ROWS: dict[str, Any] = {
    **{"question": ["q"], "answer": ["a"], "reference": ["a"], "contexts": [["b"]]},
    **{"retrieved_ids": [["a"]], "relevant_ids": [["a"]], "confidence": [0.5], "latency_ms": [1.0]},
}
NAMES_MEANT: list[tuple[Any, ...]] = [
    ("f1", "token_f1", "squad_f1", "retrieval_f1"),
    ("recall", "token_recall", "retrieval_recall", "bert_score_recall"),
    ("precision", "token_precision", "retrieval_precision", "average_precision"),
    *[("rouge1", "rouge1_f1"), ("rouge-2", "rouge2_f1"), ("rougeL", "rougeL_f1"), ("rougeLsum", "rougeLsum_f1")],
    ("rouge", "rouge1_f1", "rouge2_f1", "rougeL_f1"),
    *[("bert_score", "bert_score_f1"), ("BERTScore", "bert_score_f1"), ("token_fl", "token_f1")],
    *[("jacard", "jaccard"), ("rouge1fl", "rouge1_f1"), ("relevance", "--rubrics relevance", "answer_relevance")],
    ("answer_correctness", "--rubrics correctness"),
    ("Answer-Relevancy", "--rubrics answer_relevance"),
    ("context_recall", "--rubrics context_recall"),
    ("context_precision", "--rubrics context_precision"),
    ("faithfulness", "--rubrics supported_claims"),
    *[(name, "--plugin") for name in ("zzz", "x" * 10_000, "日本語", "-")],
]
"""Names of no metric, and what the message leads to."""

SPECS: list[tuple[Any, ...]] = [
    *[("ndcg(k=" + "(" * 50_000,), ("ndcg(k={[]: 1})", "k"), ("ndcg(k=9**9**9)", "k")],
    *[("ndcg@" + "9" * 5_000, "5,000 digits"), ("ndcg@²",), ("ndcg@5@6",), ("ndcg@",)],
    *[("@5",), ("",), ("x" * 200_000,), ("_1" * 49_000 + "(",), ("1" * 99_000 + "@",)],
    *[("token_f1@3", "3"), ("ndcg@2.5", "2.5"), ("ndcg(k=True)", "k", "True"), ("ndcg@" + "9" * 20, "k")],
    *[("bleu(tokenizer='13b')", "tokenizer", "13b"), ("bleu(smooth_method='ex')", "smooth_method", "ex")],
    *[("bleu(smooth_value='1')", "smooth_value"), ("bleu(max_ngram_order=0)", "max_ngram_order", "0")],
    *[("bleu(max_ngram_order=1000000000)", "max_ngram_order"), ("chrf(char_order=-1)", "char_order", "-1")],
    *[("chrf(word_order=-2)", "word_order", "-2"), ("chrf(char_order=0)", "char_order", "word_order")],
    *[("corpus_chrf(char_order=0)", "char_order"), ("chrf(char_order=100000000)", "char_order")],
    *[("chrf(beta=1e308)", "beta"), ("retrieval_recall(relevance_level=1e999)", "relevance_level", "inf")],
    *[("tfidf_cosine(idf={})", "idf"), ("tfidf_cosine(idf='table')", "idf", "table")],
    *[("rouge1_f1(tokenizer=[])", "tokenizer"), ("rouge1_f1(tokenizer='french')", "french")],
    *[("rouge1_f1(stemmer=True, tokenizer='unicode')", "stemmer"), ("grounding_overlap(embedder=[])", "embedder")],
    *[("grounding_overlap(threshold=2.0)", "threshold", "2.0"), ("grounding_overlap(pattern='(')", "pattern")],
    *[("grounding_overlap(phrases='a')", "phrases"), ("politeness(markers=['" + "x" * 50_000 + "'])", "markers")],
    *[("hallucination(window=-1)", "window", "-1"), ("keyword_completeness(stop_words='the')", "stop_words")],
    *[(f"abstained(phrases=['no idea', {blank!r}])", "phrases") for blank in ("", " ", "\t\n")],
    *[(f"abstained(phrases=[{one!r}])", "phrase") for one in ("i (know", "...", "[x]", "a) b", "((a|b) c|d) e")],
    *[("cover_match(require='each')", "require", "each"), ("retrieval_consistency(k=0)", "k", "0")],
    *[("number_match(absolute=-0.1)", "absolute", "-0.1"), ("number_match(relative=-0.1)", "relative")],
    *[("json_match(fields='a')", "fields", "a"), ("json_match(fields='a=nonsense')", "fields", "nonsense")],
    *[("json_match(fields='a=latency_ms')", "latency_ms"), ("json_match(fields='a=wer')", "wer")],
    *[("json_match(fields='a[0]=ignore')", "fields"), ("json_match(fields=5)", "fields", "5")],
    *[("json_match(absolute=-0.1)", "absolute"), ("json_match(lists='sorted')", "lists", "sorted")],
    *[("json_valid(schema='nowhere.json')", "schema", "nowhere.json"), ("json_valid(schema='{')", "schema")],
    *[("json_valid(schema='{\"type\": 5}')", "schema", "5")],
    *[("length_score(length_ratio=0)", "length_ratio", "0"), ("coherence(connector_share=-1)", "connector_share")],
    *[("topic_score(topic_threshold=1.5)", "topic_threshold"), ("structure_score(paragraph_words=0)", "0")],
    *[("vocabulary_score(sophisticated_letters=2.5)", "2.5"), ("coherence(tokenizer='ascii')", "tokenizer")],
    *[("coherence(language='fr')", "language"), ("coherence(lexicons='none')", "lexicons")],
    *[
        (f"overall_quality(weights={one})", "weights")
        for one in ("(1.0,)", "(0.5, 0.5, 0.5, 0, 0)", "(0.5, 0, 0, 0, 0)", "(2, -1, 0, 0, 0)")
    ],
    ("overall_quality(weights={'coherence': 1.0})", "weights", "completeness"),
    *[("token_f1(name='jaccard')", "jaccard"), ("squad_f1(version=2, name='squad_f1')", "name")],
    *[(f"token_f1(name={one!r})", "name") for one in ("", "a,b", "f1.mean", "f1 >= 1", "id", "judge_x", 1)],
]
"""Specs with an option that is none of its metric's or has a value that it cannot have, and what the message names."""

HUGE = "9" * 25
COMMANDS: list[tuple[str, str]] = [
    *[(f"score t.jsonl -o o.parquet --threads {HUGE}", "--threads"), ("score t.jsonl --threads 1025", "--threads")],
    (f"score t.jsonl -o o.parquet --batch-rows {HUGE}", "--batch-rows"),
    *[(f"rank r.json q.json -l {level}", "--relevance-level") for level in ("nan", "inf", "0")],
    *[(f"rank r.json q.json -M {depth}", "--depth") for depth in (HUGE, "0")],
    (f"rank r.json q.json --threads {HUGE}", "--threads"),
    *[(f"vectors geometry v.npy {word} {HUGE}", word) for word in ("-k", "--sample", "--seed", "--threads")],
    (f"vectors search index v.npy -o r.jsonl -k {HUGE}", "-k"),
    ("vectors search index v.npy -o r.jsonl --recall nan", "--recall"),
    (f"match f.jsonl f.jsonl -o a.jsonl --threads {HUGE}", "--threads"),
    *[("score t.jsonl -o o.parquet -m ndcg@5@6", "ndcg@5@6"), ("score t.jsonl -m chrf(beta=1e308)", "beta")],
    ("score t.jsonl -o o.parquet -m answer_words --lists id", "--lists"),
    *[("metrics faithfulness", "judge run --rubrics supported_claims"), ("metrics bert_score", "models bert-score")],
]
"""Command lines with a value beyond sense, and the option that their message names."""


def command(words: str) -> Any:
    """Run a command in a folder with a file of each kind."""
    jsonl(Path("t.jsonl"), {"id": 1, "answer": "a", "reference": "a"})
    jsonl(Path("f.jsonl"), {"question": "a", "answer": "b"})
    Path("r.json").write_text(json.dumps(RUN))
    Path("q.json").write_text(json.dumps(JUDGED))
    np.save("v.npy", np.eye(4, dtype=np.float32))
    if words.startswith("vectors search"):
        assert program("vectors", "index", "v.npy", "-o", "index").code == 0
    return program(*words.split())


PLAIN = "@fm.metric(bounds=(0, 1), better=None)\n"
PLUGINS: list[tuple[str, str, str]] = [
    *[("that fails", "1 / 0", "ZeroDivisionError"), ("no Python", "def f(:", "SyntaxError")],
    ("without a metric", "x = 1", "@fastmetrics.metric"),
    ("a name that is taken", f"{PLAIN}def token_f1(answer: str): ...", "token_f1"),
    ("an alias that is", "@fm.metric(bounds=(0, 1), better=None, aliases=['mrr'])\ndef f(answer: str): ...", "mrr"),
    ("an unknown column", f"{PLAIN}def f(anser: str): ...", "anser"),
    ("no annotation", f"{PLAIN}def f(answer): ...", "answer"),
    ("an unknown type", f"{PLAIN}def f(answer: dict): ...", "answer"),
    ("a text for a list", f"{PLAIN}def f(contexts: str): ...", "contexts"),
    ("a list for a text", f"{PLAIN}def f(answer: list[str]): ...", "answer"),
    ("an option of any value", f"{PLAIN}def f(answer: str, *, k: object = 1): ...", "object"),
    ("better", "@fm.metric(bounds=(0, 1), better='lowr')\ndef f(answer: str): ...", "better"),
    ("better=True", "@fm.metric(bounds=(0, 1), better=True)\ndef f(answer: str): ...", "better"),
    ("bounds that fall", "@fm.metric(bounds=(1, 0), better=None)\ndef f(answer: str): ...", "bounds"),
    ("one bound", "@fm.metric(bounds=1, better=None)\ndef f(answer: str): ...", "bounds"),
    ("a reading against the direction",
     "@fm.metric(bounds=(0, 1), better='lower', reading=(0.9, 0.5))\ndef f(answer: str): ...", "reading"),
    ("a reading without direction",
     "@fm.metric(bounds=(0, 1), better=None, reading=(0.9, 0.5))\ndef f(answer: str): ...", "direction"),
    ("an option called name", f"{PLAIN}def f(answer: str, *, name: str = ''): ...", "name"),
    ("no column", f"{PLAIN}def f(*, k: int = 1): ...", "column"),
    ("columns of two forms", f"import pyarrow as pa\n{PLAIN}def f(answer: str, reference: pa.Array): ...", "form"),
    ("a column and its alias", f"{PLAIN}def f(answer: str, response: str): ...", "response"),
    *[(f"columns={declared}", f"@fm.metric(bounds=(0, 1), better=None, columns={declared})\n{function}", name)
     for declared, function, name in (({"tools": "t"}, "def f(answer: str): ...", "tools"),
      ({"Tools": "t"}, "def f(Tools: str): ...", "Tools"), ({"answer": "t"}, "def f(answer: str): ...", "answer"),
      ({"response": "t"}, "def f(response: str): ...", "response"))],
    ("a column of two kinds",
     "".join(f"@fm.metric(bounds=(0, 1), better=None, columns={{'area': 'the area'}})\ndef {f}(area: {kind}): ...\n"
      for f, kind in (("first", "str"), ("second", "float"))), "area"),
]  # fmt: skip
"""Files of metrics: what is wrong, the text after the import, and what the message names."""

RETURNED = [
    *[("str", "'x'", "answer"), ("str", "2", "answer"), ("str", "{}['key']", "KeyError")],
    *[("pa.Array", "[0.5]", "2"), ("pa.Array", "['x', 'y']", "x"), ("pa.Array", "[0.5, -1]", "-1")],
]
"""What a metric reads and returns for the answers b and c, and what the message names."""


def plugin(text: str) -> list[str]:
    Path("mine.py").write_text(f"import pyarrow as pa\nimport fastmetrics as fm\n{text}\n", encoding="utf-8")
    return fm.metrics.load_plugin("mine.py")


def near_name() -> Any:
    plugin(f"{PLAIN}def own_overlap(answer: str): ...")
    return fm.score(ROWS, "own_overlp")


def own_score(annotation: str, returned: str) -> Any:
    plugin(f"{PLAIN}def f(answer: {annotation}):\n    return {returned}")
    return fm.score({"answer": ["b", "c"]}, "f")


def tokenizer(returned: Any) -> Any:
    fm.metrics.tokenizer("odd")(lambda text: text + None if returned is None else returned)
    return fm.token_f1(["x"], ["x"], tokenizer="odd")


CHANGES: list[tuple[str, str, str]] = [
    ("knots = [0.0, 0.5, 1.0]", "knots = [0.0, 0.5, 0.5]", "knots"),
    ("knots = [0.0, 0.5, 1.0]", "knots = [-1.7e308, 0.5, 1.7e308]", "knots"),
    ("heights = [-1.0, 0.2, 1.0]", "heights = [-1.0, nan, 1.0]", "heights"),
    ("heights = [-1.0", f"heights = [{10**400}", "mine.toml"),
    ('kind = "logistic"', 'kind = "step"', "step"),
    *[("bounds = [0.0, 1.0]", f"bounds = {one}", "bounds") for one in ("[1.0, 0.0]", "[nan, 1.0]", "[0.0]")],
    *[("intercept = -0.3", f"intercept = {one}", "intercept") for one in ("1e151", "nan", 10**400)],
    *[("missing = 0.1", "missing = nan", "missing"), ("rows = 100", "rows = 'many'", "rows")],
    *[("cut = 0.6", "cut = nan", "cut"), ("cut = 0.6", "cut = 'high'", "cut")],
    ("intercept = -0.3", f"intercept = {'[' * 5000}", "TOML"),
    *[('metric = "token_f1"', "metric = 3", "metric"), ('column = "judge_x"', "column = 3", "column")],
    ('metric = "token_f1"', 'metric = "mine.toml"', "mine.toml"),
    ('metric = "token_f1"', "metric = \"verdict(fitted='mine.toml')\"", "verdict"),
    ('metric = "token_f1"', 'metric = "token_f9"', "token_f9"),
    ('metric = "token_f1"', 'metric = "corpus_bleu"', "corpus_bleu"),
    ('metric = "token_f1"', "metric = \"tfidf_cosine(idf='corpus')\"", "tfidf_cosine"),
    *[('name = "mine"', f'name = "{name}"', "name") for name in ("token_f1", "", "a,b", "id")],
]
"""What is changed in the file of a fitted score, and what the message names."""


def fitted(old: str, new: str) -> Any:
    """Score by a fitted score in whose file something was changed; its lists are on one line each."""
    path = written(Path(), thresholds=CUTS)
    lists = re.compile(r"\[\s+([^\[\]]*?),\s+\]")
    text = lists.sub(lambda found: f"[{' '.join(found[1].split())}]", path.read_text(encoding="utf-8"))
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return fm.score({**ROWS, "judge_x": [1.0]}, "mine.toml")


def fitted_text(text: str) -> Any:
    Path("mine.toml").write_text(text, encoding="utf-8")
    return fm.score({**ROWS, "judge_x": [1.0]}, "mine.toml")


def two_fitted() -> Any:
    Path("other").mkdir()
    paths = [str(written(Path())), str(written(Path("other"), intercept=0.5))]
    return fm.score({**ROWS, "judge_x": [1.0]}, paths)


def scored(metrics: Any, **given: Any) -> Callable[[], Any]:
    return lambda: fm.score(given, metrics)


def of_file(metrics: str, *rows: dict[str, Any], **options: Any) -> Callable[[], Any]:
    """The scoring of a file of these rows."""
    return lambda: fm.score(jsonl(Path("rows.jsonl"), *rows), metrics, output="o.parquet", **options)


def of_calls(wrong: str) -> Callable[[], Any]:
    return lambda: fm.tool_call_f1(["search", wrong], ["search", "search"])


def repeated_scores() -> Any:
    return fm.score({"question": ["q", "q"], "answer": ["a", "a"]}, [REPEATED, "answer_length"], keep_counts=True)


def own_names(ask: Callable[[Path], Any]) -> Callable[[], Any]:
    """Something asked of a file that has token_f1 under the name of f1."""

    def call() -> Any:
        fm.score(jsonl(Path("rows.jsonl"), ROWS), "token_f1(name='f1')", output="own.parquet")
        return ask(Path("own.parquet"))

    return call


def two_meanings(read: Callable[[list[Path]], Any]) -> Callable[[], Any]:
    """Something asked of two files in which one name is two metrics."""

    def call() -> Any:
        rows = jsonl(Path("rows.jsonl"), *({"id": n, "answer": "a", "reference": "a"} for n in range(5)))
        for name, metric in (("a", "token_f1"), ("b", "squad_f1")):
            fm.score(rows, f"{metric}(name='f1')", output=f"{name}.parquet")
        return read([Path("a.parquet"), Path("b.parquet")])

    return call


UNKNOWN_CALLS: list[Any] = [
    {"role": "assistant", "content": [{"type": "action", "verb": "add", "object": 1}]},
    {"role": "assistant", "content": [{"type": "text", "text": "I add."}, {"type": "plugin_use", "plugin": "add"}]},
    {"role": "assistant", "content": None, "actions": [{"verb": "add"}]},
    {"role": "assistant", "content": {"verb": "add"}},
    {"role": "model", "parts": [{"invoke": {"what": "add"}}]},
    {"role": "assistant", "tool_calls": [{"type": "code_interpreter", "code_interpreter": {"input": "1"}}]},
    {"role": "assistant", "tool_calls": [{"id": "c", "call": "add"}]},
    {"role": "assistant", "tool_calls": "add(1)"},
    {"role": "tool_call", "content": "add(a=1)"},
    {"type": "tool_call_item", "raw_item": "ResponseFunctionToolCall(name='add')"},
    {"type": "ToolCallRequestEvent", "source": "agent", "content": [{"name": "add", "arguments": "{}"}]},
    {"type": "agent_action", "verb": "add"},
    {"tool": "add", "tool_output": 2},
    {"output": "2"},
    5,
]
"""What may hold a call, in a shape that nobody knows."""

WRONG_CALLS = [
    *("['search']", "[{'name': 'a', 'args': {'b': None}}]", "[ToolCall(name='search', args={'q': 1})]", "search me"),
    *("[5]", '[{"tool": "a"}]', '[{"type": "function", "function": {"arguments": "{}"}}]'),
    '{"role": "assistant", "content": [{"type": "tool_use", "input": {}}]}',
    '[{"type": "function", "function": {"name": null, "arguments": "{}"}}]',
    *('[{"name": "", "arguments": {}}]', '[{"name": "a", "arguments": {"x": NaN}}]', "[" * 100_000),
    '[{"name": "a", "arguments": {"x": ' + "[" * 100_000 + "]" * 100_000 + "}}]",
]

VECTOR = np.array([[1.0, 0.0]])
WITHOUT_LABEL = ("answerable", "reference")
PRICES = {"a": {"input": 1, "output": 1}, "b": {"input": 1, "output": 1}}
TOKENS = {"prompt_tokens": [1], "completion_tokens": [1]}
REPEATED = "response_exact_match_rate"
BAD_LISTS = ["[sic] Paris", '["a"', "[1, 2]", "['a''b']", "[" * 100_000, '[{"a": 1}]']

ERRORS: list[tuple[Any, ...]] = [
    # names
    *[(f"name {name[:30]}", scored(name, **ROWS), UnknownNameError, *said) for name, *said in NAMES_MEANT],
    *[(f"attribute {name}", lambda name=name: getattr(fm, name), AttributeError, first)
     for name, first in (*(("token_fl", "token_f1"), ("f1", "token_f1"), ("rouge1", "rouge"), ("ROUGE", "rouge")),
      *(("summarise", "summarize"), ("bert_score", "fm.models.bert_score"), ("faithfulness", "supported_claims")))],
    ("twice", scored("token_f1,TokenF1", **ROWS), OptionError, "token_f1"),
    ("two of a name", scored("token_f1(name='f1'),squad_f1(name='f1')", **ROWS), OptionError, "f1", "squad_f1"),
    ("compare: two metrics of a name", two_meanings(fm.compare), OptionError, "f1"),
    ("summarize: two metrics of a name", two_meanings(fm.summarize), ColumnError, "f1"),
    *[(f"{name}: a metric under another name", own_names(ask), UnknownNameError, "f1")
     for name, ask in (("compare", lambda path: fm.compare([path, path], metrics="token_f1")),
      ("worst_rows", lambda path: fm.worst_rows(path, "token_f1")),
      ("gate", lambda path: fm.gate(path, "Token_F1 >= 0")),
      ("gate of a drop", lambda path: fm.gate(path, "token_f1.drop <= 0", baseline=path)))],
    ("keep: a name of a score", of_file("token_f1(name='b')", {**ROWS, "b": 1}, keep=["b"]), OptionError, "b"),
    ("keep: a name of counts",
     of_file("response_exact_match_rate", {"question": "q", "answer": "a", "repeats.answer": 1}, keep="repeats.answer"),
     OptionError, "repeats.answer"),
    ("keep: words of a score", lambda: fm.score({**ROWS, "verdict_word": ["a"]}, "verdict", keep="verdict_word"),
     OptionError, "verdict_word"),
    ("statistics: total", lambda: fm.summarize({"own": [1.0]}, statistics={"own": ["total"]}), UnknownNameError,
     "total"),
    ("statistics: p100.1", lambda: fm.summarize({"own": [2.0]}, statistics={"own": ["p100.1"]}), UnknownNameError),
    # options
    *[(f"{way} {spec[:50]!r}", lambda ask=ask, spec=spec: ask(spec), OptionError, *said)
     for way, ask, specs in (("score", lambda spec: fm.score(ROWS, [spec]), SPECS),
      ("rank", lambda spec: fm.rank(RUN, JUDGED, [spec]), SPECS[:12])) for spec, *said in specs],
    *[(" ".join(words.split())[:60], lambda words=words: command(words), 2, said) for words, said in COMMANDS],
    ("the first of two phrases", lambda: fm.scorer("abstained(phrases=['i (know', 'no idea'])"), OptionError, "phrase",
     "i (know"),
    ("pronoun_score: of another", lambda: fm.pronoun_score(["a"], topic_threshold=0.2), UnknownNameError),
    ("json_valid: $ref", lambda: fm.json_valid(["1"], schema={"$ref": "https://a.org/b"}), OptionError, "schema"),
    ("rouge: types", lambda: fm.rouge(["a"], ["a"], types=["rouge0"]), UnknownNameError, "rouge0"),
    ("number_match: nan", lambda: fm.number_match(["1"], ["1"], absolute=math.nan), OptionError, "absolute", "nan"),
    ("retrieval_rbo: p", lambda: fm.retrieval_rbo(["q"], [["a"]], p=1.0), OptionError, "p"),
    ("embedding_geometry: metric", lambda: fm.embedding_geometry([[1.0]], metric="taxi"), OptionError, "metric"),
    ("embedder", lambda: fm.score(ROWS, "answer_length", embedder={}), OptionError, "embedder"),
    ("nearest: k", lambda: fm.vectors.nearest(np.eye(3), k=10**9), OptionError, "k"),
    *[(f"tokenizer {name!r}", lambda name=name: fm.metrics.tokenizer(name), OptionError)
     for name in ("plain", "char", "Upper", "1", "a b", "")],
    ("verdict: no thresholds", lambda: fm.score(ROWS, f"verdict(fitted={str(written(Path()))!r})"), OptionError),
    ("verdict: a column", lambda: fm.verdict(["q"], ["a"], [["c"]], fitted="mine.toml"), OptionError, "fm.score"),
    *[(f"prices {at}", lambda prices=prices: fm.score(TOKENS, "cost", prices=prices), error, *said)
     for at, (prices, error, *said) in enumerate([*[(None, OptionError, "prices="), (PRICES, OptionError, "model"),
        (3, OptionError, "prices")],
       *[({"a": {"input": 1}}, FileFormatError, "a"), ({"a": {"input": -1, "output": 1}}, FileFormatError, "a")],
       ({"a": {"input": 1, "output": 1, "cached": 1}}, FileFormatError, "cached")])],
    ("token_f1: option", lambda: fm.token_f1(["a"], ["a"], nonsense=1), UnknownNameError, "nonsense"),
    ("token_f1: threads", lambda: fm.token_f1(["a"], ["a"], threads=0), OptionError, "threads", "0"),
    ("token_f1: no columns", fm.token_f1, TypeError, "answer", "reference"),
    ("token_f1: three columns", lambda: fm.token_f1(["a"], ["a"], ["a"]), TypeError, "2"),
    # columns
    ("lists: unknown", lambda: fm.score(ROWS, "token_f1", lists="golt"), UnknownNameError, "golt"),
    ("lists: ids", lambda: fm.score({**ROWS, "id": [1]}, "answer_words", lists="id"), OptionError, "lists"),
    *[(f"lists of {text[:20]}", lambda text=text: fm.score(ROWS | {"reference": [text]}, "token_f1", lists="reference"),
      InputError, "reference") for text in BAD_LISTS],
    ("lists in a file",
     of_file("token_f1", {"answer": "a", "reference": '["a"]'}, {"answer": "a", "reference": "[1]"}, lists="reference"),
     InputError, "line 2", "reference"),
    ("ids in a text", scored("reciprocal_rank", retrieved_ids=["['a' 'b']"], relevant_ids=[["a"]]), ColumnError,
     "retrieved_ids"),
    ("two texts for one", scored("exact_match", answer=[["a"], ["a", "b"]], reference=["a", "a"]), InputError, "row 1",
     "answer"),
    *[(f"lengths: {name}", lambda name=name: getattr(fm, name)(["a", "b"], ["a"]), ColumnError, "answer", "reference")
     for name in ("token_f1", "chrf", "corpus_bleu", "rouge")],
    *[(f"no text: {column}"[:40], lambda column=column: fm.token_f1(column, ["a", "b"]), ColumnError, "answer")
     for column in ("one string", [{"a": 1}, {"a": 2}], [b"\xff", b"a"])],
    *[(f"no flag: {odd}", lambda odd=odd: fm.correct_abstention(["a", "a"], odd), InputError, "answerable", f"row {at}")
      for odd, at in (([1, 2], 1), ([0.5, 1.0], 0), ([-1, 0], 0), ([math.inf, 0.0], 0))],
    *[(f"no amount: {column}", lambda column=column: fm.prompt_tokens(column), ColumnError, "prompt_tokens")
     for column in (["a"], [["a"]], [[[1]]])],
    *[(f"no amount in a file: {value}", of_file("total_tokens", {"total_tokens": 1}, {"total_tokens": value}),
      FileFormatError, "line 2", "total_tokens") for value in ("many", [["7"]], {"a": 1}, True, ["many"], [True])],
    ("ids of contexts: 2", lambda: fm.citation_precision(["A."] * 2, [["A"]] * 2, [["a"], ["a", "b"]]), ColumnError,
     "context_ids", "row 1"),
    ("ids of contexts: 0", lambda: fm.citation_precision(["A."] * 2, [["A"]] * 2, [["a"], []]), ColumnError,
     "context_ids", "row 1"),
    ("ids of contexts: text", lambda: fm.citation_precision(["A."], [["A"]], ["a"]), ColumnError, "context_ids"),
    ("choices", lambda: fm.choice_match(["B"], ["B"], [{"x": [1], "y": "b"}]), ColumnError, "choices"),
    ("grades of groups", lambda: fm.retrieval_recall([["a"]], [[["a"]]], [[1]]), ColumnError),
    ("evidence: lengths", lambda: grounding_evidence(["a"], [["b"], ["c"]]), ColumnError, "1", "2"),
    ("exact_match_rate: lengths", lambda: exact_match_rate(["a", "b"], [1, 2, 3]), ColumnError, "2", "3"),
    ("compare: a metric of all rows", lambda: fm.compare([repeated_scores()] * 2, metrics=REPEATED), ColumnError,
     REPEATED),
    *[(f"vectors {at}", lambda call=call: call(), ColumnError, *said)
     for at, (call, *said) in enumerate([(lambda: fm.semantic_similarity(VECTOR, [[1.0, 2.0, 3.0]]), "answer_embedding",
        "reference_embedding"),
       (lambda: fm.semantic_similarity(pa.array([[]], pa.list_(pa.float32())), [[1.0]]), "answer_embedding"),
       (lambda: fm.semantic_similarity(VECTOR, [[[1.0, 0.0, 0.0]]]), "reference_embedding", "3"),
       (lambda: fm.semantic_similarity(VECTOR, [[[1.0, 0.0], [1.0]]]), "row 1"),
       (lambda: fm.semantic_similarity([[1.0, 2.0]] * 2, [[1.0, 2.0], [1.0]]), "reference_embedding", "row 1"),
       (lambda: fm.semantic_similarity(VECTOR, [[["a"]]]), "reference_embedding"),
       (lambda: fm.semantic_similarity([[[1.0, 0.0]]], VECTOR), "answer_embedding"),
       (lambda: fm.semantic_similarity(["a"], [[1.0]]), "answer_embedding"),
       (lambda: fm.embedding_geometry([[1.0, 2.0], [1.0]]), "row 1"),
       (scored("semantic_similarity", answer=["a"], reference=["a"]), "answer_embedding"),
       (scored("semantic_similarity", answer=["a"]), "answer_embedding")])],
    *[(f"vectors in a file: {value}",
      of_file("semantic_similarity", {"answer_embedding": [1.0], "reference_embedding": [[1.0], [2.0]]},
       {"answer_embedding": [1.0], "reference_embedding": value}), FileFormatError, "line 2", "reference_embedding")
     for value in ("x", [["x"]], [[1.0], 2.0], {"a": 1}, [[[1.0]]])],
    *[(f"{name} without its columns", scored([name, "answer_rate"], answer=["a"]), ColumnError, name, *WITHOUT_LABEL)
     for name in ("correct_abstention", "abstention_f1")],
    ("correct_abstention of one column", lambda: fm.correct_abstention(["a"]), TypeError, *WITHOUT_LABEL),
    ("total_tokens of one column", scored("total_tokens", prompt_tokens=[1]), ColumnError, "completion_tokens"),
    ("total_tokens()", lambda: fm.total_tokens(prompt_tokens=[1]), TypeError, "completion_tokens"),
    ("cost of no tokens", lambda: fm.score({"answer": ["x"]}, "cost", prices=PRICES), ColumnError, "cost",
     "prompt_tokens"),
    ("a wide table", scored("token_f1", **{f"c{k}": [1] for k in range(500)}, answer=["a"]), ColumnError, "reference"),
    *[(f"calls {at}", of_calls(json.dumps([one])), InputError, "row 1", "tool_calls")
     for at, one in enumerate(UNKNOWN_CALLS)],
    *[(f"no calls {at}", of_calls(one), InputError, "row 1", "tool_calls") for at, one in enumerate(WRONG_CALLS)],
    # metrics of one's own
    *[(f"plugin: {name}", lambda text=text: plugin(text), PluginError, said) for name, text, said in PLUGINS],
    ("plugin: a near name", near_name, UnknownNameError, "own_overlap"),
    ("plugin: absent", lambda: fm.metrics.load_plugin("absent.py"), PluginError, "absent.py"),
    ("plugin: a folder", lambda: fm.metrics.load_plugin("."), PluginError),
    ("plugin: no text", lambda: (Path("mine.py").write_bytes(b"\xff"), fm.metrics.load_plugin("mine.py")), PluginError,
     "mine.py"),
    *[(f"score {how}: {what}", lambda how=how, what=what: own_score(how, what), PluginError, said)
     for how, what, said in RETURNED],
    *[(f"tokens {one}", lambda one=one: tokenizer(one), PluginError, "odd") for one in ("ab", [1], None)],
    # fitted scores
    *[(f"fitted file {text[:40]!r}", lambda text=text: fitted_text(text), FileFormatError, "mine.toml")
     for text in (*("format = 3\nfastmetrics = '9.1'", "format = 1\nkind = 'boosting'", "", "format = 2", "format = ",
       "\0"),)],
    *[(f"fitted: {new[:40]}", lambda old=old, new=new: fitted(old, new),
      OptionError if old.startswith("name") else FileFormatError, said) for old, new, said in CHANGES],
    ("fitted: no file", scored("none.toml", **ROWS), FileFormatError, "none.toml"),
    ("fitted: an option", lambda: fm.score(ROWS, f"{written(Path())}(k=3)"), UnknownNameError, "k"),
    ("fitted: a name", lambda: fm.score(ROWS, f"{written(Path())}(name='token_f1')"), OptionError, "name"),
    ("fitted: two of a name", two_fitted, OptionError, "mine"),
    ("fitted: no column of scores", lambda: fm.score(ROWS, str(written(Path()))), ColumnError, "judge_x"),
    ("fitted: no reference", lambda: fm.score({"answer": ["a"], "judge_x": [1.0]}, str(written(Path()))), ColumnError,
     "reference"),
    ("fitted: scores as text", lambda: fm.score({**ROWS, "judge_x": ["good"]}, str(written(Path()))), ColumnError,
     "judge_x"),
]  # fmt: skip

test_errors = errors_of(ERRORS)
