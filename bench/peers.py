"""What else scores the same rows: the Python a user would write for each row, and the official packages.

The per-row Python is written with care: each text is cut once per convention, tables and patterns are built once, and
every score shares what it can.  As a program it is the whole job, from one Parquet file to another::

    python -m bench.peers rows.parquet scores.parquet
"""

from __future__ import annotations

import argparse
import functools
import math
import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Strings = list[str]
Scores = list[float]

LIGHT_STRIP = ".,!?;:()[]{}\"'`«»“”‘’…"
NO_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
WORD = re.compile(r"\w+")
ARTICLE = re.compile(r"\b(a|an|the)\b")
SENTENCE = re.compile(r"[.!?]+(?=\s|$)")
CITATION = re.compile(r"\[\d+\]")
UNKNOWN = re.compile(r"(sorry|unfortunately)?[\s,]*i (do not|don't|don’t) know|не знаю|нет информации", re.IGNORECASE)
MARKERS = (
    *("please", "thank you", "thanks", "happy to help", "glad to help"),
    *("you're welcome", "let me know", "feel free", "sorry", "apologize"),
)


@functools.cache
def no_punctuation() -> dict[int, None]:
    """What ``str.translate`` takes to delete the punctuation of Unicode."""
    return {code: None for code in range(sys.maxunicode) if unicodedata.category(chr(code)).startswith("P")}


def light(lower: str) -> set[str]:
    """Distinct white-space tokens of a lower-cased text, stripped of punctuation."""
    return {stripped for token in lower.split() if (stripped := token.strip(LIGHT_STRIP))}


def plain(lower: str) -> Strings:
    """Tokens of a lower-cased text without any punctuation."""
    return lower.translate(no_punctuation()).split()


def squad(text: str) -> Strings:
    """Tokens as SQuAD's official script normalises them."""
    return ARTICLE.sub(" ", text.lower().translate(NO_ASCII_PUNCTUATION)).split()


def shared(first: Strings, second: Strings) -> int:
    """Size of the multiset overlap."""
    return (Counter(first) & Counter(second)).total()


def harmonic(same: int, n_answer: int, n_reference: int) -> float:
    """F1 of an overlap, 0 where there is none."""
    if same == 0:
        return 0.0
    precision, recall = same / n_answer, same / n_reference
    return 2 * precision * recall / (precision + recall)


def row(question: str, answer: str, reference: str) -> dict[str, float]:
    """Every score of one row."""
    lower, expected = answer.lower(), reference.lower()
    light_answer, light_reference = light(lower), light(expected)
    common = len(light_answer & light_reference)
    plain_answer, plain_reference = plain(lower), plain(expected)
    same = shared(plain_answer, plain_reference)
    squad_answer, squad_reference = squad(answer), squad(reference)
    words = WORD.findall(lower)
    questioned, answered = set(WORD.findall(question.lower())), set(words)
    some = bool(plain_answer and plain_reference)
    both_empty = float(not plain_answer and not plain_reference)
    return {
        "exact_match": float(" ".join(lower.split()) == " ".join(expected.split())),
        "keyword_recall": common / len(light_reference) if light_reference else 0.0,
        "token_cosine": common / math.sqrt(len(light_answer) * len(light_reference)) if common else 0.0,
        "token_precision": same / len(plain_answer) if some else both_empty,
        "token_recall": same / len(plain_reference) if some else both_empty,
        "token_f1": harmonic(same, len(plain_answer), len(plain_reference)) if some else both_empty,
        "squad_em": float(squad_answer == squad_reference),
        "squad_f1": harmonic(shared(squad_answer, squad_reference), len(squad_answer), len(squad_reference)),
        "jaccard": len(questioned & answered) / len(questioned | answered) if questioned or answered else math.nan,
        "answer_length": float(len(answer)),
        "answer_words": float(len(words)),
        "politeness": min(0.5 * sum(marker in lower for marker in MARKERS), 1.0),
        "abstained": float(UNKNOWN.match(answer) is not None),
        "idk_citations": float(sum(bool(UNKNOWN.search(s) and CITATION.search(s)) for s in SENTENCE.split(answer))),
    }


def every_metric(questions: Strings, answers: Strings, references: Strings) -> dict[str, Scores]:
    """Every score of every row, as columns."""
    rows = [row(*texts) for texts in zip(questions, answers, references, strict=True)]
    return {name: [scores[name] for scores in rows] for name in rows[0]} if rows else {}


def token_f1(answers: Strings, references: Strings) -> Scores:
    """Token F1 alone, as a user would write it."""

    def score(answer: str, reference: str) -> float:
        a, b = plain(answer.lower()), plain(reference.lower())
        return harmonic(shared(a, b), len(a), len(b)) if a and b else float(a == b)

    return [score(*texts) for texts in zip(answers, references, strict=True)]


