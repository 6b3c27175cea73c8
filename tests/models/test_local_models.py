"""Columns of local models: their values by functions made up here, and by small models against the packages."""

import subprocess
import sys
import time

import numpy as np
import pytest

import fastmetrics as fm
from tests.support.optional_parts import needs
from tests.support.program import ENVIRONMENT, jsonl, program

TEXTS = [
    f"the {one} tower was {two} in {year}"
    for one in ("red", "old", "tall")
    for two in ("built", "sold")
    for year in (1889, 1890, "may")
]
ROWS = {
    "id": [1, 2, 3, 4, 5, 6, 7],
    "question": ["who?", "who?", None, "x", "y", "z", " "],
    "answer": ["ab. cd [1].", "ab.", "ab.", None, " ", "ab.", "ab."],
    "contexts": [["ab", "cd!", None], None, [], ["ab"], ["ab"], ["", None], ["ab"]],
}


def overlap(pairs):
    """Entailed, neutral and contradicted parts that a reader can work out: by length, and by equal letters."""
    return [[0.25 * (first[:2] == second[:2]), 0.5, len(first) / 100] for first, second in pairs]


LABELS = ["ENTAILMENT", "neutral", "contradiction"]


UNDEFINED = pytest.approx(np.nan, nan_ok=True)


class Counting:
    """A function that remembers what it was asked."""

    def __init__(self, function):
        self.function, self.asked = function, []

    def __call__(self, pairs):
        self.asked.append(list(pairs))
        return self.function(pairs)


@pytest.mark.parametrize(
    ("sentences", "entailed", "contradicted"),
    # of row 1 the sentences "ab." and "cd" have .25 and .25 by their best contexts; the longest context has 3 letters
    [("mean", 0.25, 0.03), ("min", 0.25, 0.03)],
)
def test_entailment_takes_the_best_context_of_each_sentence(sentences, entailed, contradicted):
    made = fm.models.apply(ROWS, fm.models.entailment(overlap, sentences=sentences, labels=LABELS), keep="id")
    assert made.column_names == ["id", "entailment", "contradiction"]
    assert made["entailment"].to_pylist() == [entailed, None, 0.0, None, None, None, 0.25]
    assert made["contradiction"].to_pylist() == pytest.approx([contradicted, None, 0.0, None, None, None, 0.02])


def test_the_worst_sentence_counts_with_min():
    table = {"answer": ["Yes, ab. No, cd."], "contexts": [["Yes.", "Y"]]}
    model = {"mean": (0.125, 0.04), "min": (0.0, 0.04)}
    for sentences, expected in model.items():
        made = fm.models.apply(table, fm.models.entailment(overlap, sentences=sentences, labels=LABELS))
        assert (made["entailment"][0].as_py(), made["contradiction"][0].as_py()) == pytest.approx(expected)


def test_one_score_is_entailment_alone():
    made = fm.models.apply(ROWS, fm.models.entailment(lambda pairs: [0.5] * len(pairs)), keep=["id"])
    assert made.column_names == ["id", "entailment"]
    assert made["entailment"].to_pylist() == [0.5, None, 0.0, None, None, None, 0.5]


def test_relevance_of_each_context_and_the_mean_of_the_first():
    made = fm.models.apply(ROWS, fm.models.rerank(lambda pairs: [len(text) for _, text in pairs], k=2), keep="id")
    assert made["context_relevance"].to_pylist() == [[2, 3, None], None, None, [2], [2], [None, None], None]
    assert made["context_relevance@2"].to_pylist() == [2.5, None, None, 2, 2, None, None]
    scored = fm.score(made, "context_relevance@1")["context_relevance@1"].to_pylist()
    assert scored == [2, None, None, 2, 2, UNDEFINED, None]


