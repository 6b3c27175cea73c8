"""Public names of fastmetrics.  Written by scripts/docs.py from the declarations; edit those."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastmetrics.base.errors import ColumnError as ColumnError
from fastmetrics.base.errors import FastmetricsError as FastmetricsError
from fastmetrics.base.errors import FileFormatError as FileFormatError
from fastmetrics.base.errors import InputError as InputError
from fastmetrics.base.errors import MissingExtraError as MissingExtraError
from fastmetrics.base.errors import ModelCallError as ModelCallError
from fastmetrics.base.errors import OptionError as OptionError
from fastmetrics.base.errors import OutputError as OutputError
from fastmetrics.base.errors import PluginError as PluginError
from fastmetrics.base.errors import ScoreWarning as ScoreWarning
from fastmetrics.base.errors import ServiceError as ServiceError
from fastmetrics.base.errors import UnknownNameError as UnknownNameError
from fastmetrics.base.errors import WorkerError as WorkerError
from fastmetrics.engines.column_maker import RayCluster as RayCluster
from fastmetrics.fitting.fit import fit as fit
from fastmetrics.logs.cache_hit_rate import cache_hit_rate as cache_hit_rate
from fastmetrics.logs.check_dataset import check_dataset as check_dataset
from fastmetrics.logs.chunk_utilization import chunk_utilization as chunk_utilization
from fastmetrics.logs.context_preservation import context_preservation as context_preservation
from fastmetrics.logs.domain_analysis import domain_analysis as domain_analysis
from fastmetrics.logs.topic_coverage import topic_coverage as topic_coverage
from fastmetrics.metrics.answerability import AbstentionF1
from fastmetrics.metrics.bleu import BleuScore
from fastmetrics.metrics.corpus_chrf import ChrfScore
from fastmetrics.metrics.edit_distance import ErrorRate
from fastmetrics.metrics.edit_distance import ErrorRate
from fastmetrics.metrics.grounding import grounding_evidence as grounding_evidence
from fastmetrics.metrics.metric import metric as metric
from fastmetrics.metrics.plugins import load_plugin as load_plugin
from fastmetrics.metrics.repeated_questions import Repeats
from fastmetrics.metrics.repeated_questions import Repeats
from fastmetrics.metrics.repeated_questions import Repeats
from fastmetrics.metrics.repeated_questions import Repeats
from fastmetrics.metrics.risk import Aurc
from fastmetrics.metrics.ter import TerScore
from fastmetrics.metrics.tokenizers import tokenizer as tokenizer
from fastmetrics.models.answer import answer as answer
from fastmetrics.models.bots import FullContextBot as FullContextBot
from fastmetrics.models.bots import FunctionBot as FunctionBot
from fastmetrics.models.bots import GivenContextsBot as GivenContextsBot
from fastmetrics.models.call_store import stored_calls as stored_calls
from fastmetrics.models.calls import ModelReply as ModelReply
from fastmetrics.models.clients import ClientSettings as ClientSettings
from fastmetrics.models.clients import ModelRequest as ModelRequest
from fastmetrics.models.clients import model_client as model_client
from fastmetrics.models.embed import embed as embed
from fastmetrics.models.judge import judge as judge
from fastmetrics.models.judge_batch import JudgeSettings as JudgeSettings
from fastmetrics.reporting.evaluate_rag import ChunkSettings as ChunkSettings
from fastmetrics.reporting.evaluate_rag import evaluate_rag as evaluate_rag
from fastmetrics.reporting.plot import plot as plot
from fastmetrics.reporting.report import report as report
from fastmetrics.results.compare import compare as compare
from fastmetrics.results.compare_rankings import compare_rankings as compare_rankings
from fastmetrics.results.distributions import correlations as correlations
from fastmetrics.results.distributions import histograms as histograms
from fastmetrics.results.estimate import estimate as estimate
from fastmetrics.results.gate import gate as gate
from fastmetrics.results.judge_report import judge_report as judge_report
from fastmetrics.results.open_runs import list_runs as list_runs
from fastmetrics.results.power import power as power
from fastmetrics.results.primary_table import primary_table as primary_table
from fastmetrics.results.repeats import repeats as repeats
from fastmetrics.results.sample_rows import sample_rows as sample_rows
from fastmetrics.results.summarize_by import summarize_by as summarize_by
from fastmetrics.results.summary import side_by_side as side_by_side
from fastmetrics.results.summary import summarize as summarize
from fastmetrics.results.trend import trend as trend
from fastmetrics.results.validate import validate as validate
from fastmetrics.results.worst_rows import worst_rows as worst_rows
from fastmetrics.retrieval.faq import StrictMatchBot as StrictMatchBot
from fastmetrics.retrieval.faq import match as match
from fastmetrics.retrieval.faq import match_faq as match_faq
from fastmetrics.retrieval.rank import rank as rank
from fastmetrics.scoring.assert_scores import assert_scores as assert_scores
from fastmetrics.scoring.found_columns import columns as columns
from fastmetrics.scoring.frames import datasets as datasets
from fastmetrics.scoring.frames import duckdb as duckdb
from fastmetrics.scoring.frames import pandas as pandas
from fastmetrics.scoring.frames import polars as polars
from fastmetrics.scoring.frames.with_scores import with_scores as with_scores
from fastmetrics.scoring.metric_functions import anchors as anchors
from fastmetrics.scoring.metric_functions import rouge as rouge
from fastmetrics.scoring.metric_functions import verdicts as verdicts
from fastmetrics.scoring.pairwise_scores import pairwise_scores as pairwise_scores
from fastmetrics.scoring.profile import profile as profile
from fastmetrics.scoring.profile import warm_up as warm_up
from fastmetrics.scoring.score import score as score
from fastmetrics.stats.agreement import Agreement
from fastmetrics.stats.agreement import agreement as agreement
from fastmetrics.stats.agreement import cohen_kappa as cohen_kappa
from fastmetrics.stats.agreement import krippendorff_alpha as krippendorff_alpha
from fastmetrics.stats.judge_quality import bradley_terry as bradley_terry
from fastmetrics.stats.judge_quality import judge_consistency as judge_consistency
from fastmetrics.stats.judge_quality import judge_decisions as judge_decisions
from fastmetrics.stats.judge_quality import judge_error_rate as judge_error_rate
from fastmetrics.stats.judge_quality import judge_latency as judge_latency
from fastmetrics.stats.judge_quality import pairwise as pairwise
from fastmetrics.stats.pass_at_k import pass_at_k as pass_at_k
from fastmetrics.stats.pass_at_k import pass_hat_k as pass_hat_k
from fastmetrics.stats.promises import CutPromises as CutPromises
from fastmetrics.stats.risk_coverage import risk_coverage as risk_coverage
from fastmetrics.tables.input_files import ReadSettings as ReadSettings
from fastmetrics.tables.opening import FileSettings as FileSettings
from fastmetrics.vectors.embedder import Embedder as Embedder
from fastmetrics.vectors.geometry import Geometry
from fastmetrics.vectors.geometry import geometry as geometry
from fastmetrics.vectors.neighbors import Index as Index
from fastmetrics.vectors.neighbors import nearest as nearest
from fastmetrics.vectors.pgvector import load_vectors as load_vectors
from fastmetrics.vectors.projection import project as project
from fastmetrics.vectors.search import search as search

__all__ = [
    "ChunkSettings",
    "ClientSettings",
    "ColumnError",
    "CutPromises",
    "Embedder",
    "FastmetricsError",
    "FileFormatError",
    "FileSettings",
    "FullContextBot",
    "FunctionBot",
    "GivenContextsBot",
    "Index",
    "InputError",
    "JudgeSettings",
    "MissingExtraError",
    "ModelCallError",
    "ModelReply",
    "ModelRequest",
    "OptionError",
    "OutputError",
    "PluginError",
    "RayCluster",
    "ReadSettings",
    "ScoreWarning",
    "ServiceError",
    "StrictMatchBot",
    "UnknownNameError",
    "WorkerError",
    "__version__",
    "abstained",
    "abstention_f1",
    "agreement",
    "anchors",
    "answer",
    "answer_in_context",
    "answer_length",
    "answer_rate",
    "answer_relevance",
    "answer_words",
    "answered_unanswerable",
    "assert_scores",
    "aurc",
    "average_precision",
    "bleu",
    "bradley_terry",
    "cache_hit_rate",
    "cer",
    "check_dataset",
    "choice_match",
    "chrf",
    "chunk_utilization",
    "citation_precision",
    "citation_recall",
    "cohen_kappa",
    "coherence",
    "columns",
    "compare",
    "compare_rankings",
    "completion_tokens",
    "conclusion_score",
    "confidence",
    "connector_score",
    "context_preservation",
    "corpus_bleu",
    "corpus_cer",
    "corpus_chrf",
    "corpus_ter",
    "corpus_wer",
    "correct_abstention",
    "correlations",
    "cover_match",
    "diversity_score",
    "domain_analysis",
    "dot_similarity",
    "drift",
    "embed",
    "embedding_geometry",
    "estimate",
    "euclidean_distance",
    "evaluate_rag",
    "exact_match",
    "fit",
    "gate",
    "geometry",
    "grounding_evidence",
    "grounding_overlap",
    "hallucination",
    "hallucination_risk",
    "histograms",
    "hit_rate",
    "idk_citations",
    "introduction_score",
    "jaccard",
    "judge",
    "judge_answer_faithfulness",
    "judge_answer_relevance",
    "judge_consistency",
    "judge_correctness",
    "judge_decisions",
    "judge_e2e",
    "judge_error_rate",
    "judge_latency",
    "judge_report",
    "keyword_completeness",
    "keyword_coverage",
    "keyword_recall",
    "krippendorff_alpha",
    "latency_ms",
    "length_score",
    "levenshtein_ratio",
    "list_runs",
    "load_plugin",
    "load_vectors",
    "match",
    "match_faq",
    "metric",
    "model_client",
    "ndcg",
    "nearest",
    "negation_mismatch",
    "novel_bigram_rate",
    "novel_name_rate",
    "novel_number_rate",
    "novel_word_rate",
    "number_match",
    "overall_accuracy",
    "overall_quality",
    "overlap_faithfulness",
    "pairwise",
    "pairwise_scores",
    "paragraph_score",
    "pass_at_k",
    "pass_hat_k",
    "plot",
    "politeness",
    "power",
    "primary_table",
    "profile",
    "project",
    "prompt_tokens",
    "pronoun_score",
    "question_score",
    "r_precision",
    "rank",
    "rater_agreement",
    "reciprocal_rank",
    "repeated_ids",
    "repeats",
    "repetition_score",
    "report",
    "response_exact_match_rate",
    "response_semantic_consistency",
    "retrieval_consistency",
    "retrieval_f1",
    "retrieval_precision",
    "retrieval_rbo",
    "retrieval_recall",
    "risk_coverage",
    "rouge",
    "sample_rows",
    "score",
    "search",
    "semantic_similarity",
    "side_by_side",
    "sophistication_score",
    "squad_em",
    "squad_f1",
    "stored_calls",
    "structure_score",
    "summarize",
    "summarize_by",
    "task_score",
    "ter",
    "tfidf_cosine",
    "token_cosine",
    "token_f1",
    "token_precision",
    "token_recall",
    "tokenizer",
    "topic_coverage",
    "topic_score",
    "total_tokens",
    "trend",
    "validate",
    "verdict",
    "verdicts",
    "vocabulary_score",
    "warm_up",
    "wer",
    "with_scores",
    "worst_rows",
    "writing_completeness",
    "wrong_on_answerable",
]

__version__: str
HOMES: dict[str, str]
EXCEPTIONS: tuple[str, ...]
MODULES: tuple[str, ...]

def public_names() -> list[str]: ...

Column: TypeAlias = Any
"""A column: an Arrow array, a NumPy array, a pandas or Polars series, or a list with one value a row."""

def exact_match(answer: Column, reference: Column, *, normalize: Literal['split', 'plain'] = 'split', threads: int | None = None) -> NDArray[np.float64]:
    """1 if answer and reference are equal after normalisation, else 0."""

def keyword_recall(answer: Column, reference: Column, *, tokenizer: str = 'light', threads: int | None = None) -> NDArray[np.float64]:
    """Share of the reference's distinct words that occur in the answer."""

