"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.scoring.metric_functions import anchors as anchors
from fastmetrics.scoring.assertions import assert_scores as assert_scores
from fastmetrics.scoring.profiling import profile as profile
from fastmetrics.scoring.metric_functions import verdicts as verdicts
from fastmetrics.scoring.profiling import warm_up as warm_up
