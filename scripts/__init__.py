"""Scripts that keep the house in order; ``check``, ``test`` and ``bench`` are for the shell."""
