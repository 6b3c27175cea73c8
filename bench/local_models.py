"""Local models against CrossEncoder.predict and the package bert-score, on models of random weights.

::

    python bench/local_models.py FASTMETRICS_DATA [OUTPUT.json]

The pairs are those of real tables as they come: a question, or a sentence, with each of its contexts, where several
systems answer the same question. Times are of the processor; equality is that of float32.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

import fastmetrics as fm
from fastmetrics.models.local_folders import LocalSettings
from fastmetrics.models.local_models import BertScore, Entailment, Rerank

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
N_PAIRS = 20_000


def made(folder, texts, kind, labels, layers=2, width=128):
    """A model of random weights with a tokenizer trained on the texts."""
    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=8000, special_tokens=SPECIAL))
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=256, **names).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=8000,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=width // 32,
        intermediate_size=4 * width,
        max_position_embeddings=256,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
    )
    kind(config).save_pretrained(folder)
    return str(folder)


def timed(call):
    """The result, and the seconds of the processor."""
    began = time.process_time()
    found = call()
    return found, time.process_time() - began


def main(data, output=None):
    """Print and write the figures."""
    rows = pq.read_table(Path(data) / "dev/evouna_qa.parquet", columns=["question", "answer", "reference"]).to_pylist()
    rows = [row for row in rows if all(row.values())]
    texts = [text for row in rows[:4000] for text in row.values()]
    root = Path(tempfile.mkdtemp())
    ranker = made(root / "ranker", texts, BertForSequenceClassification, ["relevance"])
    encoder = made(root / "encoder", texts, BertModel, ["x"])
    pairs = [(row["question"], row["reference"]) for row in rows] + [(row["question"], row["answer"]) for row in rows]
    pairs = [(first, second[:600]) for first, second in pairs][:N_PAIRS]
    figures = {"pairs": len(pairs), "distinct": len(set(pairs)), "seconds": {}, "largest_difference": {}}
    plain = CrossEncoder(ranker, device="cpu", local_files_only=True)
    plain.predict(pairs[:64])
    expected, figures["seconds"]["CrossEncoder.predict"] = timed(lambda: plain.predict(pairs))
    for precision in ("float32", "bfloat16"):
        model = Rerank(ranker, LocalSettings(precision=precision, cache=root / "cache"), k=5)
        model.compute(pairs[:64])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found, figures["seconds"][f"rerank {precision}"] = timed(lambda model=model: model.scores(pairs)[:, 0])
        figures["largest_difference"][f"rerank {precision}"] = float(np.abs(found - expected).max())
        figures.setdefault("grown_mb", {})[precision] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        ) / 1024
        again = Rerank(ranker, LocalSettings(precision=precision, cache=root / "cache"), k=5)
        again.scores(pairs)
        figures.setdefault("computed_again", {})[precision] = again.computed
    spoken = pq.read_table(Path(data) / "dev/halueval_dialogue.parquet", columns=["answer", "contexts"])
    judging = made(root / "judging", texts, BertForSequenceClassification, ["contradiction", "neutral", "entailment"])
    model = Entailment(judging, LocalSettings(cache=root / "cache"), sentences="mean")
    sentences = model.pairs({name: spoken[name].combine_chunks() for name in model.reads}).texts[:N_PAIRS]
    figures["entailment_pairs"] = {"pairs": len(sentences), "distinct": len(set(sentences))}
    plain = CrossEncoder(judging, device="cpu", local_files_only=True)
    for one in (plain.predict, model.compute):
        one(sentences[:64])
    expected, figures["seconds"]["CrossEncoder.predict of entailment"] = timed(
        lambda: plain.predict(sentences, apply_softmax=True)
    )
    found, figures["seconds"]["entailment float32"] = timed(lambda: model.scores(sentences))
    figures["largest_difference"]["entailment float32"] = float(np.abs(found - expected).max())
    from bert_score import score  # of the bench alone

    scored = [(row["answer"], row["reference"]) for row in rows][:N_PAIRS]
    answers, references = map(list, zip(*scored, strict=True))
    package, figures["seconds"]["bert-score"] = timed(
        lambda: torch.stack(score(answers, references, model_type=encoder, num_layers=2, nthreads=0, lang=None)).T
    )
    own = {"layer": 2, "idf": False, "baseline": None}
    model = BertScore(encoder, LocalSettings(cache=root / "cache"), **own)
    found, figures["seconds"]["bert_score float32"] = timed(lambda: model.scores(scored))
    figures["bert_score_pairs"] = {"pairs": len(scored), "distinct": len(set(scored))}
    figures["largest_difference"]["bert_score float32"] = float(np.abs(found - package.numpy()).max())
    seconds = figures["seconds"]
    figures["ratios"] = {
        "rerank float32": seconds["CrossEncoder.predict"] / seconds["rerank float32"],
        "rerank bfloat16": seconds["CrossEncoder.predict"] / seconds["rerank bfloat16"],
        "entailment float32": seconds["CrossEncoder.predict of entailment"] / seconds["entailment float32"],
        "bert_score float32": seconds["bert-score"] / seconds["bert_score float32"],
    }
    figures["versions"] = {"torch": torch.__version__, "fastmetrics": fm.__version__}
    text = json.dumps(figures, indent=2)
    print(text)
    if output is not None:
        Path(output).write_text(text + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
