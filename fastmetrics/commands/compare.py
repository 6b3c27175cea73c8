"""``fastmetrics compare``: compare the scores of systems."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from fastmetrics.commands.options import Interval, IntervalKind, Plugins, Threads


class Correction(StrEnum):
    """Corrections for multiple comparisons."""

    holm = "holm"
    bh = "bh"
    none = "none"


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Score files, folders or addresses: the baseline first, then the others.", metavar="BASE OTHER..."
        ),
    ],
    *,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", "-m", help="Compare only these metrics: token_f1,mrr.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Columns whose values define segments; repeat for another division: --by a,b --by c."),
    ] = None,
    segments: Annotated[str | None, typer.Option(help="A file with ids and the columns of --by.")] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="The column whose equal values mark dependent rows: document, session or question."),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option(
            "--tests",
            help="fisher (the default), t, mcnemar, wilcoxon, sequential; for --unpaired permutation, welch.",
        ),
    ] = None,
    correction: Annotated[
        Correction, typer.Option(help="Correction of p for the number of comparisons.")
    ] = Correction.holm,
    resamples: Annotated[int, typer.Option(min=1, help="Random sign patterns for each p.")] = 10_000,
    bootstrap: Annotated[int, typer.Option(min=1, help="Samples for each bootstrap interval.")] = 2_000,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    interval: Interval = IntervalKind.auto,
    names: Annotated[list[str] | None, typer.Option("--names", help="Names of the runs, in order: old,new.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The name of the baseline run.")] = None,
    system: Annotated[str | None, typer.Option(help="The column of one file that names the systems.")] = None,
    on: Annotated[str | None, typer.Option(help="The column that pairs the rows; by default the id.")] = None,
    by_position: Annotated[
        bool, typer.Option("--by-position", help="Pair rows by position: row i of each run is the same question.")
    ] = False,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Compare runs that share no rows, as independent samples.")
    ] = False,
    sequential: Annotated[
        bool, typer.Option("--sequential", help="Interval and p that hold at every look while rows are appended.")
    ] = False,
    margin: Annotated[
        float | None, typer.Option(help="A difference that does not matter: tests equivalence within it.")
    ] = None,
    better: Annotated[list[str] | None, typer.Option(help="Which direction is better: my_score=lower.")] = None,
    allow_differences: Annotated[
        bool, typer.Option("--allow-differences", help="Compare runs even if their options or versions differ.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    threads: Threads = None,
    rows: Annotated[
        str | None, typer.Option(help="Write the rows with the largest changes to --out instead: worst=20 or best=20.")
    ] = None,
    of: Annotated[str | None, typer.Option("--of", help="The metric of --rows.", metavar="METRIC")] = None,
    segment: Annotated[str | None, typer.Option(help="Restrict --rows to this segment of --by: language=ru.")] = None,
    other: Annotated[
        str | None, typer.Option(help="The name of the run that --rows compares with --baseline, if there are several.")
    ] = None,
    texts: Annotated[str | None, typer.Option(help="The answers of the other run, for the texts of --rows.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="The file for --rows.", metavar="PATH")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    plugin: Plugins = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a table of systems and metrics in LaTeX.")] = False,
) -> None:
    """Compare systems with a baseline on the same rows.

    Print differences, intervals, p values and segments.
    """
    from fastmetrics.commands.options import columns, load_plugins, pairs, split
    from fastmetrics.commands.terminal import print_lines, print_pieces
    from fastmetrics.errors import OptionError
    from fastmetrics.results.comparison import compare as compared
    from fastmetrics.results.score_runs import open_runs, two_runs
    from fastmetrics.results.worst_rows import worst_rows
    from fastmetrics.tables.output.write_table import table_place, write_whole

    if as_json + as_markdown + as_latex > 1:
        raise OptionError("choose one of --json, --markdown and --latex")
    called = columns(names, "--names")
    if called and len(called) != len(runs):
        raise OptionError(f"--names has {len(called)} names for {len(runs)} runs")
    if system is not None and len(runs) > 1:
        raise OptionError("--system needs exactly one file, which contains all systems")
    load_plugins(plugin)
    ways = pairs(better, "--better", "NAME=lower or NAME=higher")
    given = runs[0] if system is not None else dict(zip(called, runs, strict=True)) if called else runs
    if rows is not None or out is not None:
        place = table_place(str(out), [runs, baseline, texts], overwrite=overwrite)
        first, second = (baseline, runs[0]) if system else two_runs(open_runs(given), baseline, other)
        found_rows = worst_rows(
            second,
            of or "",
            **_which(rows, of, out),
            answers=texts,
            baseline=first,
            on=on,
            by=columns(by, "--by"),
            segment=segment,
            system=system,
            other=other if system else None,
            better=ways,
            allow_differences=allow_differences,
        )
        write_whole(found_rows, place, {"rows": of}, {"id"})
        typer.echo(f"{found_rows.num_rows:,} rows: {out}")
        return
    found = compared(
        given,
        baseline=baseline,
        metrics=split(metrics) or None,
        by=[columns([one], "--by") for one in by or ()] or None,
        segments=segments,
        cluster=cluster,
        tests=split(tests) or None,
        correction=correction.value,
        resamples=resamples,
        bootstrap=bootstrap,
        confidence=confidence,
        interval=interval.value,
        system=system,
        on=on,
        by_position=by_position,
        unpaired=unpaired,
        sequential=sequential,
        margin=margin,
        better=ways,
        allow_differences=allow_differences,
        seed=seed,
        threads=threads,
    )
    if as_json:
        print_pieces(found.json_pieces())
    elif as_latex:
        typer.echo(found.to_latex(), nl=False)
    else:
        print_lines(found.markdown_lines() if as_markdown else found.lines())


def _which(rows: str | None, metric: str | None, out: str | None) -> dict[str, Any]:
    """Parse ``--rows``: the number of rows, and worst or best."""
    from fastmetrics.errors import OptionError

    which, _, count = (rows or "worst=20").partition("=")
    if which not in ("worst", "best") or not count.isdecimal() or int(count) == 0:
        raise OptionError(f"--rows {rows}: expected worst or best, followed by = and a number of rows")
    if metric is None or out is None:
        raise OptionError("--rows needs a metric (--of token_f1) and an output file (--out rows.parquet)")
    return {"n": int(count), "best": which == "best"}
