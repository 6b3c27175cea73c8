"""Makes the files of tests/data/tools with the tools that write them: ``python -m scripts.tool_files FOLDER``.

Run it where inspect_ai, opentelemetry-exporter-otlp-json-file and promptfoo (npm) are installed; a tool that is not
installed is left out and named.  The models are the mocks of the tools, so that nothing is sent anywhere.  The other
files of tests/data/tools are in the documented form of their tools, by hand.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAILURE = "no connection to the model"
QUESTIONS = [
    ("lyon", "Which city is the capital of France?", ["Paris"], "Paris"),
    ("rome", "Which city is the capital of Italy?", ["Rome", "Roma"], "It is Rome."),
    ("fails", "Which city is the capital of Spain?", ["Madrid"], None),
]
"""The id, question, references and answer of each sample; one without an answer fails."""


def inspect_logs(folder: Path) -> None:
    """The same evaluation as an ``.eval`` and as a ``.json`` log of inspect_ai."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate, solver

    @solver  # type: ignore[untyped-decorator]
    def failing() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            if state.sample_id == "fails":
                raise RuntimeError(FAILURE)
            return state

        return solve

    def answer(text: str) -> Any:
        output = ModelOutput.from_content("mockllm/model", text)
        output.usage = ModelUsage(input_tokens=12, output_tokens=3, total_tokens=15)  # counted here, not downloaded
        return output

    samples = [
        Sample(id=name, input=question, target=references, metadata={"contexts": [f"A text about {name}."]})
        for name, question, references, _ in QUESTIONS
    ]
    for form in ("eval", "json"):
        outputs = [answer(text) for _, _, _, text in QUESTIONS if text is not None]
        task = Task(MemoryDataset(samples), solver=[failing(), generate()], scorer=match(), name="capitals")
        with tempfile.TemporaryDirectory() as logs:
            eval(
                task,
                model=get_model("mockllm/model", custom_outputs=outputs),
                log_format=form,
                log_dir=logs,
                fail_on_error=False,
                max_samples=1,
                display="none",
            )
            [path] = Path(logs).glob(f"*.{form}")
            log = read_eval_log(str(path))
            for sample in log.samples or ():
                for at in [sample, *sample.events]:
                    error = getattr(at, "error", None)
                    if error is not None:  # the traceback has the folders of this machine
                        error.traceback = error.traceback_ansi = ""
            write_eval_log(log, str(folder / f"inspect.{form}"))


def spans(folder: Path) -> None:
    """Spans of model calls beside another span, by OpenTelemetry's exporters: OTLP in JSON, and the SDK's own form."""
    from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from opentelemetry.trace import Status, StatusCode

    provider = TracerProvider()
    with (folder / "sdk_spans.jsonl").open("w") as console, (folder / "otlp.jsonl").open("w") as otlp:
        line = ConsoleSpanExporter(out=console, formatter=lambda span: span.to_json(indent=None) + "\n")
        for exporter in (line, FileSpanExporter(stream=otlp)):
            provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("capitals")
        for name, question, references, text in QUESTIONS:
            with tracer.start_as_current_span("request"), tracer.start_as_current_span("chat mock") as span:
                asked = [{"role": "user", "parts": [{"type": "text", "content": question}]}]
                span.set_attribute("gen_ai.operation.name", "chat")
                span.set_attribute("gen_ai.request.model", "mock")
                span.set_attribute("gen_ai.conversation.id", name)
                span.set_attribute("gen_ai.input.messages", json.dumps(asked))
                span.set_attribute("reference", references[0])
                if text is None:
                    span.set_status(Status(StatusCode.ERROR, FAILURE))
                    continue
                said = [{"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}]
                span.set_attribute("gen_ai.output.messages", json.dumps(said))
                span.set_attribute("gen_ai.usage.input_tokens", 12)
                span.set_attribute("gen_ai.usage.output_tokens", 3)
        provider.shutdown()


_PROVIDER = """module.exports = class {
  id() { return 'mock'; }
  async callApi(prompt, context) {
    const answer = context.vars.answer;
    if (answer === '') return {error: '%s'};
    return {output: answer, tokenUsage: {prompt: 12, completion: 3, total: 15}, cost: 0.001};
  }
};
"""


def promptfoo_results(folder: Path) -> None:
    """The results of promptfoo, as one document and as JSON lines."""
    tests = [
        {
            "vars": {"question": question, "reference": references[0], "answer": text or ""},
            "assert": [{"type": "icontains", "value": references[0]}],
        }
        for _, question, references, text in QUESTIONS
    ]
    program = shutil.which("promptfoo")
    if program is None:
        raise ImportError("there is no program promptfoo")
    with tempfile.TemporaryDirectory() as place:
        where = Path(place)
        (where / "mock.cjs").write_text(_PROVIDER % FAILURE)
        config = {"prompts": ["{{question}}"], "providers": ["file://mock.cjs"], "tests": tests}
        (where / "promptfooconfig.json").write_text(json.dumps(config))
        outputs = ["promptfoo.json", "promptfoo.jsonl"]
        command = [program, "eval", "-c", "promptfooconfig.json", "--no-cache", "-o", outputs[0], "-o", outputs[1]]
        subprocess.run(command, cwd=where, check=False, capture_output=True)  # it fails as a sample does
        for output in outputs:
            shutil.move(where / output, folder / output)


def deepeval_data(folder: Path) -> None:
    """A data set of DeepEval as JSON lines and as CSV."""
    from deepeval.dataset import EvaluationDataset, Golden

    goldens = [
        Golden(
            input=question,
            expected_output=references[0],
            actual_output=text,
            retrieval_context=[f"A text about {name}.", "Another text."],
        )
        for name, question, references, text in QUESTIONS
    ]
    for form in ("jsonl", "json"):
        EvaluationDataset(goldens=goldens).save_as(form, str(folder), "deepeval")


MAKERS: dict[str, Callable[[Path], None]] = {
    "deepeval": deepeval_data,
    "inspect_ai": inspect_logs,
    "opentelemetry": spans,
    "promptfoo": promptfoo_results,
}


def main() -> None:
    """Make the files of all tools that are installed."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for tool, make in MAKERS.items():
        try:
            make(folder)
        except ImportError as error:
            print(f"{tool}: left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
