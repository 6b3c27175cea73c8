"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.engines.column_maker import RayCluster as RayCluster
