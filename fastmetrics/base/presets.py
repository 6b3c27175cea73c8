"""Presets: where the files of other tools have the columns, as a table of paths; a contributor adds a line to it.

A preset says what path leads to each column, where the records are in a document, and by what its files are known.
Its paths are those of :mod:`fastmetrics.base.paths`, of which alternatives, ``a || b``, stand for versions of a tool
and for the names that its users choose.  An answer that a failed call left empty is missing: ``… unless error``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Preset:
    """What the files of a tool hold.

    ``paths`` are those of the canonical columns within a record; a latency in seconds is ``latency_s``.  ``records`` is
    the path of the list of records in a document, ``only`` one that a record has that is a row, ``one_of`` the field
    of whose values the rows of the first one are read, as others repeat them, and ``reason`` the path of why a row has
    no answer.  ``signs`` are the sets of paths within a record by which a file is recognised; a preset
    whose files may as well be another tool's has none.
    """

    name: str
    files: str
    """What it is for."""
    paths: Mapping[str, str]
    records: str | None = None
    only: str | None = None
    one_of: str | None = None
    reason: str | None = None
    signs: tuple[tuple[str, ...], ...] = ()
    columns: Mapping[str, str] = field(init=False)
    """The paths, under canonical names alone."""

    def __post_init__(self) -> None:
        """Set the columns."""
        canonical = {"latency_ms" if name == "latency_s" else name: path for name, path in self.paths.items()}
        object.__setattr__(self, "columns", MappingProxyType(canonical))


def _otlp(*names: str, kind: str = "stringValue", then: str = "") -> str:
    """The path of the first of several attributes of a span in OTLP."""
    return " || ".join(f"attributes[key={name}].value.{kind}{then}" for name in names)


def _otlp_message(name: str, item: int) -> str:
    """The path of the text of a GenAI message that an attribute holds as JSON, or as values of OTLP."""
    parts = f"attributes[key={name}].value.arrayValue.values[{item}].kvlistValue.values[key=parts].value.arrayValue"
    as_values = f"{parts}.values[0].kvlistValue.values[key=content].value.stringValue"
    return f"{_otlp(name, then=_LAST if item else _FIRST)} || {as_values}"


def _attributes(*names: str, then: str = "") -> str:
    """The path of the first of several attributes of a span as an object has them."""
    return " || ".join(f"attributes.{name}{then}" for name in names)


_LAST, _FIRST = "[-1].parts[type=text].content", "[0].parts[type=text].content"
"""The text of the last and of the first of GenAI messages, which attributes hold as JSON."""
_INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_TOTAL_TOKENS = ("llm.usage.total_tokens", "gen_ai.usage.total_tokens", "llm.token_count.total")
_CACHE_READ = ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read")
_CACHE_WRITTEN = ("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write")
_REASONING = ("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning")
_ASKED = ("gen_ai.prompt.0.content", "input.value")
_SAID = ("gen_ai.completion.0.content", "output.value")
"""The attributes of spans that other conventions than OpenTelemetry's have: OpenLLMetry and OpenInference."""

