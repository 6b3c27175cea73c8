"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.logs.similar_questions import cache_hit_rate as cache_hit_rate
from fastmetrics.logs.dataset import check_dataset as check_dataset
from fastmetrics.logs.chunks import chunk_utilization as chunk_utilization
from fastmetrics.logs.similar_questions import context_preservation as context_preservation
from fastmetrics.logs.domains import domain_analysis as domain_analysis
from fastmetrics.logs.session_report import sessions as sessions
from fastmetrics.logs.topics import topic_coverage as topic_coverage