def test_each_distinct_pair_is_computed_once_and_the_longest_first():
    model = Counting(lambda pairs: [1.0] * len(pairs))
    rows = {"question": ["q"] * 600, "contexts": [["a", "bbb", "a"]] * 599 + [["cc"]]}
    made = fm.models.apply(rows, reranker := fm.models.rerank(model))
    assert sorted(pair for asked in model.asked for pair in asked) == [("q", "a"), ("q", "bbb"), ("q", "cc")]
    assert model.asked[0] == [("q", "bbb"), ("q", "a")]
    assert (reranker.computed, made.num_rows) == (3, 600)


def test_labels_of_a_text():
    model = fm.models.classifier(
        lambda texts: [[len(text) / 10, 1.0] for (text,) in texts], "note", labels=["a b", "c"]
    )
    made = fm.models.apply({"note": ["xyz", None, ""]}, model)
    assert made.to_pydict() == {
        "note": ["xyz", None, ""],
        "note_a_b": [pytest.approx(0.3), None, None],
        "note_c": [1, None, None],
    }


def test_columns_are_scores_as_others(tmp_path):
    """Summaries, comparisons, gates and further scores read them, with their bounds and directions."""
    runs = {}
    for name, value in (("old", 0.25), ("new", 0.75)):
        table = {
            "id": list(range(12)),
            "answer": ["It rained."] * 12,
            "contexts": [["It rained."]] * 12,
            "human": [0, 1] * 6,
        }
        model = fm.models.entailment(lambda pairs, value=value: [value + len(pairs[0]) * 0] * len(pairs))
        runs[name] = tmp_path / f"{name}.parquet"
        run = fm.models.apply(table, model, output=runs[name])
        assert (run.summary["entailment"].mean, run.counts) == (value, {"computed": 1})
    assert fm.compare(runs)["entailment"].delta == pytest.approx(0.5)
    assert fm.gate(runs["new"], "entailment >= 0.7").passed
    assert fm.score(runs["new"], "entailment")["entailment"][0].as_py() == 0.75


@pytest.mark.parametrize("metric", ["hallucination", "hallucination_risk", "verdict"])
def test_claims_are_supported_as_a_model_says(metric):
    """The first term of hallucination is 1 - entailment; the drift, thresholds and other terms stay."""
    said = "The tower opened in 1889."
    table = {"question": [said] * 4, "answer": [said] * 3 + ["Cats sleep."], "contexts": [[said]] * 4}
    table["entailment"] = [1.0, 0.25, None, 0.9]
    expected = {
        "hallucination": [0, 0.75, None, 0.2],
        "hallucination_risk": [0, 1, None, 0],
        "verdict": [1, 0, None, 0],
    }
    made = fm.score(table, f"{metric}(claims='entailment')")
    assert made[0].to_pylist() == pytest.approx(expected[metric])
    assert fm.score(table, metric)[0].to_pylist() == fm.score({**table, "entailment": [0.0] * 4}, metric)[0].to_pylist()
    if metric == "verdict":
        assert made["verdict(claims='entailment')_reason"].to_pylist()[:3] == [None, "hallucination 0.75 > 0.5", None]


