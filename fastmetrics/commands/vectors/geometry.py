"""``fastmetrics geometry``: measure the geometry of embeddings."""

from __future__ import annotations

from typing import Annotated, Any

from fastmetrics.commands.options.function_parameters import ParametersOf
from fastmetrics.commands.options.option_groups import Arguments
from fastmetrics.commands.options.shared_options import AsJson, VectorFiles


def geometry(
    vectors: VectorFiles,
    *,
    arguments: Annotated[Arguments, ParametersOf("fastmetrics.vectors.geometry")],
    as_json: AsJson = False,
) -> Any:
    """Measure spread and distances of embeddings.

    Distances are those to the nearest neighbour and between pairs.
    """
    return arguments.call()
