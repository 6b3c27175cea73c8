"""``fm.report``: scores, texts and a comparison as one HTML page that opens from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from fastmetrics.base import shared_parameters as shared
from fastmetrics.base.column_names import distinct
from fastmetrics.base.display import NotebookTables
from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.base.options import Choice, Flag, Optional, Seed, Whole, argument
from fastmetrics.base.shared_parameters import Help
from fastmetrics.base.threads import cores
from fastmetrics.reporting.labels import LANGUAGES, plural_form
from fastmetrics.reporting.labels import labels as words_of
from fastmetrics.reporting.page import rendered
from fastmetrics.reporting.report_content import SECTIONS, ReportContent, report_content
from fastmetrics.reporting.report_options import ReportOptions
from fastmetrics.reporting.row_files import MARK
from fastmetrics.results.opening_scores import are_several, open_scores
from fastmetrics.tables.addresses import as_local, shown_address
from fastmetrics.tables.outputs import folder_target, page_target, whole_folder

_MOST_NAMES = 3
"""Maximum number of systems that a title names."""
INDEX = "report.html"
"""The page of a folder with all rows."""


@dataclass(frozen=True)
class Report(NotebookTables):
    """A written report: its path, the total and shown numbers of rows, and its size."""

    path: str
    n_rows: int
    n_shown: int
    n_bytes: int
    """Bytes of the page and the files of its rows."""

    def __str__(self) -> str:
        return f"{self.n_shown:,} of {self.n_rows:,} rows, {self.n_bytes / 1e6:.1f} MB: {self.path}"


def report(
    scores: Annotated[Any, Help("One or several runs of scores.")],
    output: Annotated[str | Path, Help("Output page, such as report.html; with rows all, a folder.")],
    *,
    texts: Annotated[
        Any, Help("File that was scored, with the texts of the rows; may be repeated, once for each run.")
    ] = None,
    baseline: Annotated[Any, Help("The run that others are compared with: the name of one of them, or a file.")] = None,
    baseline_texts: Annotated[Any, Help("File with the baseline's answers.")] = None,
    judged: Annotated[
        Any,
        Help(
            "Output of judge, for a page on the judges; may be repeated, once for each run, that of the baseline last."
        ),
    ] = None,
    labels: Annotated[
        Any,
        Help("File of human labels of the judged rows, for the accuracy of judges and their agreement with people."),
    ] = None,
    label: shared.Label = None,
    predicted: Annotated[
        str | None,
        Help("The column of predicted labels, for a page on a classifier; by default where labels are few."),
    ] = None,
    expected: Annotated[str | None, Help("The column of expected labels.")] = None,
    usage: Annotated[
        Any,
        Help("Output of the commands of logs (logs chunks, logs topics, …), for a page on them; may be repeated."),
    ] = None,
    vectors: Annotated[Any, Help("Vectors of the rows with their ids, for a page with their projection.")] = None,
    vectors_column: Annotated[str | None, Help("Column of the vectors; by default the only one.")] = None,
    runs: Annotated[str | Path | None, Help("Folder of outputs, for a page of metrics over runs.")] = None,
    skip_unreadable: shared.SkipUnreadable = False,
    rows: Annotated[
        Literal["sample", "all"], Help("Rows to show: a sample, or all, in files that the page loads.")
    ] = "sample",
    system: shared.System = None,
    title: Annotated[
        str | None,
        Help("The title of the page; by default the run's name, or the baseline and what is compared with it."),
    ] = None,
    language: Annotated[
        Literal["en", "ru"], Help("The language of the page and of its numbers; notes are English.")
    ] = "en",
    overwrite: shared.Overwrite = False,
    by: shared.By = None,
    resamples: shared.Resamples = None,
    main: shared.Main = None,
    allow_differences: shared.AllowDifferences = False,
    seed: shared.Seed = 0,
    threads: shared.Threads = None,
) -> Report:
    """Write an HTML report: means, distributions, a comparison, and the rows behind the figures with their texts.

    ``scores`` is a score file, folder, address or table, or several of them in a list or a dict by name; ``baseline``
    is the run that all others are compared with.  ``texts`` is a file or table with ids that provides questions,
    references, answers and contexts, of the first run or, with a column ``system`` or a file for each run, of all.
    ``judged``, ``runs``, ``usage`` and ``vectors`` add pages on judges (with ``labels``, their accuracy), on runs over
    time, on logs and on embeddings (docs/comparing.md).  Predicted and expected labels of few values have a page with
    the confusion matrix; ``predicted`` and ``expected`` name their columns.

    Figures cover all rows.  Texts are shown for a sample of up to 3.6 MB: for each metric the worst, best and median
    rows, the largest changes against the baseline, and rows where metrics disagree; ``rows="all"`` writes a folder with
    all rows.  The page sends no request.  The result has the path and the numbers of rows.

    >>> import fastmetrics as fm
    >>> import tempfile, pathlib
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> made = fm.report({"new": {"id": ["a", "b"], "token_f1": [0.5, 1.0]}}, page)
    >>> made.n_shown, made.n_rows, page.read_text()[:15]
    (2, 2, '<!doctype html>')

    Raises ``OutputError`` if the output exists, unless ``overwrite``, ``FileFormatError`` for a file without scores or
    figures, ``InputError`` for texts with none of the ids, ``MissingExtraError`` where Jinja2 is not installed, and
    the errors of ``compare``.
    """
    argument("language", language, Choice(*LANGUAGES))
    argument("rows", rows, Choice("sample", "all"))
    argument("overwrite", overwrite, Flag())
    argument("allow_differences", allow_differences, Flag())
    argument("seed", seed, Seed)
    argument("resamples", resamples, Optional(Whole(1, 100_000_000)))
    cores(threads)
    for name, value, needed, present in (
        ("baseline_texts", baseline_texts, "baseline", baseline),
        ("vectors_column", vectors_column, "vectors", vectors),
        ("labels", labels, "judged", judged),
        ("label", label, "labels", labels),
    ):
        if value is not None and present is None:
            raise OptionError(Argument(name), " goes with ", Argument(needed))
    where = as_local(output)
    inputs = [scores, texts, baseline, baseline_texts, judged, labels, usage, vectors, runs]
    if rows == "all":
        place = folder_target(output, inputs, MARK, overwrite=overwrite)
    else:
        place = page_target(output, inputs, ".html", overwrite=overwrite)
    one = scores[0] if isinstance(scores, list | tuple) and len(scores) == 1 else scores
    if system is None and isinstance(one, str | Path):
        run = open_scores(one)
        system, scores = (None, [run]) if run.systems is None else (run.systems[0], run)
    options = ReportOptions(
        baseline,
        texts,
        baseline_texts,
        judged,
        labels,
        label,
        usage,
        vectors,
        vectors_column,
        runs,
        distinct(by),
        system,
        resamples,
        main,
        allow_differences,
        seed,
        threads,
        predicted,
        expected,
        skip_unreadable,
    )
    runs_of_scores = scores if options.system is not None or are_several(scores) else [scores]

    def page(content: ReportContent) -> str:
        words = words_of(language, SECTIONS)
        head = {"L": words, "language": language, "title": title or _title(content, words, language)}
        return rendered({**content.parts, **head}, {**content.data, "labels": words, "language": language})

    if rows == "all":
        with whole_folder(place) as folder:
            content = report_content(runs_of_scores, replace(options, folder=folder))
            (folder / INDEX).write_text(page(content), encoding="utf-8", newline="\n")
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return Report(shown_address(where), content.n_rows, content.n_shown, size)
    content = report_content(runs_of_scores, options)
    html = page(content)
    place.write(html)
    return Report(shown_address(where), content.n_rows, content.n_shown, len(html.encode()))


def _title(content: ReportContent, words: Mapping[str, str], language: str) -> str:
    """The name of the run, or the others, of which many are counted, against the baseline."""
    first, *others = content.data["systems"]
    if not others:
        return str(first)
    several = ", ".join(others)
    if len(others) > _MOST_NAMES:
        several = plural_form(words["count_systems"], len(others), language).format(n=len(others))
    return words["comparison_title"].format(baseline=first, others=several)
