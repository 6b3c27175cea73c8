"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.retrieval.faq import StrictMatchBot as StrictMatchBot
from fastmetrics.retrieval.faq import match_faq as match_faq
