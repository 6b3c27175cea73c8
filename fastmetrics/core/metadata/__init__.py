"""The metadata of scores: what was scored and how, counts of corpus metrics, drift, missing queries."""
