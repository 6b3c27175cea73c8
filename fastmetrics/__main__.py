"""``python -m fastmetrics``: the same as the ``fastmetrics`` program."""

import sys

from fastmetrics.cli.exits import Stopped, listen, unexpected_errors


def main() -> None:
    """Run the program; an installation whose packages cannot be imported does not exit with a gate's code either."""
    try:
        with unexpected_errors(SystemExit):
            listen()
            from fastmetrics.cli.program import main as run

            run()
    except Stopped as stopped:  # before or after a command
        print(stopped.word, file=sys.stderr)
        raise


if __name__ == "__main__":
    main()