_ALL = (
    Preset(
        "ragas",
        "data sets of Ragas",
        {
            "question": "user_input",
            "answer": "response",
            "reference": "reference",
            "contexts": "retrieved_contexts",
            "retrieved_ids": "retrieved_context_ids",
            "relevant_ids": "reference_context_ids",
            "tool_calls": "user_input[].tool_calls[]",
            "expected_tool_calls": "reference_tool_calls",
        },
    ),
    Preset(
        "deepeval",
        "data sets and test cases of DeepEval",
        {
            "question": "input",
            "answer": "actual_output || actualOutput",
            "reference": "expected_output || expectedOutput",
            "contexts": "retrieval_context || retrievalContext",
            "prompt_tokens": "input_token_count",
            "completion_tokens": "output_token_count",
        },
        signs=(("input", "actual_output", "expected_output", "retrieval_context", "source_file"),),
    ),
    Preset(
        "mlflow",
        "tables of MLflow's evaluation",
        {"question": "inputs", "answer": "predictions", "reference": "targets", "contexts": "context"},
    ),
    Preset(
        "hf",
        "predictions and references as Hugging Face's evaluate names them",
        {"id": "id", "question": "question", "answer": "predictions", "reference": "references"},
    ),
    Preset(
        "autorag",
        "data and results of AutoRAG",
        {
            "id": "qid",
            "question": "query",
            "answer": "generated_texts",
            "reference": "generation_gt",
            "contexts": "retrieved_contents",
            "retrieved_ids": "retrieved_ids",
            "retrieved_scores": "retrieve_scores",
            "relevant_ids": "retrieval_gt",
        },
        signs=(("qid", "generation_gt", "retrieval_gt"),),
    ),
    Preset(
        "promptfoo",
        "`promptfoo eval -o results.json` or `.jsonl`",
        {
            "id": "id",
            "question": "vars.question || vars.query || vars.input || prompt.raw",
            "answer": "response.output unless response.error",
            "reference": "vars.reference || vars.expected || vars.expected_answer || vars.ground_truth",
            "contexts": "vars.contexts || vars.context",
            "latency_ms": "latencyMs",
            "prompt_tokens": "response.tokenUsage.prompt",
            "completion_tokens": "response.tokenUsage.completion",
            "total_tokens": "response.tokenUsage.total",
        },
        records="results.results",
        reason="response.error",
        signs=(("promptIdx", "testIdx", "vars", "response"),),
    ),
    Preset(
        "inspect_ai",
        "`.eval` and `.json` logs of Inspect",
        {
            "id": "id",
            "question": "input[-1].content || input",
            "answer": "output.completion unless error.message || error",
            "reference": "target",
            "contexts": "metadata.contexts || metadata.retrieved_contexts || metadata.context",
            "latency_s": "working_time || total_time",
            "prompt_tokens": "output.usage.input_tokens",
            "completion_tokens": "output.usage.output_tokens",
            "total_tokens": "output.usage.total_tokens",
            "timestamp": "started_at",
        },
        records="samples",
        reason="error.message",
        signs=(("epoch", "target", "output.completion", "store"),),
    ),
    Preset(
        "otlp",
        "spans of model calls in OTLP JSON, one export a line",
        {
            "id": "spanId",
            "question": f"{_otlp_message('gen_ai.input.messages', -1)} || {_otlp(*_ASKED)}",
            "answer": f"{_otlp_message('gen_ai.output.messages', 0)} || {_otlp(*_SAID)} unless status.message",
            "latency_ms": "endTimeUnixNano since startTimeUnixNano",
            "prompt_tokens": _otlp(*_INPUT_TOKENS, kind="intValue"),
            "completion_tokens": _otlp(*_OUTPUT_TOKENS, kind="intValue"),
            "total_tokens": _otlp(*_TOTAL_TOKENS, kind="intValue"),
            "cache_read_tokens": _otlp(*_CACHE_READ, kind="intValue"),
            "cache_write_tokens": _otlp(*_CACHE_WRITTEN, kind="intValue"),
            "reasoning_tokens": _otlp(*_REASONING, kind="intValue"),
            "model": _otlp("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
            "session_id": f"{_otlp('gen_ai.conversation.id', 'session.id')} || traceId",
        },
        records="resourceSpans[].scopeSpans[].spans",
        only=_otlp("gen_ai.operation.name", "gen_ai.request.model", "gen_ai.system", "openinference.span.kind"),
        reason="status.message",
        signs=(("spanId", "traceId", "startTimeUnixNano"),),
    ),
    Preset(
        "otel_sdk",
        "spans of model calls as OpenTelemetry's SDKs print them, one a line",
        {
            "id": "context.span_id",
            "question": f"{_attributes('gen_ai.input.messages', then=_LAST)} || {_attributes(*_ASKED)}",
            "answer": f"{_attributes('gen_ai.output.messages', then=_FIRST)} || {_attributes(*_SAID)}"
            " unless status.description",
            "latency_ms": "end_time since start_time",
            "prompt_tokens": _attributes(*_INPUT_TOKENS),
            "completion_tokens": _attributes(*_OUTPUT_TOKENS),
            "total_tokens": _attributes(*_TOTAL_TOKENS),
            "model": _attributes("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
            "session_id": f"{_attributes('gen_ai.conversation.id', 'session.id')} || context.trace_id",
            "timestamp": "start_time",
        },
        only=_attributes("gen_ai.operation.name", "gen_ai.request.model", "gen_ai.system", "openinference.span.kind"),
        reason="status.description",
        signs=(("context.span_id", "attributes", "start_time", "resource"),),
    ),
    Preset(
        "phoenix",
        "spans that Phoenix exports as a table",
        {
            "id": "context.span_id",
            "question": "attributes.input.value",
            "answer": "attributes.output.value unless status_message",
            "contexts": "attributes.retrieval.documents[].document.content",
            "context_ids": "attributes.retrieval.documents[].document.id",
            "latency_ms": "end_time since start_time",
            "prompt_tokens": "attributes.llm.token_count.prompt",
            "completion_tokens": "attributes.llm.token_count.completion",
            "total_tokens": "attributes.llm.token_count.total",
            "model": "attributes.llm.model_name",
            "session_id": "attributes.session.id || context.trace_id",
            "timestamp": "start_time",
        },
        reason="status_message",
        signs=(("context.span_id", "attributes.input.value", "span_kind"),),
    ),
    Preset(
        "langfuse",
        "traces and observations that Langfuse exports, or its API returns",
        {
            "id": "id",
            "question": "input.question || input.query || input.messages[-1].content || input[-1].content || input",
            "answer": "output.answer || output.content || output.choices[0].message.content || output.output || output",
            "reference": "expectedOutput || metadata.reference",
            "contexts": "output.contexts || metadata.contexts",
            "latency_s": "latency",
            "prompt_tokens": "usageDetails.input || usage.input || promptTokens",
            "completion_tokens": "usageDetails.output || usage.output || completionTokens",
            "total_tokens": "usageDetails.total || usage.total || totalTokens",
            "model": "model || providedModelName",
            "cost": "totalCost || calculatedTotalCost",
            "session_id": "sessionId || session_id || traceId",
            "timestamp": "timestamp || startTime",
        },
        records="data",
        reason="statusMessage",
        signs=(
            ("traceId", "level", "statusMessage", "output"),
            ("htmlPath", "latency", "output"),
            *((session, "release", "environment", "latency") for session in ("sessionId", "session_id")),
            *((other, "bookmarked", "latency") for other in ("sessionId", "session_id", "release", "environment")),
        ),
    ),
    Preset(
        "langsmith",
        "runs of LangSmith",
        {
            "id": "id",
            "question": "inputs.question || inputs.query || inputs.input || inputs.messages[-1].content",
            "answer": "outputs.answer || outputs.output || outputs.choices[0].message.content || "
            "outputs.generations[0][0].text || outputs.messages[-1].content unless error",
            "reference": "reference_outputs.answer || reference_outputs.output",
            "contexts": "outputs.contexts || outputs.documents[].page_content",
            "latency_ms": "end_time since start_time",
            "prompt_tokens": "prompt_tokens",
            "completion_tokens": "completion_tokens",
            "total_tokens": "total_tokens",
            "session_id": "extra.metadata.thread_id || extra.metadata.session_id || trace_id",
            "timestamp": "start_time",
        },
        records="runs",
        reason="error",
        signs=(("run_type", "inputs", "outputs", "start_time"),),
    ),
    Preset(
        "openai_batch",
        "the output file of OpenAI's Batch API",
        {
            "id": "custom_id",
            "answer": "response.body.choices[0].message.content || "
            "response.body.output[type=message].content[type=output_text].text unless response.body.error.message",
            "prompt_tokens": "response.body.usage.prompt_tokens || response.body.usage.input_tokens",
            "completion_tokens": "response.body.usage.completion_tokens || response.body.usage.output_tokens",
            "total_tokens": "response.body.usage.total_tokens",
        },
        reason="response.body.error.message || error.message",
        signs=(("custom_id", "response.status_code", "response.body"),),
    ),
    Preset(
        "openai_evals",
        "the output items of OpenAI's Evals API",
        {
            "id": "id",
            "question": "datasource_item.question || datasource_item.input || sample.input[role=user].content",
            "answer": "sample.output[0].content unless sample.error.message",
            "reference": "datasource_item.reference || datasource_item.ground_truth || datasource_item.ideal || "
            "datasource_item.answer || datasource_item.correct_label",
            "prompt_tokens": "sample.usage.prompt_tokens",
            "completion_tokens": "sample.usage.completion_tokens",
            "total_tokens": "sample.usage.total_tokens",
        },
        records="data",
        reason="sample.error.message",
        signs=(("datasource_item", "sample.output"),),
    ),
    Preset(
        "oaieval",
        "the log of the program oaieval: its events of matching",
        {"id": "sample_id", "answer": "data.sampled", "reference": "data.expected"},
        only="data.expected",
        signs=(("run_id", "event_id", "sample_id", "data"),),
    ),
    Preset(
        "lm_eval",
        "the samples of lm-evaluation-harness (`--log_samples`), of the first filter",
        {
            "id": "doc_id",
            "question": "doc.question || doc.query || arguments.gen_args_0.arg_0 || arguments[0][0]",
            "answer": "filtered_resps[0]",
            "reference": "target",
        },
        one_of="filter",
        signs=(("doc_id", "filtered_resps", "target"),),
    ),
    Preset(
        "label_studio",
        "tasks that Label Studio exports as JSON",
        {
            "id": "id",
            "question": "data.question || data.query || data.prompt || data.text",
            "answer": "data.answer || data.response || data.prediction",
            "reference": "data.reference || annotations[0].result[type=textarea].value.text",
            "contexts": "data.contexts || data.context",
            "rating": "annotations[0].result[type=rating].value.rating",
        },
        signs=(("annotations[].result", "data"),),
    ),
    Preset(
        "squad",
        "SQuAD: nested articles, or rows as Hugging Face has them",
        {
            "id": "id",
            "question": "question",
            "reference": "answers[].text || answers.text",
            "contexts": "^.context || context",
        },
        records="data[].paragraphs[].qas",
        signs=(("question", "answers[].text"), ("context", "question", "answers.text", "answers.answer_start")),
    ),
    Preset(
        "ms_marco",
        "questions of MS MARCO with their passages",
        {
            "id": "query_id",
            "question": "query",
            "reference": "answers",
            "contexts": "passages[].passage_text || passages.passage_text",
        },
        signs=(("query_id", "passages[].passage_text"), ("query_id", "passages.passage_text")),
    ),
    Preset(
        "dpr",
        "questions of DPR with the passages that were retrieved",
        {
            "question": "question",
            "reference": "answers",
            "contexts": "ctxs[].text",
            "context_ids": "ctxs[].id",
            "retrieved_ids": "ctxs[].id",
            "retrieved_scores": "ctxs[].score",
        },
        signs=(("question", "answers", "ctxs[].text"),),
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
"""The presets by name."""


def recognised(paths: Collection[str], records: str | None = None) -> Preset | None:
    """The preset by whose signs a file is known that has these ``paths``, and its records at ``records``.

    >>> recognised({"question", "answers", "ctxs", "ctxs[].text"}).name
    'dpr'
    >>> recognised({"samples[].epoch", "samples[].target", "samples[].output.completion", "samples[].store"}).name
    'inspect_ai'
    """
    for preset in _ALL:
        for place in (records or preset.records, None):
            within = f"{place}[]." if place is not None else ""
            if any(all(within + sign in paths for sign in signs) for signs in preset.signs):
                return preset
    return None


_MARKS = tuple(
    tuple(f'{sign.rpartition(".")[2].removesuffix("[]")}"'.encode() for sign in signs)
    for preset in _ALL
    for signs in preset.signs
)
"""The ends of the names of signs, as JSON has them."""


def may_be_known(data: bytes) -> bool:
    """Whether JSON may have the signs of a preset, which is to be known before it is parsed for them.

    >>> may_be_known(b'{"question": "q", "answers": ["a"], "ctxs": [{"text": "t"}]}'), may_be_known(b'{"answer": "a"}')
    (True, False)
    """
    return any(all(mark in data for mark in marks) for marks in _MARKS)
