"""``fastmetrics context-preservation``: how similar successive questions of a session are."""

from __future__ import annotations

from typing import Any

from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import Cache, EmbedderName, Table
from fastmetrics.commands.usage.usage_options import LogOptions


def context_preservation(
    log: Table, *, embedder: EmbedderName = None, cache: Cache = None, options: LogOptions, arguments: Arguments
) -> Any:
    """Measure how similar the questions of a session are.

    The figure is the mean cosine of their embeddings.
    """
    from fastmetrics.usage.context_preservation import context_preservation

    return options.analysed(context_preservation, arguments, log)
