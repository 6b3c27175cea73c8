"""Analysis of logs of a knowledge base and its users, without new searches or answers."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
