"""The metrics, one file a family.  Importing this package declares them all."""

from fastmetrics.declare import REGISTRY, Metric
from fastmetrics.errors import UnknownNameError
from fastmetrics.metrics import abstention, lexical, operations, squad

__all__ = ["REGISTRY", "abstention", "find", "lexical", "operations", "squad"]


def find(name: str) -> Metric:
    """The metric called ``name``.

    >>> find("jacard")
    Traceback (most recent call last):
    fastmetrics.errors.UnknownNameError: unknown metric 'jacard'; did you mean 'jaccard'?
    """
    if name not in REGISTRY:
        raise UnknownNameError.of("metric", name, REGISTRY)
    return REGISTRY[name]
