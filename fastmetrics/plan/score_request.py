"""What a user requests of a table: metrics and suites, and the columns that they read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastmetrics.base.input_columns import kept_columns, resolve


@dataclass(frozen=True)
class ScoreRequest:
    """The metrics and suites to score, the columns that they read, and those to copy: options of ``fastmetrics.score``.

    ``metrics`` are specs, in a list or separated by commas.  ``suites`` are names of
    :data:`fastmetrics.metrics.SUITES`, each of which selects its usual metrics whose columns exist, or of
    :data:`fastmetrics.metrics.TIERS`.  Without both, the suite ``core`` is used.  ``embedder`` and ``cache`` apply to
    every metric that embeds text and does not set its own; with an ``embedder``, missing embeddings are computed from
    texts.  ``no_relevant`` applies to every retrieval metric that does not set its own.  ``lists`` are columns of texts
    whose texts are lists in JSON.
    """

    metrics: Sequence[str] | str | None = None
    columns: Mapping[str, str] | None = None
    schema: str | None = None
    keep: Sequence[str] | str = ()
    suites: Sequence[str] | str = ()
    embedder: Any = None
    cache: str | os.PathLike[str] | None = None
    no_relevant: str | None = None
    lists: Sequence[str] | str = ()

    def with_id(self, names: Sequence[str]) -> ScoreRequest:
        """The request that also copies the ``id``, first; ``keep="all"`` is all columns of a table with these names.

        >>> ScoreRequest(keep="all").with_id(["answer", "ID"]).keep
        ['ID', 'answer']
        """
        canonical = resolve(names, self.columns, self.schema, {"id"})
        ids = [canonical["id"]] if "id" in canonical else []
        return replace(self, keep=list(dict.fromkeys([*ids, *kept_columns(self.keep, names)])))
