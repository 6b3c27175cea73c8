"""Reading and writing data files as record batches; no other package opens data files."""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
