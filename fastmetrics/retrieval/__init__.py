"""Rankings of documents: their measures against judgements, and the look-up of answers in an FAQ."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
