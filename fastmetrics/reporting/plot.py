"""Charts of results as SVG and PNG files, for papers and slides."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from fastmetrics.base.errors import InputError, MissingExtraError, OptionError
from fastmetrics.tables.outputs import page_target
from fastmetrics.tables.targets import Target

FORMATS = ("svg", "png")
_SETTINGS = {
    "svg.hashsalt": "fastmetrics",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw_into(place: Target, result: Any, color: Any = None) -> list[str]:
    """Draw the chart of a result into a place that was checked; returns what it leaves out.

    The same result gives the same bytes of SVG with one version of Matplotlib, and SVG keeps its text as text.
    """
    if not hasattr(result, "plot"):
        raise InputError(f"{type(result).__name__} has no chart")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about glyphs missing from a font
        figure = Figure(layout="constrained")
        result.plot(figure, **({} if color is None else {"color": color}))
        sink = io.BytesIO()
        suffix = _suffix(place.text)
        figure.savefig(sink, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else {"Software": None})
    place.write(sink.getvalue())
    return str(figure.get_supxlabel()).splitlines()


def picture_target(path: str | Path, inputs: Any, overwrite: bool) -> Target:
    """The place of a picture; ``inputs`` are what the run reads.

    Raises ``OptionError`` for another suffix than those of ``FORMATS``, ``OutputError`` for a path that cannot be
    written, and ``MissingExtraError`` without Matplotlib.
    """
    if _suffix(path) not in FORMATS:
        raise OptionError(f"{path}: expected a file that ends in .svg or .png")
    place = page_target(path, inputs, overwrite=overwrite)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot") from error
    return place


def _suffix(path: str | Path) -> str:
    """The format of a picture."""
    return Path(path).suffix.lower().removeprefix(".")
