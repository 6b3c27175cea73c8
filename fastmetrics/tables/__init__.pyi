"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.tables.input_files import FileSettings as FileSettings
from fastmetrics.tables.input_files import ReadSettings as ReadSettings
