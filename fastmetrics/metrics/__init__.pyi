"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.metrics.grounding import grounding_evidence as grounding_evidence
from fastmetrics.metrics.structure import json_fields as json_fields
from fastmetrics.metrics.suites import list_metrics as list_metrics
from fastmetrics.metrics.plugins import load_plugin as load_plugin
from fastmetrics.metrics.tokenizers import tokenizer as tokenizer
