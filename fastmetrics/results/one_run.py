"""One run of a folder or pattern that may hold several."""

from __future__ import annotations

from pathlib import Path

from fastmetrics.errors import OptionError
from fastmetrics.errors.messages import Argument
from fastmetrics.results.list_runs import list_runs
from fastmetrics.results.score_files import ScoreFile

_NAMED = 5


def check_one(file: ScoreFile, *, latest: bool = False) -> None:
    """Raise ``OptionError`` if several files of this input are outputs of runs of their own.

    Files without the metadata of a run are parts of one table.  ``latest`` says whether the caller can take the last.
    """
    if file.metadata is not None or len(file.source.files) < 2:
        return
    runs = file.run_names
    if len(runs) < 2:
        return
    more = f" and {len(runs) - _NAMED:,} more" if len(runs) > _NAMED else ""
    ways = (", or take the last one with ", Argument("latest", True)) if latest else ()
    raise OptionError(
        f"{file.name} holds {len(runs):,} runs: {', '.join(runs[:_NAMED])}{more}; name one of them", *ways
    )


def latest_run(folder: str | Path) -> tuple[Path, str]:
    """The last run of a folder, in the order of ``list_runs``, and a note on how it was chosen.

    Raises ``OptionError`` if there is no run, or if only some of the runs store their start, so that their order is
    unknown.
    """
    runs = list_runs(folder).to_pylist()
    if not runs:
        raise OptionError(Argument("latest", True), f": {folder} holds no output of a run")
    untimed = [run["file"] for run in runs if run["began"] is None]
    if untimed and len(untimed) < len(runs):
        raise OptionError(
            Argument("latest", True),
            f": {untimed[0]} in {folder} does not store when it began, others do; score it with --times, or name a run",
        )
    last = runs[-1]
    order = "by file name, since no run stores when it began (score --times)" if untimed else f"began {last['began']}"
    return Path(folder) / last["file"], f"{last['file']} is the last of {len(runs):,} runs in {folder}, {order}"