# Real models, of random weights.


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders of models with random weights and a tokenizer trained on a few texts."""
    import tokenizers
    import torch
    import transformers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(TEXTS, tokenizers.trainers.WordPieceTrainer(vocab_size=200, special_tokens=special))
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=24, **names)
    root = tmp_path_factory.mktemp("models")
    kinds = {
        "nli": (transformers.BertForSequenceClassification, LABELS),
        "score": (transformers.BertForSequenceClassification, ["relevance"]),
        "nameless": (transformers.BertForSequenceClassification, ["LABEL_0", "LABEL_1", "LABEL_2"]),
        "encoder": (transformers.BertModel, ["x"]),
    }
    for name, (kind, labels) in kinds.items():
        torch.manual_seed(len(name))
        config = transformers.BertConfig(
            vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
            max_position_embeddings=24, initializer_range=0.5, num_labels=len(labels), id2label=dict(enumerate(labels)),
        )  # fmt: skip
        kind(config).save_pretrained(root / name)
        if name != "nameless":
            tokenizer.save_pretrained(root / name)
    tokenizer.save_pretrained(root / "nameless")
    return root


PAIRS = {"question": TEXTS, "answer": TEXTS, "contexts": [[text, " ".join([text] * 4)] for text in TEXTS[::-1]]}


@needs("sentence_transformers")
def test_numbers_of_a_plain_loop(folders, tmp_path):
    """A pair that fits is as CrossEncoder gives it; a long context has its best window."""
    from sentence_transformers import CrossEncoder

    made = fm.models.apply(PAIRS, model := fm.models.rerank(folders / "score", cache=tmp_path))
    plain = CrossEncoder(str(folders / "score"), device="cpu", local_files_only=True)
    short = [row[0] for row in made["context_relevance"].to_pylist()]
    assert short == pytest.approx(plain.predict(list(zip(TEXTS, TEXTS[::-1], strict=True))), abs=1e-5)
    long = PAIRS["contexts"][0][1].split()
    windows = [" ".join(long[at : at + 10]) for at in range(0, len(long), 8)]  # a word is a token; half of 21 are 10
    best = max(plain.predict([(TEXTS[0], window) for window in windows[: 1 + -(-(len(long) - 10) // 8)]]))
    assert made["context_relevance"][0].as_py()[1] == pytest.approx(best, abs=1e-5)
    again = fm.models.rerank(folders / "score", cache=tmp_path)
    assert fm.models.apply(PAIRS, again).equals(made)
    assert (again.computed, model.computed > len(TEXTS)) == (0, True)


@needs("sentence_transformers")
def test_entailment_and_labels_of_a_model(folders, tmp_path):
    from sentence_transformers import CrossEncoder

    made = fm.models.apply(
        {**PAIRS, "contexts": [[text] for text in TEXTS[::-1]]}, fm.models.entailment(folders / "nli", cache=tmp_path)
    )
    plain = CrossEncoder(str(folders / "nli"), device="cpu", local_files_only=True)
    found = plain.predict(list(zip(TEXTS[::-1], TEXTS, strict=True)), apply_softmax=True)
    assert made["entailment"].to_pylist() == pytest.approx(found[:, 0], abs=1e-5)
    assert made["contradiction"].to_pylist() == pytest.approx(found[:, 2], abs=1e-5)
    made = fm.models.apply(PAIRS, fm.models.classifier(folders / "nli", "answer", cache=tmp_path), keep=())
    assert made.column_names == [f"answer_{label}" for label in LABELS]
    assert sum(made[name][3].as_py() for name in made.column_names) == pytest.approx(1)


@needs("sentence_transformers")
def test_bert_score_by_its_definition(folders, tmp_path):
    """Greedy matching of unit vectors of a layer, weighted by log((N + 1) / (n + 1)); the best reference counts."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folders / "encoder").eval()
    tokenizer = AutoTokenizer.from_pretrained(folders / "encoder")
    references = [[text, TEXTS[-1]] for text in TEXTS[::-1]]
    flat = [text for row in references for text in row]
    ids = {text: tokenizer(text)["input_ids"] for text in TEXTS}
    weight = lambda token: np.log((len(flat) + 1) / (sum(token in ids[text] for text in flat) + 1))  # noqa: E731

    def vectors(text):
        with torch.no_grad():
            states = model(torch.tensor([ids[text]]), output_hidden_states=True).hidden_states[1][0].numpy()
        return states / np.linalg.norm(states, axis=1, keepdims=True)

    def sides(answer, reference):
        cosines = vectors(answer) @ vectors(reference).T
        precision = np.average(cosines.max(1), weights=[weight(token) for token in ids[answer]])
        recall = np.average(cosines.max(0), weights=[weight(token) for token in ids[reference]])
        return precision, recall, 2 * precision * recall / (precision + recall)

    table = {"answer": [*TEXTS, None, ""], "reference": [*references, ["a"], ["a"]]}
    (tmp_path / "base.tsv").write_text("LAYER,P,R,F\n0,0,0,0\n1,0.25,0.5,0.75\n")
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(flat))
    own = {"layer": 1, "cache": tmp_path, "idf": str(lines), "baseline": tmp_path / "base.tsv"}
    made = fm.models.apply(table, fm.models.bert_score(folders / "encoder", **own), keep=())
    for row, answer in enumerate(TEXTS):
        best = np.max([sides(answer, reference) for reference in references[row]], axis=0)
        base = np.array([0.25, 0.5, 0.75])
        assert [made[place][row].as_py() for place in range(3)] == pytest.approx((best - base) / (1 - base), abs=1e-4)
    assert made[0][-2].as_py() is None
    assert made[0][-1].as_py() == pytest.approx(-1 / 3)


