"""pandas: the accessor ``fm`` of its frames.

``fm.pandas.register()`` adds ``frame.fm.score(...)``, ``frame.fm.with_scores(...)`` and a function for each metric,
``frame.fm.token_f1("answer", "reference")``.  Results keep the index of the frame.
"""

from __future__ import annotations

from fastmetrics.scoring.frames.with_scores import FrameAccessor


def register() -> None:
    """Add the accessor ``fm`` to pandas frames; a second call changes nothing.

    >>> import pandas as pd
    >>> import fastmetrics as fm
    >>> fm.pandas.register()
    >>> frame = pd.DataFrame({"answer": ["in Paris"], "reference": ["Paris"]}, index=[7])
    >>> frame.fm.token_recall("answer", "reference").to_dict()
    {7: 1.0}
    >>> frame.fm.with_scores("exact_match").columns.tolist()
    ['answer', 'reference', 'exact_match']
    """
    import pandas as pd

    if getattr(pd.DataFrame, "fm", None) is not FrameAccessor:
        pd.api.extensions.register_dataframe_accessor("fm")(FrameAccessor)
