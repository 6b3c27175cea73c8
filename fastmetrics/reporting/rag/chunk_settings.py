"""How the chunks of a RAG system are read and searched, as one object."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fastmetrics.base.options import Choice, about, argument, with_parameters


@with_parameters
@dataclass(frozen=True, kw_only=True)
class ChunkSettings:
    """The columns of the chunks of :func:`evaluate_rag`, and how they are searched.

    {parameters}

    >>> ChunkSettings(text="body").text
    'body'

    Raises ``OptionError`` for an unknown distance.
    """

    index: str | Path | None = field(
        default=None, metadata=about("The folder of an index of the chunks; by default one is built.")
    )
    text: str = field(default="text", metadata=about("The column of the texts of chunks."))
    vector: str | None = field(
        default=None, metadata=about("The column of vectors of the chunks; by default the only one.")
    )
    id: str = field(default="id", metadata=about("The column of ids of the chunks."))
    metric: Literal["cosine", "euclidean", "dot"] = field(
        default="cosine", metadata=about("Distance of vectors: cosine, euclidean or dot.")
    )
    pgvector: str | None = field(
        default=None, metadata=about("Settings of pgvector: ef_search=100,iterative_scan=relaxed_order.")
    )

    def __post_init__(self) -> None:
        """Raise ``OptionError`` for an unknown distance."""
        argument("metric", self.metric, Choice("cosine", "euclidean", "dot"))
