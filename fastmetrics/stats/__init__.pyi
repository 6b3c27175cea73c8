"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.stats.promises import CutPromises as CutPromises
from fastmetrics.stats.raters import agreement as agreement
from fastmetrics.stats.judge_quality import bradley_terry as bradley_terry
from fastmetrics.stats.raters import cohen_kappa as cohen_kappa
from fastmetrics.stats.judge_quality import judge_consistency as judge_consistency
from fastmetrics.stats.judge_quality import judge_decisions as judge_decisions
from fastmetrics.stats.judge_quality import judge_error_rate as judge_error_rate
from fastmetrics.stats.judge_quality import judge_latency as judge_latency
from fastmetrics.stats.raters import krippendorff_alpha as krippendorff_alpha
from fastmetrics.stats.judge_quality import pairwise as pairwise
from fastmetrics.stats.attempts import pass_at_k as pass_at_k
from fastmetrics.stats.attempts import pass_hat_k as pass_hat_k
from fastmetrics.stats.risk import risk_coverage as risk_coverage