@needs("sentence_transformers")
@pytest.mark.parametrize(
    ("model", "call", "said"),
    [
        ("nameless", fm.models.entailment, "labels are not stated"),
        ("score", lambda folder: fm.models.classifier(folder, "answer"), "two labels or more"),
        ("nli", fm.models.rerank, "expected one score"),
        ("nli", lambda folder: fm.models.rerank(folder, device="cuda"), "device"),
        ("nli", lambda folder: fm.models.entailment(folder, labels="a,b,c"), "none of its labels"),
        ("encoder", lambda folder: fm.models.bert_score(folder, layer=3), "layer"),
    ],
)
def test_models_that_do_not_fit(folders, model, call, said):
    with pytest.raises(fm.errors.OptionError, match=said):
        call(folders / model)


@needs("sentence_transformers")
def test_a_folder_without_a_tokenizer(folders, tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folders / "nli" / name).read_bytes())
    with pytest.raises(fm.errors.InputError, match="no tokenizer"):
        fm.models.entailment(tmp_path)


@needs("sentence_transformers")
def test_a_lower_precision_says_what_it_loses_and_a_changed_model_is_another(folders, tmp_path):
    model = fm.models.rerank(folders / "score", cache=tmp_path, precision="bfloat16")
    with pytest.warns(fm.ScoreWarning, match=r"bfloat16: the first 18 pairs differ from float32 by .* at most by"):
        fm.models.apply({**PAIRS, "contexts": [row[:1] for row in PAIRS["contexts"]]}, model)
    copy = tmp_path / "score"
    copy.mkdir()
    for path in (folders / "score").iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    same = fm.models.rerank(copy).model.signature
    assert same == fm.models.rerank(folders / "score").model.signature
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert fm.models.rerank(copy).model.signature != same


@needs("sentence_transformers")
def test_the_command_stores_pairs_and_estimates(folders, tmp_path):
    jsonl(tmp_path / "t.jsonl", *({"answer": text, "contexts": [text, TEXTS[0]]} for text in TEXTS))
    words = ("models", "entailment", tmp_path / "t.jsonl", "--model", folders / "nli", "--cache", tmp_path / "cache")
    dry = program(*words, "--dry-run")
    assert dry.out.startswith(f"{len(TEXTS)} rows: {2 * len(TEXTS) - 1} pairs to compute, 0 already stored\nabout ")
    first = program(*words, "-o", tmp_path / "a.parquet")
    assert f"{2 * len(TEXTS) - 1} pairs computed" in first.out
    assert "0 pairs computed" in program(*words, "-o", tmp_path / "b.parquet").out
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@pytest.mark.full
@needs("sentence_transformers")
def test_a_killed_run_loses_little(folders, tmp_path):
    """What was stored before the kill is not computed again."""
    code = f"""
import fastmetrics as fm, itertools, sys
texts = [" ".join(words) for words in itertools.product("the red old tall tower was built sold".split(), repeat=5)]
model = fm.models.rerank({str(folders / "score")!r}, cache={str(tmp_path)!r})
rows = {{"question": texts[:20_000], "contexts": [[text] for text in texts[:20_000]]}}
fm.models.apply(rows, model)
print(model.computed)
"""
    run = subprocess.Popen([sys.executable, "-c", code], env=ENVIRONMENT)
    while not list(tmp_path.rglob("*.arrow")):
        time.sleep(0.1)
    run.kill()
    run.wait()
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, check=True, timeout=600)
    assert 0 < int(done.stdout) < 20_000
