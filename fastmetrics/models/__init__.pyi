"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.models.clients import ClientSettings as ClientSettings
from fastmetrics.models.bots import FullContextBot as FullContextBot
from fastmetrics.models.bots import FunctionBot as FunctionBot
from fastmetrics.models.bots import GivenContextsBot as GivenContextsBot
from fastmetrics.models.judge_batch import JudgeSettings as JudgeSettings
from fastmetrics.models.local_folders import LocalSettings as LocalSettings
from fastmetrics.models.calls import ModelReply as ModelReply
from fastmetrics.models.clients import ModelRequest as ModelRequest
from fastmetrics.models.local_columns import apply as apply
from fastmetrics.models.local_columns import bert_score as bert_score
from fastmetrics.models.local_columns import classifier as classifier
from fastmetrics.models.local_columns import entailment as entailment
from fastmetrics.models.clients import model_client as model_client
from fastmetrics.models.local_columns import rerank as rerank
from fastmetrics.models.call_store import stored_calls as stored_calls
