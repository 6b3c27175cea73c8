"""The commands of the ``fastmetrics`` program: one module each, without logic of their own."""
