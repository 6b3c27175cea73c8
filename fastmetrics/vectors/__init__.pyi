"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.vectors.near_pairs import duplicates as duplicates
from fastmetrics.vectors.geometry_values import geometry as geometry
from fastmetrics.vectors.pgvector import load_vectors as load_vectors
from fastmetrics.vectors.neighbors import nearest as nearest
from fastmetrics.vectors.projection import project as project
