"""Reports as one HTML page that opens from a file, charts, and the evaluation of a RAG system to its report.

**The report is self-contained.** Its script draws the charts as SVG, also those in three dimensions: a library of
charts weighs megabytes, of which each page would hold a copy. A chart is drawn when it first becomes visible, so the
page opens at once. The policy allows scripts by their digests. Templates write the tables, so they work without scripts
and in print. Rows are data that the script turns into elements, never markup. With ``--rows all``, rows are in files
beside the page. These are scripts that hand over one value each, because a page on a disk may fetch nothing; the policy
adds ``script-src 'self' file:``. A column of scores is base64 of float32 where this shows every value exactly, else of
float64, and the script sorts it by the bits of the numbers.

**Intervals and verdicts of the report.** p is corrected for all comparisons of the report, intervals are not: an
interval at a corrected level would depend on which other metrics and segments the report has, and would no longer be
that of ``compare``, ``gate`` and the score file's summary. The page names the level, and marks each interval that would
say something else than the verdict.
"""

from fastmetrics.base.public_names import exports

__getattr__, __dir__ = exports(__name__)
