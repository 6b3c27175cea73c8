"""The full-context bot: a model that reads a whole text with each question (the QA framework)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import about, with_parameters
from fastmetrics.derive.bots.prompt_bot import FENCED, NAME, PROMPT, PromptBot
from fastmetrics.derive.calls.call_options import KNOWLEDGE, MODEL
from fastmetrics.tables.small_files import read_text

TEMPLATE = f"""\
Answer the question from the text below. If the text does not hold the answer, say "I don't know".
{FENCED.format(texts="text and the question")}

<text id={{fence}}>
{{knowledge}}
</text id={{fence}}>

<question id={{fence}}>
{{question}}
</question id={{fence}}>
Answer:"""


@with_parameters
@dataclass(frozen=True)
class FullContextBot(PromptBot):
    """A bot that sends each question with the whole ``knowledge``: p = template(knowledge, question), a = M(p).

    ``template`` contains the placeholders ``{knowledge}`` and ``{question}``, and may name any other column of the
    table and ``{fence}``, as in :class:`GivenContextsBot`.  A prompt of more than ``max_chars`` characters, or of more
    tokens than the ``context_window`` (estimated at four bytes each), is an error before the first call, because no
    part of the knowledge may be dropped silently.  The other settings are as in :func:`judge`.

    {parameters}

    >>> bot = FullContextBot("Paris is the capital of France.", "m", base_url="http://localhost:8000/v1")
    >>> print(bot.prompt(question="Which city is the capital?").splitlines()[-3])
    Which city is the capital?

    Raises ``OptionError`` for an invalid setting, and for a template that lacks a placeholder.

    Source: the QA framework, full-context baseline.
    """

    knowledge: str = field(metadata=about(KNOWLEDGE))
    model: str = field(metadata=about(MODEL))
    name: str = field(default="full-context", kw_only=True, metadata=NAME)
    template: str = field(default=TEMPLATE, kw_only=True, metadata=PROMPT)
    kind = "full-context"

    def check_placeholders(self) -> None:
        """Raise ``OptionError`` for a template that lacks the knowledge or the question."""
        lacking = {"knowledge", "question"} - set(self.placeholders)
        if lacking:
            names = " and ".join(f"{{{name}}}" for name in sorted(lacking))
            raise OptionError(Argument("template"), f": expected the placeholder {names}")

    @property
    def own_texts(self) -> Mapping[str, str]:
        """The knowledge."""
        return {"knowledge": self.knowledge}


def read_knowledge(paths: Sequence[str | Path]) -> str:
    """The text of one or several UTF-8 files, separated by an empty line.

    Raises ``FileFormatError`` for a file that cannot be read or is not UTF-8 text.
    """
    return "\n\n".join(read_text(path).strip() for path in paths)