def keyword_recall(answers: Strings, references: Strings) -> Scores:
    """Keyword recall alone."""

    def score(answer: str, reference: str) -> float:
        expected = light(reference.lower())
        return len(light(answer.lower()) & expected) / len(expected) if expected else 0.0

    return [score(*texts) for texts in zip(answers, references, strict=True)]


def jaccard(answers: Strings, references: Strings) -> Scores:
    """Word-set Jaccard alone."""

    def score(first: str, second: str) -> float:
        a, b = set(WORD.findall(first.lower())), set(WORD.findall(second.lower()))
        return len(a & b) / len(a | b) if a or b else math.nan

    return [score(*texts) for texts in zip(answers, references, strict=True)]


def squad_normalize(text: str) -> str:
    """The official script's normalisation, step by step as it does it."""
    banned = set(string.punctuation)
    plain = "".join(character for character in text.lower() if character not in banned)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def squad_f1(answers: Strings, references: Strings) -> Scores:
    """What the official script computes for each row, at its own pace."""

    def score(answer: str, reference: str) -> float:
        a, b = squad_normalize(answer).split(), squad_normalize(reference).split()
        return harmonic(sum((Counter(a) & Counter(b)).values()), len(a), len(b))

    return [score(*texts) for texts in zip(answers, references, strict=True)]


def squad_em(answers: Strings, references: Strings) -> Scores:
    """What the official script computes for each row."""
    return [float(squad_normalize(a) == squad_normalize(b)) for a, b in zip(answers, references, strict=True)]


def rouge(name: str) -> Callable[[Strings, Strings], Scores]:
    """One F measure of rouge_score."""

    def score(answers: Strings, references: Strings) -> Scores:
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer([name])
        return [scorer.score(b, a)[name].fmeasure for a, b in zip(answers, references, strict=True)]

    return score


def bleu(answers: Strings, references: Strings) -> Scores:
    """sacreBLEU's sentence BLEU."""
    import sacrebleu

    return [sacrebleu.sentence_bleu(a, [b]).score for a, b in zip(answers, references, strict=True)]


def chrf(answers: Strings, references: Strings) -> Scores:
    """sacreBLEU's sentence chrF."""
    import sacrebleu

    return [sacrebleu.sentence_chrf(a, [b]).score for a, b in zip(answers, references, strict=True)]


PEERS: dict[str, Callable[[Strings, Strings], Scores]] = {
    "token_f1": token_f1,
    "keyword_recall": keyword_recall,
    "jaccard": jaccard,
    "squad_em": squad_em,
    "squad_f1": squad_f1,
    "rouge1_f1": rouge("rouge1"),
    "rouge2_f1": rouge("rouge2"),
    "rougeL_f1": rouge("rougeL"),
    "bleu": bleu,
    "chrf": chrf,
}
"""The peer of each of our metrics that compare two columns: answers and references in, one score a row out."""

METRICS = tuple(row("", "", ""))
"""What :func:`row` scores."""


def score_file(source: str, target: str) -> None:
    """Score a Parquet file batch by batch into another."""
    columns = ["question", "answer", "reference"]
    schema = pa.schema([(name, pa.float64()) for name in METRICS])
    with pq.ParquetFile(source) as file, pq.ParquetWriter(target, schema) as out:
        for batch in file.iter_batches(columns=columns):
            texts = [batch[name].to_pylist() for name in columns]
            out.write_batch(pa.record_batch(every_metric(*texts), schema=schema))


def copy_file(source: str, target: str, threads: int) -> None:
    """The floor for any scorer: read the same columns with pyarrow, write as many floats.

    With one thread, pyarrow decodes the columns one after another, else each on one of its own threads.
    """
    columns = ["question", "answer", "reference"]
    schema = pa.schema([(name, pa.float64()) for name in METRICS])
    with pq.ParquetFile(source) as file, pq.ParquetWriter(target, schema) as out:
        for batch in file.iter_batches(batch_size=50_000, columns=columns, use_threads=threads > 1):
            lengths = pc.binary_length(batch["answer"]).cast(pa.float64())
            out.write_batch(pa.record_batch([pc.divide(lengths, i + 3.0) for i in range(len(METRICS))], schema=schema))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description="Score a Parquet file row by row.")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--floor", action="store_true", help="score nothing: only read and write with pyarrow")
    parser.add_argument("--threads", type=int, choices=(1, 2), default=2, help="with --floor: 1 for one thread alone")
    options = parser.parse_args()
    if options.floor:
        copy_file(options.source, options.target, options.threads)
    else:
        score_file(options.source, options.target)


if __name__ == "__main__":
    main()
