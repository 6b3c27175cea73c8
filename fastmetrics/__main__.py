"""``python -m fastmetrics``: the same as the ``fastmetrics`` program."""

from fastmetrics.commands.program.unexpected_errors import UnexpectedErrors


def main() -> None:
    """Run the program; an installation whose packages cannot be imported does not exit with a gate's code either."""
    with UnexpectedErrors(SystemExit):
        from fastmetrics.cli import main as run

        run()


if __name__ == "__main__":
    main()
