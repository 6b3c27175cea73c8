"""Score tables of model answers at memory speed."""

__version__ = "0.1.0"