def token_cosine(answer: Column, reference: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Cosine of the binary word vectors of answer and reference."""

def token_f1(answer: Column, reference: Column, *, tokenizer: str = 'plain', threads: int | None = None) -> NDArray[np.float64]:
    """Harmonic mean of token precision and recall: the word overlap of answer and reference."""

def token_precision(answer: Column, reference: Column, *, tokenizer: str = 'plain', threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's tokens that also occur in the reference."""

def token_recall(answer: Column, reference: Column, *, tokenizer: str = 'plain', threads: int | None = None) -> NDArray[np.float64]:
    """Share of the reference's tokens that also occur in the answer."""

def jaccard(question: Column, answer: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the distinct words of question and answer that occur in both."""

def answer_length(answer: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Number of characters (Unicode code points) of the answer."""

def answer_words(answer: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    r"""Number of ``words`` (maximal runs of ``\w``) of the answer."""

def politeness(answer: Column, *, markers: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """Number of politeness markers in the answer; two give the full score."""

def squad_em(answer: Column, reference: Column, *, version: Literal[1, 2] = 1, threads: int | None = None) -> NDArray[np.float64]:
    """SQuAD's exact match: 1 if answer and reference are equal after the official normalisation."""

def squad_f1(answer: Column, reference: Column, *, version: Literal[1, 2] = 1, threads: int | None = None) -> NDArray[np.float64]:
    """SQuAD's token F1 after the official normalisation."""

def abstained(answer: Column, *, phrases: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """1 if the answer as a whole says "I don't know" in English or Russian, else 0."""

def idk_citations(answer: Column, *, phrases: Sequence[str] = ..., pattern: str = '\\[\\d+\\]', threads: int | None = None) -> NDArray[np.float64]:
    """Number of "I don't know" sentences of the answer with a citation; the sum over a table should be 0."""

def cover_match(answer: Column, reference: Column, *, tokenizer: str = 'plain', require: Literal['any', 'all'] = 'any', threads: int | None = None) -> NDArray[np.float64]:
    """1 if the answer contains the reference as contiguous words, else 0."""

def answer_in_context(contexts: Column, reference: Column, *, k: int | None = None, tokenizer: str = 'plain', require: Literal['any', 'all'] = 'any', threads: int | None = None) -> NDArray[np.float64]:
    """1 if a context contains the correct answer as contiguous words, else 0."""

def choice_match(answer: Column, reference: Column, choices: Column = None, *, threads: int | None = None) -> NDArray[np.float64]:
    """1 if the answer states the choice that is right, else 0."""

def number_match(answer: Column, reference: Column, *, absolute: float = 0.0, relative: float = 0.0, which: Literal['any', 'last'] = 'any', threads: int | None = None) -> NDArray[np.float64]:
    """1 if the answer states the number, date, time, or yes or no of the reference, else 0."""

def wer(answer: Column, reference: Column, *, tokenizer: str = 'none', threads: int | None = None) -> NDArray[np.float64]:
    """Word error rate: the edits that turn the reference into the answer, for each word of the reference."""

def cer(answer: Column, reference: Column, *, lowercase: bool = False, threads: int | None = None) -> NDArray[np.float64]:
    """Character error rate: the edits that turn the reference into the answer, for each character of the reference."""

def levenshtein_ratio(answer: Column, reference: Column, *, lowercase: bool = False, substitution_cost: Literal[1, 2] = 1, threads: int | None = None) -> NDArray[np.float64]:
    """Similarity of the characters of answer and reference by their edit distance."""

def corpus_wer(answer: Column, reference: Column, *, tokenizer: str = 'none', threads: int | None = None) -> ErrorRate:
    """Word error rate of all answers together: all edits over all words of the references."""

def corpus_cer(answer: Column, reference: Column, *, lowercase: bool = False, threads: int | None = None) -> ErrorRate:
    """Character error rate of all answers together: all edits over all characters of the references."""

def ter(answer: Column, reference: Column, *, normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False, threads: int | None = None) -> NDArray[np.float64]:
    """Translation edit rate of each answer against all its references, in per cent: sacreBLEU's ``sentence_score``."""

def corpus_ter(answer: Column, reference: Column, *, normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False, threads: int | None = None) -> TerScore:
    """Translation edit rate of all answers together, in per cent: sacreBLEU's ``corpus_score``."""

def correct_abstention(answer: Column, answerable: Column = None, reference: Column = None, *, phrases: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """1 if the answer to an unanswerable question abstains, 0 if it does not; NaN for an answerable question."""

def answered_unanswerable(answer: Column, answerable: Column = None, reference: Column = None, *, phrases: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """1 if an unanswerable question is answered, 0 if the answer abstains; NaN for an answerable question."""

def wrong_on_answerable(answer: Column, answerable: Column = None, reference: Column = None, *, phrases: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """1 if the answer to an answerable question shares no word with any reference, else 0."""

def answer_rate(answer: Column, *, phrases: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """1 if the answer does not abstain, else 0: 1 - ``abstained``; the mean is the share of answered questions."""

def overall_accuracy(answer: Column, answerable: Column = None, reference: Column = None, *, phrases: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """1 if the system abstained on an unanswerable question, or matched a reference of an answerable one."""

def abstention_f1(answer: Column, answerable: Column = None, reference: Column = None, *, phrases: Sequence[str] = ..., threads: int | None = None) -> AbstentionF1:
    """F1 of abstention as a decision, over a table; unanswerable questions are positive."""

def confidence(confidence: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """The system's confidence in its answer, as logged; larger is more confident."""

def aurc(confidence: Column, answer: Column = None, reference: Column = None, answerable: Column = None, *, quality: str = 'token_f1', threads: int | None = None) -> Aurc:
    """Area under the risk-coverage curve: the mean risk among the i most confident rows, over all i from 1 to n."""

def grounding_overlap(answer: Column, contexts: Column, context_ids: Column = None, *, threshold: float = 0.65, phrases: Sequence[str] = ..., pattern: str = '\\[([0-9]+)\\]', embedder: Any = None, cache: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's sentences that the cited context supports."""

def overlap_faithfulness(answer: Column, contexts: Column, answerable: Column = None, reference: Column = None, context_ids: Column = None, *, threshold: float = 0.65, phrases: Sequence[str] = ..., pattern: str = '\\[([0-9]+)\\]', embedder: Any = None, cache: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Faithfulness from grounding: min(1, 0.6 + 0.4·grounding_overlap), 0 for abstaining on an answerable question."""

def citation_precision(answer: Column, contexts: Column, context_ids: Column = None, *, threshold: float = 0.65, phrases: Sequence[str] = ..., pattern: str = '\\[([0-9]+)\\]', embedder: Any = None, cache: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's citations that support their sentence."""

def citation_recall(answer: Column, contexts: Column, context_ids: Column = None, *, threshold: float = 0.65, phrases: Sequence[str] = ..., pattern: str = '\\[([0-9]+)\\]', embedder: Any = None, cache: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's statements that a cited context supports."""

def bleu(answer: Column, reference: Column, *, tokenizer: Literal['13a', 'zh', 'intl', 'char', 'none', 'ja-mecab', 'ko-mecab', 'spm', 'flores101', 'flores200', 'spBLEU-1K'] = '13a', lowercase: bool = False, smooth_method: Literal['exp', 'floor', 'add-k', 'none'] = 'exp', smooth_value: float | None = None, max_ngram_order: int = 4, effective_order: bool = True, threads: int | None = None) -> NDArray[np.float64]:
    """BLEU of each answer against all its references, from 0 to 100: sacreBLEU's ``sentence_bleu``."""

def corpus_bleu(answer: Column, reference: Column, *, tokenizer: Literal['13a', 'zh', 'intl', 'char', 'none', 'ja-mecab', 'ko-mecab', 'spm', 'flores101', 'flores200', 'spBLEU-1K'] = '13a', lowercase: bool = False, smooth_method: Literal['exp', 'floor', 'add-k', 'none'] = 'exp', smooth_value: float | None = None, max_ngram_order: int = 4, effective_order: bool = False, threads: int | None = None) -> BleuScore:
    """BLEU of all answers together, from 0 to 100: sacreBLEU's ``corpus_bleu``."""

def chrf(answer: Column, reference: Column, *, char_order: int = 6, word_order: int = 0, beta: float = 2, lowercase: bool = False, whitespace: bool = False, eps_smoothing: bool = False, threads: int | None = None) -> NDArray[np.float64]:
    """Character n-gram F-score of each answer, from 0 to 100: sacreBLEU's ``sentence_chrf``."""

def corpus_chrf(answer: Column, reference: Column, *, char_order: int = 6, word_order: int = 0, beta: float = 2, lowercase: bool = False, whitespace: bool = False, eps_smoothing: bool = False, threads: int | None = None) -> ChrfScore:
    """Character n-gram F-score of all answers together, from 0 to 100: sacreBLEU's ``corpus_chrf``."""

def tfidf_cosine(question: Column, answer: Column, *, idf: Literal['pair', 'corpus'] = 'pair', threads: int | None = None) -> NDArray[np.float64]:
    """Cosine of the TF-IDF vectors of question and answer, equal to scikit-learn's ``TfidfVectorizer()``."""

def keyword_completeness(question: Column, answer: Column, *, stop_words: Sequence[str] = ..., threads: int | None = None) -> NDArray[np.float64]:
    """Share of the question's keywords that occur in the answer."""

def drift(answer: Column, contexts: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """0.2 if less than a fifth of the answer's word pairs occur in the contexts, else 0."""

def hallucination(answer: Column, contexts: Column, *, window: int = 30, claims: str | Callable[[str], Any] = 'triples', threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's checkable facts that its contexts do not support; 0 is best."""

def hallucination_risk(answer: Column, contexts: Column, *, threshold: float = 0.6, window: int = 30, claims: str | Callable[[str], Any] = 'triples', threads: int | None = None) -> NDArray[np.float64]:
    """1 if ``hallucination`` is higher than ``threshold``, else 0; accepts its options."""

def answer_relevance(question: Column, answer: Column, *, idf: Literal['pair', 'corpus'] = 'pair', threads: int | None = None) -> NDArray[np.float64]:
    """Word similarity of question and answer: (``tfidf_cosine`` + ``jaccard``) / 2."""

def verdict(question: Column, answer: Column, contexts: Column, *, hallucination_threshold: float = 0.5, relevance_threshold: float = 0.1, completeness_threshold: float = 0.6, window: int = 30, stop_words: Sequence[str] = ..., claims: str | Callable[[str], Any] = 'triples', fitted: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """1 for PASS, 0.5 for WARN, 0 for FAIL; ``fm.verdicts`` returns it as a word, with the reasons."""

def novel_word_rate(answer: Column, contexts: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's content words that no context contains in any form."""

def novel_bigram_rate(answer: Column, contexts: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's pairs of adjacent words that are adjacent in no context."""

def novel_name_rate(answer: Column, contexts: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the names in the answer that no context contains."""

def novel_number_rate(answer: Column, contexts: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's numbers, dates and times that no context contains."""

def negation_mismatch(answer: Column, contexts: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the answer's content words that the contexts contain, but with the opposite polarity alone."""

def connector_score(answer: Column, *, connector_share: float = 0.3, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Connectors ("however", "as a result") relative to three in ten sentences: min(connectors / (0.3 · sentences), 1)."""

def pronoun_score(answer: Column, *, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Share of third-person pronouns with a possible referent: 1 - unclear / total, 1 without pronouns."""

def topic_score(answer: Column, *, topic_threshold: float = 0.0, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Share of sentences that continue a topic: 1 - shifts / sentences; undefined for fewer than two sentences."""

def keyword_coverage(question: Column, answer: Column, *, length_ratio: float = 2.5, keyword_share: float = 0.6, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """0.6 · share of the prompt's keywords in the answer + 0.4 · min(1, words / (2.5 · words of the prompt))."""

def question_score(question: Column, answer: Column, *, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the prompt's questions for which the answer contains half of the keywords; undefined without questions."""

def task_score(question: Column, answer: Column, *, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Share of the prompt's tasks whose object the answer covers; undefined without tasks."""

def paragraph_score(answer: Column, *, paragraph_words: int = 100, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """min(paragraphs / ⌈words / 100⌉, 1); ``paragraph_words`` replaces 100."""

def introduction_score(answer: Column, question: Column = None, *, opening_characters: int = 20, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """1 if the first sentence is longer than 20 characters and contains a keyword of the question, else 0."""

def conclusion_score(answer: Column, *, closing_characters: int = 15, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """1 if the last sentence is longer than 15 characters and contains a summary word ("overall"), else 0."""

def diversity_score(answer: Column, *, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Distinct words / words; undefined without words."""

def sophistication_score(answer: Column, *, sophisticated_letters: int = 6, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Words of more than six letters that are not common / words; undefined without words."""

def repetition_score(answer: Column, *, repeats: int = 3, counted: Literal['words', 'tokens'] = 'words', tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """1 - distinct words that occur more than three times / words; undefined without words."""

def coherence(answer: Column, *, connector_share: float = 0.3, topic_threshold: float = 0.0, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Coherence of the sentences: mean of ``connector_score``, ``pronoun_score`` and ``topic_score``."""

def writing_completeness(question: Column, answer: Column, *, length_ratio: float = 2.5, keyword_share: float = 0.6, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Coverage of the prompt: mean of ``keyword_coverage``, ``question_score`` and ``task_score``."""

def length_score(question: Column, answer: Column, *, length_ratio: float = 2.5, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    r"""Closeness to 2.5 words per word of the question: max(0, 1 - \|ln(words / (2.5 · words of it))\|)."""

def structure_score(answer: Column, question: Column = None, *, paragraph_words: int = 100, opening_characters: int = 20, closing_characters: int = 15, tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Structure of the answer: mean of ``paragraph_score``, ``introduction_score`` and ``conclusion_score``."""

def vocabulary_score(answer: Column, *, sophisticated_letters: int = 6, repeats: int = 3, counted: Literal['words', 'tokens'] = 'words', tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Richness of the words: mean of ``diversity_score``, ``sophistication_score`` and ``repetition_score``."""

def overall_quality(question: Column, answer: Column, *, weights: Sequence[float] = ..., connector_share: float = 0.3, topic_threshold: float = 0.0, length_ratio: float = 2.5, paragraph_words: int = 100, sophisticated_letters: int = 6, keyword_share: float = 0.6, opening_characters: int = 20, closing_characters: int = 15, repeats: int = 3, counted: Literal['words', 'tokens'] = 'words', tokenizer: Literal['words', 'ascii_words'] = 'words', language: Literal['any', 'en', 'ru'] = 'any', lexicons: str | None = None, threads: int | None = None) -> NDArray[np.float64]:
    """Weighted mean of the five writing scores."""

def hit_rate(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, k: int | None = None, relevance_level: float = 1, no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """1 if any of the first ``k`` retrieved documents is relevant, else 0 (trec_eval's success_k)."""

def reciprocal_rank(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, k: int | None = None, relevance_level: float = 1, no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """1 / rank of the first relevant document; 0 if there is none among the first ``k``.  Its mean is MRR."""

def retrieval_recall(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, k: int | None = None, relevance_level: float = 1, no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """Share of the relevant documents among the first ``k`` retrieved documents."""

def retrieval_precision(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, k: int | None = None, relevance_level: float = 1, no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """Share of relevant documents among the first ``k`` positions."""

def retrieval_f1(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, k: int | None = None, relevance_level: float = 1, no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """Harmonic mean of precision and recall of the first ``k`` documents."""

def average_precision(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, k: int | None = None, relevance_level: float = 1, no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """Sum of the precisions at the relevant documents among the first ``k``, divided by |G|.  Its mean is MAP."""

def r_precision(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, relevance_level: float = 1, no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """Precision at the rank equal to the number of relevant documents."""

def ndcg(retrieved_ids: Column, relevant_ids: Column, relevance: Column = None, *, k: int | None = None, gain: Literal['linear', 'exponential'] = 'linear', no_relevant: Literal['undefined', 'zero'] = 'undefined', threads: int | None = None) -> NDArray[np.float64]:
    """Discounted gain of the first ``k`` documents, divided by that of the ideal ranking."""

def repeated_ids(retrieved_ids: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Number of positions in a ranking that repeat an earlier id, and so do not count."""

def retrieval_consistency(question: Column, retrieved_ids: Column, answer_call: Column = None, *, k: int = 10, against: Literal['pairs', 'first'] = 'pairs', threads: int | None = None) -> Repeats:
    """Overlap of the first ``k`` documents of the repeats of a query."""

def retrieval_rbo(question: Column, retrieved_ids: Column, answer_call: Column = None, *, p: float = 0.9, threads: int | None = None) -> Repeats:
    """Rank-biased overlap of the rankings of the repeats of a query."""

def semantic_similarity(answer_embedding: Column, reference_embedding: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Cosine of the embeddings of answer and reference."""

def dot_similarity(answer_embedding: Column, reference_embedding: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Dot product of the embeddings of answer and reference."""

def euclidean_distance(answer_embedding: Column, reference_embedding: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Euclidean distance between the embeddings of answer and reference; lower is more similar."""

def response_exact_match_rate(answer: Column, question: Column, answer_call: Column = None, *, against: Literal['pairs', 'first'] = 'pairs', threads: int | None = None) -> Repeats:
    """Share of the pairs of answers to one question that are equal strings."""

def response_semantic_consistency(answer_embedding: Column, question: Column, answer_call: Column = None, *, threads: int | None = None) -> Repeats:
    """Mean cosine of the embeddings of all pairs of answers to one question."""

def embedding_geometry(embedding: Column, *, metric: Literal['cosine', 'euclidean'] = 'cosine', k: int = 10, seed: int = 0, threads: int | None = None) -> Geometry:
    """The geometry of a column of vectors: the values of ``geometry``, each a figure of the table."""

def latency_ms(latency_ms: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Milliseconds from request to answer, as logged."""

def prompt_tokens(prompt_tokens: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Tokens of the prompt, as logged; for a list of rounds, their sum."""

def completion_tokens(completion_tokens: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """Tokens of the answer, as logged; for a list of rounds, their sum."""

def total_tokens(total_tokens: Column = None, prompt_tokens: Column = None, completion_tokens: Column = None, *, threads: int | None = None) -> NDArray[np.float64]:
    """Tokens of prompt and answer together: as logged, otherwise ``prompt_tokens`` + ``completion_tokens``."""

def rater_agreement(ratings: Column, *, threads: int | None = None) -> Agreement:
    """Agreement between raters: kappa of each pair of raters, and Krippendorff's alphas."""

def judge_answer_faithfulness(judge_answer_faithfulness: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """The judge's score from 0 to 1 of how much of the answer its contexts support (rubric ``answer_faithfulness``)."""

def judge_answer_relevance(judge_answer_relevance: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """The judge's score from 0 to 1 of how well the answer addresses the question (rubric ``answer_relevance``)."""

def judge_correctness(judge_correctness: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """The judge's score from 1 to 5 of the answer's correctness against the reference (rubric ``correctness``)."""

def judge_e2e(judge_e2e: Column, *, threads: int | None = None) -> NDArray[np.float64]:
    """The judge's score from 0 to 1 of the answer as a whole, given question and reference (rubric ``e2e``)."""
