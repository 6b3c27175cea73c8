"""``python -m fastmetrics``: the same as the ``fastmetrics`` program."""

from fastmetrics.cli import main

if __name__ == "__main__":
    main()
