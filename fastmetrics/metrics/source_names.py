"""Every name of a metric, and what it means here: one map for lookups, explanations and messages.

It has the names, aliases and labels of metrics; the names that the sources give to metrics, figures and settings, which
are accepted where a metric is named and listed in docs/sources.md; and names of other numbers, for which a message
suggests what is near: a metric, by its cues, or a rubric that a model judges by.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fastmetrics.base.errors import UnknownNameError, either, fold, nearest, shown
from fastmetrics.metrics.metric import REGISTRY, SOURCES, SPELLINGS

Kind: TypeAlias = Literal["metric", "source", "near"]
"""A name of a metric, a name of a source, or a name of another number that something here is near to."""


@dataclass(frozen=True)
class Name:
    """A name: the metric that it means, its statistic or figure; or an option, command or rubric; what differs."""

    kind: Kind
    name: str
    spec: str = ""
    source: str = ""
    figure: str = ""
    option: str = ""
    command: str = ""
    rubric: str = ""
    differs: str = ""

    @property
    def where(self) -> str:
        """Where the number is: ``idk_citations.sum``, or in words for an option, the figures of a command, a rubric."""
        if self.rubric:
            return f"`fastmetrics judge run --rubrics {self.rubric}`, or fm.judge(table, {self.rubric!r}, model)"
        if self.command:
            return f"fastmetrics {self.command}" + (f", {self.figure}" if self.figure else "")
        if self.option:
            return f"option {self.option} of {self.spec}"
        return f"{self.spec}.{self.figure}" if self.figure else self.spec


def _metrics(source: str, *rows: tuple[str, ...]) -> list[Name]:
    """Names of metrics: the name, the spec, the statistic or figure, and what differs."""
    return [
        Name("source", name, spec, source, figure, differs=" ".join(differs)) for name, spec, figure, *differs in rows
    ]


def _figures(source: str, command: str, *rows: tuple[str, ...]) -> list[Name]:
    """Names of figures of a command: the name, the figure, and what differs."""
    return [
        Name("source", name, source=source, figure=figure, command=command, differs=" ".join(differs))
        for name, figure, *differs in rows
    ]


def _options(source: str, *rows: tuple[str, str, str, str]) -> list[Name]:
    """Names of settings: the name, the metric, its option, and what differs."""
    return [Name("source", name, spec, source, option=option, differs=differs) for name, spec, option, differs in rows]


def _judged(rubric: str, *names: str, differs: str = "") -> list[Name]:
    """Names of what a model judges by a rubric, as in Ragas, and what a metric of a similar name does."""
    return [Name("near", name, rubric=rubric, differs=differs) for name in names]


_GEOMETRY = (
    *("total_samples", "avg_nn_distance", "std_nn_distance", "density_score", "avg_spread", "max_spread"),
    *("spread_std", "effective_dimensionality", "avg_pairwise_distance", "std_pairwise_distance"),
    *("min_pairwise_distance", "max_pairwise_distance"),
)
_SAMPLED = "exact up to some ten thousand vectors, then estimated with a stated error"
_PAIRS = "over all pairs of repeats; against='first' compares each with the first, as the source does"
_SCRIPTS = (
    "the source's formula is the recall and its table the F-measure: all three are metrics; rows that are not Latin "
    "are split into the words of every script, since rouge-score drops them"
)
_RUSSIAN_TOO = "English and Russian word lists; the source's are English"

NAMES: Sequence[Name] = [
    *_metrics(
        "S0",
        *((name, "exact_match", "mean") for name in ("Exact match", "EM")),
        ("Keyword recall", "keyword_recall", "mean"),
        ("Answer length", "answer_length", "mean"),
        ("Politeness heuristic", "politeness", "mean"),
        ("Politeness", "politeness", "mean", "the source names two markers; the built-in list has ten, English alone"),
        ("Latency", "latency_ms", "mean"),
        ("Cosine similarity", "token_cosine", "mean", "the source's between questions; here of any two columns"),
        ("cos(θ)", "token_cosine", "mean"),
        ("Recall(G, E)", "keyword_recall", "mean"),
    ),
    *_figures("S0", "match", ("Semantic search", "the stored answer of highest token_cosine; ties to the first row")),
    *_figures("S0", "answer --bot faq", *((name, "") for name in ("strict semantic-match bot", "Semantic review"))),
    *_figures("S0", "answer --bot full-context", ("full-context bot", "")),
    *_figures("S0", "answer", ("Full-context prompting", "", "the template is an option")),
    *_figures(
        "S0",
        "judge run",
        ("LLM-as-a-judge", "a score, its reason and its status for each rubric", "relevance, faithfulness, safety …"),
    ),
    *_metrics(
        "S1",
        (
            "final_o",
            "grounding_overlap",
            "mean",
            "the splitter keeps citation marks with their sentence; [1, 2], "
            "[1-3] and [^1] are the citations that they list",
        ),
        *((name, "grounding_overlap", "mean") for name in ("Overlap", "Overlap (final_o)")),
        ("final_f", "overlap_faithfulness", "mean", "the fallback; a wrong abstention needs an answerable question"),
        ("Faithfulness (final_f)", "overlap_faithfulness", "mean"),
        ("Avg F1", "token_f1", "mean", "no articles are removed, which SQuAD's squad_f1 does"),
        *((name, "token_f1", "mean") for name in ("F1 Score (Avg F1)", "F1 Score")),
        ("EM", "exact_match(tokenizer='plain')", "mean"),
        ("Abstain Rate", "abstained", "mean", "the phrases are English and Russian, and an option adds others"),
        ("Avg EM", "exact_match(tokenizer='plain')", "mean", '"after normalization" is that of the same source\'s F1'),
        (
            "Avg Total Tokens",
            "total_tokens",
            "mean",
            "rounds may be lists, or rows of one id, which are added; the summary says so",
        ),
        *((name, "total_tokens", "mean") for name in ("Total Tokens", "Total Tokens (Avg Total Tokens)", "Tokens")),
        *((name, "latency_ms", "p50") for name in ("P50 Latency (ms)", "Latency (P50 Latency (ms))")),
        ("Exact Match (Avg EM)", "exact_match(tokenizer='plain')", "mean"),
        *(
            (name, "idk_citations", "sum")
            for name in ("IDK+Cit Count", "IDK + Citation Count", "IDK + Citation Count (IDK+Cit Count)")
        ),
    ),
    *_options(
        "S1",
        ("τ_sim", "grounding_overlap", "threshold", "0.65, the middle of the source's 0.6 to 0.7"),
        ("tau_sim", "grounding_overlap", "threshold", "0.65, the middle of the source's 0.6 to 0.7"),
    ),
    *_figures(
        "S1",
        "summarize --primary",
        ("N", "the number of rows"),
        ("Primary table", "N, Faithfulness, Overlap, F1, Tokens, Latency, Abstain Rate"),
        ("Paired Analysis", "paired", "shares of rows that are high in both figures, in one, or in neither"),
    ),
    *_metrics(
        "S2",
        *((name, "embedding_geometry", name, *([_SAMPLED] if "pairwise" in name else [])) for name in _GEOMETRY),
        ("NN Distance", "embedding_geometry", "avg_nn_distance"),
        ("Spread", "embedding_geometry", "avg_spread"),
        ("Pairwise Distance", "embedding_geometry", "avg_pairwise_distance"),
        *((f"hit_rate@{k}", f"hit_rate@{k}", "mean") for k in (1, 5, 10)),
        *((name, "hit_rate", "mean", "K is a number") for name in ("HitRate@K", "Hit Rate@K")),
        *((name, "reciprocal_rank", "mean") for name in ("mrr", "Mean Reciprocal Rank (MRR)", "Mean Reciprocal Rank")),
        ("ndcg@K", "ndcg", "mean", "K is a number"),
        *((f"{name}@{k}", f"retrieval_{name}@{k}", "mean") for name in ("recall", "precision") for k in (1, 3, 5, 10)),
        *((f"{name}@K", f"retrieval_{name}", "mean", "K is a number") for name in ("recall", "precision")),
        *((f"ndcg@{k}", f"ndcg@{k}", "mean") for k in (5, 10)),
        ("retrieval_consistency", "retrieval_consistency", "", "mean Jaccard " + _PAIRS),
        ("avg_faithfulness", "judge_answer_faithfulness", "mean"),
        ("avg_answer_relevance", "judge_answer_relevance", "mean"),
        ("Answer Relevance", "judge_answer_relevance", "mean"),
        *((name, "judge_answer_faithfulness", "mean") for name in ("Faithfulness (фактичность)", "Фактичность")),
        *((name, "semantic_similarity", "mean") for name in ("Семантическое сходство", "Similarity")),
        ("ROUGE-N", "rouge1_f1(tokenizer='by_script')", "mean", "N is a number"),
        *((name, "bleu", "mean") for name in ("BLEU (Bilingual Evaluation Understudy)",)),
        *(
            (name, "ndcg", "mean", "K is a number")
            for name in (
                *("DCG", "IDCG", "DCG@K", "IDCG@K", "Normalized Discounted Cumulative Gain", "Ideal DCG"),
                *("Discounted Cumulative Gain (DCG)", "Ideal DCG (IDCG)", "Discounted Cumulative Gain"),
            )
        ),
        ("avg_answer_correctness", "judge_correctness", "mean", "1 to 5, so the bands of 0 to 1 do not apply"),
        ("response_exact_match_rate", "response_exact_match_rate", "", _PAIRS),
        ("response_semantic_consistency", "response_semantic_consistency", ""),
        *((f"avg_rouge{n}_f", f"rouge{n}_f1(tokenizer='by_script')", "mean", _SCRIPTS) for n in ("1", "2", "L")),
        *((f"ROUGE-{n}-F", f"rouge{n}_f1(tokenizer='by_script')", "mean") for n in ("1", "2", "L")),
        ("avg_bleu", "bleu", "mean", "the mean of sentence BLEU; corpus_bleu is the one that its bands were made for"),
        *((name, "judge_e2e", "mean") for name in ("avg_e2e_score", "E2E Score")),
        *((name, "semantic_similarity", "mean") for name in ("avg_semantic_similarity", "Semantic Similarity")),
        ("avg_dot_similarity", "dot_similarity", "mean"),
        ("avg_euclidean_distance", "euclidean_distance", "mean"),
    ),
    *_figures(
        "S2",
        "logs cache",
        *((name, "cache_hit_rate") for name in ("cache_hit_rate", "User Experience", "Tier UX", "UX")),
    ),
    *_figures(
        "S2",
        "logs context",
        ("context_preservation", "context_preservation", "sessions of two questions or more"),
        *((name, "context_preservation") for name in ("User Experience", "Tier UX", "UX")),
    ),
    *_figures("S2", "logs chunks", ("chunk_utilization", "utilization_rate")),
    *_figures("S2", "logs topics", ("topic_coverage", ""), ("avg_chunks_per_topic", "avg_chunks_per_topic")),
    *_figures("S2", "logs domains", *((name, "") for name in ("domain_analysis", "Real-users", "Real-Users Data"))),
    *_figures(
        "S2",
        "vectors project",
        *((name, "") for name in ("visualize_vector_space", "visualize_vector_space.py", "Визуальная валидация")),
    ),
    *_figures("S2", "report", ("Dashboard", "one page of charts and rows")),
    *_figures(
        "S2", "vectors project", ("--limit", "--limit, as --sample", "the other rows are placed by their neighbours")
    ),
    *_figures(
        "S2", "vectors project", ("--3d", "--3d, as --dims 3"), ("UMAP", "", "principal components, then neighbours")
    ),
    *_figures(
        "S2",
        "score --suites tier0",
        ("Tier 0", ""),
        ("Embedding Quality (Intrinsic)", ""),
        ("Качество эмбеддингов", ""),
    ),
    *_figures("S2", "score --suites tier1", ("Tier 1", ""), ("Retrieval Accuracy", ""), ("Точность поиска", "")),
    *_figures("S2", "score --suites tier2", ("Tier 2", ""), ("Качество генерации", "")),
    *_figures("S2", "score --suites tier3", ("Tier 3", ""), ("End-to-End", ""), ("Сквозное качество", "")),
    *_figures("S2", "vectors search", ("cosine_distance", "1 minus the similarity that it writes")),
    *_figures(
        "S2",
        "judge report",
        ("consistency_score", "consistency", "a tolerance on rubrics that are not 0 to 1"),
        ("error_rate", "error rate"),
        *(
            (name, "accuracy, precision, recall and F1 beside labels of 0 and 1", "with 95 % intervals")
            for name in ("Production judge", "Tier Judge Pipeline", "Judge Pipeline")
        ),
        ("F1 Score", "F1 beside labels of 0 and 1"),
        *((name, "") for name in ("Tier Judge", "LLM Judge Quality", "Качество LLM-судьи")),
        ("repeatability", "consistency"),
        ("judge reliability", "error rate"),
        ("operational viability", "latency"),
    ),
    *_metrics(
        "S3",
        ("S_rel", "answer_relevance", "mean"),
        ("Relevance Score", "answer_relevance", "mean"),
        ("S_cosine", "tfidf_cosine", "mean", "the texts are those of one row; idf='corpus' takes all rows"),
        ("S_jaccard", "jaccard", "mean"),
        ("S_comp", "keyword_completeness", "mean", "1 for a question without keywords; " + _RUSSIAN_TOO),
        ("Completeness Score", "keyword_completeness", "mean"),
        ("S_hall", "hallucination", "mean"),
        ("Hallucination Score", "hallucination", "mean"),
        (
            "S_claims",
            "unsupported_share",
            "mean",
            "without the drift; a wrong number also fails the claim of its clause; an object of numbers and dates "
            "alone is no claim; a number in brackets, (5), is not negative",
        ),
        ("P_drift", "drift", "mean", "word pairs; an answer of supported values and stop words alone does not drift"),
        ("Topic Drift Gate", "drift", "mean"),
        ("NgramOverlap", "ngram_overlap", "mean"),
        *((name, "anchor_count", "mean") for name in ("A_total", "Anchor Extraction")),
        *((name, "unsupported_count", "mean") for name in ("A_unsupported", "Evidence Matching")),
        ("Verdict Logic", "verdict", "mean"),
        ("Answer Relevance", "answer_relevance", "mean"),
        ("Verdict", "verdict", "mean", "the flag of the score is above 0.6, FAIL above 0.5: the source names both"),
        ("High Hallucination Risk", "hallucination_risk", "mean"),
    ),
    *_options(
        "S3",
        *(
            (name, "keyword_completeness", "stop_words", "what is no stop word; see S_comp")
            for name in ("K_Q", "ExtractKeywords")
        ),
        *(
            (name, "hallucination", "window", "fm.scoring.anchors lists them, and which are supported")
            for name in ("Anchors", "Claim-Based Verification", "Assertive Claims")
        ),
    ),
    *_metrics(
        "S4",
        ("overallScore", "overall_quality", "mean"),
        ("coherenceScore", "coherence", "mean"),
        ("Coherence Score", "coherence", "mean"),
        ("connectorScore", "connector_score", "mean", "the source's example has 0.67 where its formula gives 1"),
        ("pronounScore", "pronoun_score", "mean", "the source says no rule; see the metric for ours"),
        ("topicScore", "topic_score", "mean", "the source says no rule; see the metric for ours"),
        ("completenessScore", "writing_completeness", "mean", "parts that do not apply are left out of the mean"),
        ("Completeness Score", "writing_completeness", "mean", "parts that do not apply are left out of the mean"),
        *(
            (f"{name} Score", f"{metric}_score", "mean")
            for name, metric in (
                *(("Connector", "connector"), ("Pronoun", "pronoun"), ("Topic", "topic"), ("Length", "length")),
                *(("Paragraph", "paragraph"), ("Introduction", "introduction"), ("Conclusion", "conclusion")),
                *(("Diversity", "diversity"), ("Sophistication", "sophistication"), ("Repetition", "repetition")),
            )
        ),
        ("Structure Score", "structure_score", "mean"),
        ("Vocabulary Score", "vocabulary_score", "mean"),
        ("Keyword Coverage", "keyword_coverage", "mean"),
        *((name, "overall_quality", "mean") for name in ("Overall Score Calculation", "Overall Score")),
        ("keywordCoverage", "keyword_coverage", "mean", "the share of the length is at most 1"),
        *((name, "question_score", "mean") for name in ("questionScore", "Question Answering")),
        *((name, "task_score", "mean") for name in ("taskScore", "Task Fulfillment")),
        ("lengthScore", "length_score", "mean", "the source's example counts nine words where there are eight"),
        ("structureScore", "structure_score", "mean"),
        ("paragraphScore", "paragraph_score", "mean"),
        ("introductionScore", "introduction_score", "mean"),
        ("conclusionScore", "conclusion_score", "mean"),
        ("vocabularyScore", "vocabulary_score", "mean"),
        ("diversityScore", "diversity_score", "mean"),
        ("sophisticationScore", "sophistication_score", "mean", "the source's example counts 3 words, its rule 6"),
        (
            "repetitionScore",
            "repetition_score",
            "mean",
            "by distinct words, as the formula says; counted='tokens' beside",
        ),
    ),
    *_options(
        "S4",
        *((name, "length_score", "length_ratio", "") for name in ("optimalRatio", "optimalLength", "expectedLength")),
        *(
            (name, "overall_quality", "weights", "")
            for name in (
                *("weights", "DEFAULT_METRIC_WEIGHTS", "Default Weights", "Configurable Weights", "Weight"),
                "Weighted Average",
            )
        ),
        ("optimalParagraphs", "paragraph_score", "paragraph_words", ""),
        *((name, "connector_score", "connector_share", "") for name in ("Target Ratio", "connectorCount")),
        ("topicShifts", "topic_score", "topic_threshold", ""),
        ("sophisticatedWords", "sophistication_score", "sophisticated_letters", ""),
        ("repeatedWords", "repetition_score", "repeats", ""),
        ("hasIntroduction", "introduction_score", "opening_characters", ""),
        ("hasConclusion", "conclusion_score", "closing_characters", ""),
    ),
    *_judged("correctness", "answer_correctness", "correctness"),
    *_judged("relevance", "relevance", differs="answer_relevance counts common words"),
    *_judged("answer_relevance", "answer_relevancy", differs="the metric answer_relevance counts common words"),
    *_judged("safety", "safety"),
    *_judged("robustness", "robustness"),
    *_judged("supported_claims", "supported_claims"),
    *_judged(
        "supported_claims",
        "faithfulness",
        "faithfulness_metric",
        differs="overlap_faithfulness and hallucination count words",
    ),
    *_judged("context_precision", "context_precision", differs="retrieval_precision compares ids"),
    *_judged("context_recall", "context_recall", differs="retrieval_recall compares ids"),
]
"""Every name in the tables and formulas of the sources that stands for a number, and names of what a model judges."""


_MARKUP = re.compile(r"\\(?:text|operatorname|mathrm)|[$`*{}]|\\(?=_)")
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]\.)\s+")


def _forms(text: str) -> Iterator[str]:
    """A name, and what it is without the marks of a heading or a formula: ``3. Hallucination Score ($S_{hall}$)``.

    >>> list(_forms("3. Hallucination Score ($S_{hall}$)"))[1:]
    ['Hallucination Score (S_hall)', 'Hallucination Score', 'S_hall']
    """
    yield text
    plain = _NUMBERED.sub("", _MARKUP.sub("", text).strip())
    if plain != text:
        yield plain
    head, bracket, inner = plain.partition(" (")
    if bracket and inner.endswith(")"):
        yield from (head, inner[:-1])
    head, colon, rest = plain.partition(": ")
    if colon:
        yield from (rest.partition(" (")[0], head)


def named(name: str, kind: Kind = "source") -> Sequence[Name]:
    """What ``name`` means, by default in the sources, in any letter case; empty for an unknown name.

    >>> [one.where for one in named("iDK+cit count")], [one.where for one in named("tau_sim")]
    (['idk_citations.sum'], ['option threshold of grounding_overlap'])
    >>> [one.spec for one in named("MRR", "metric")], [one.spec for one in named("EM", "near")]
    (['reciprocal_rank'], ['exact_match', 'squad_em'])
    """
    known = _by_name(tuple(SPELLINGS.items()))
    for form in _forms(name):
        meant = [one for one in known.get(fold(form), ()) if one.kind == kind]
        if meant:
            return [one for one in meant if one.name == form] or meant
    return []


@functools.lru_cache(maxsize=1)
def _by_name(spellings: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[Name]]:
    """The map by case-folded name; made again when a metric is declared."""
    own = [Name("metric", spelling, spec) for spelling, spec in spellings]
    cues = [
        Name("near", cue, metric.name, differs=differs)
        for metric in REGISTRY.values()
        for cue, differs in metric.cues.items()
    ]
    found: dict[str, list[Name]] = {}
    for one in (*own, *NAMES, *cues):
        found.setdefault(fold(one.name), []).append(one)
    return found


def explained(one: Name) -> str:
    """What a name of a source or of a rubric means, in words.

    >>> explained(named("avg_nn_distance")[0])
    "'avg_nn_distance' in the RAG benchmark: embedding_geometry.avg_nn_distance"
    >>> explained(named("answer-correctness", "near")[0])
    "a model judges it: `fastmetrics judge run --rubrics correctness`, or fm.judge(table, 'correctness', model)"
    """
    said = f"{one.name!r} in {SOURCES[one.source][0]}" if one.source else "a model judges it"
    return f"{said}: {one.where}" + (f"; {one.differs}" if one.differs else "")


def spec_of(text: str) -> str:
    """The spec that a source's name means, with the options behind it; any other text as it is.

    >>> spec_of("Avg EM"), spec_of("avg_rouge1_f(stemmer=True)"), spec_of("jaccard")
    ("exact_match(tokenizer='plain')", "rouge1_f1(tokenizer='by_script', stemmer=True)", 'jaccard')

    Raises ``UnknownNameError`` for a name of several metrics, and for one of an option or of a command's figure.
    """
    name, bracket, options = text, "", ""
    if " " not in text and any(fold(one.spec) == fold(text) for one in named(text, "metric")):
        return text  # the name of a metric itself, whatever its case
    if not named(text):
        name, bracket, options = text.partition("(")
    meant = named(name)
    if not meant:
        return text
    specs = {one.spec for one in meant}
    if len(specs) > 1 or any(one.option or one.command for one in meant):
        raise UnknownNameError(f"{shown(name)} is no metric; {'; '.join(map(explained, meant))}")
    (spec,) = specs
    if not bracket:
        return spec
    return f"{spec[:-1]}, {options}" if spec.endswith(")") else f"{spec}({options}"


def instead(name: str, others: Iterable[str] = (), called: Callable[[str], str] = str) -> str:
    """What to write for the unknown ``name``: the rubric of a model, or metrics and ``others``; empty if none is near.

    ``called`` is the name to show for a metric or one of the others.

    >>> instead("answer-relevancy").partition(":")[0], instead("jacard"), instead("zzz")
    ('a model judges it', "did you mean 'jaccard'?", '')
    >>> instead("bert-score").partition("? ")[2]
    'BERTScore compares the embeddings of words, semantic_similarity those of whole texts.'
    """
    meant = named(name, "near")
    rubrics = [one for one in meant if one.rubric]
    if rubrics:
        return "; ".join(map(explained, rubrics))
    alike = {known: metric for known, metric in SPELLINGS.items() if _may_be_meant(name, known)}
    choices = sorted({*others, *(known for known in alike if known in REGISTRY)})
    near = nearest(name, choices, [one.spec for one in meant], alike)
    differs = dict.fromkeys(f" {one.differs}." for one in meant if one.differs)
    return f"did you mean {either(dict.fromkeys(map(called, near)))}?{''.join(differs)}" if near else ""


_ALIKE = 0.8
"""The similarity from which on a word may be a misspelling of another; with two letters swapped it is above that."""
_SHORT = 3
"""Words of so many letters may differ in one."""


def _may_be_meant(name: str, known: str) -> bool:
    """Whether a name may be a misspelling of a known one: word by word, so that other words are no misspelling.

    >>> [_may_be_meant(*pair) for pair in (("sematic_similarty", "semantic_similarity"), ("f1", "token_f1"))]
    [True, True]
    >>> [_may_be_meant(*pair) for pair in (("edit_distance", "euclidean_distance"), ("hits", "hit_rate"))]
    [False, True]
    >>> [_may_be_meant(*pair) for pair in (("context_relevance", "coherence"), ("cost", "corpus_ter"))]
    [False, False]
    """
    typed, words = (re.split(r"[-_\s]+", text.casefold()) for text in (name, known))
    shorter, longer = sorted((typed, words), key=len)
    if len(typed) > 1 and len(words) > 1 and all(shorter):
        return all(any(_alike(one, other) for other in longer) for one in shorter)
    return any(_alike(typed[0], word) for word in words) or _alike(*map(fold, (name, known)))


def _alike(word: str, other: str) -> bool:
    if len(word) == len(other) <= _SHORT:
        return sum(one != two for one, two in zip(word, other, strict=True)) <= 1
    return other.startswith(word) or difflib.SequenceMatcher(None, word, other).ratio() > _ALIKE
