"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.results.ranking_comparison import compare_rankings as compare_rankings
from fastmetrics.results.distributions import correlations as correlations
from fastmetrics.results.distributions import histograms as histograms
from fastmetrics.results.run_folders import list_runs as list_runs
from fastmetrics.results.primary import primary_table as primary_table
from fastmetrics.results.repeated_runs import repeats as repeats
from fastmetrics.results.summary import side_by_side as side_by_side
from fastmetrics.results.by_segment import summarize_by as summarize_by
