"""Written by scripts/docs.py from the declarations; edit those."""

from fastmetrics.models.clients import ClientSettings as ClientSettings
from fastmetrics.models.bots import FullContextBot as FullContextBot
from fastmetrics.models.bots import FunctionBot as FunctionBot
from fastmetrics.models.bots import GivenContextsBot as GivenContextsBot
from fastmetrics.models.judge_batch import JudgeSettings as JudgeSettings
from fastmetrics.models.calls import ModelReply as ModelReply
from fastmetrics.models.clients import ModelRequest as ModelRequest
from fastmetrics.models.clients import model_client as model_client
from fastmetrics.models.call_store import stored_calls as stored_calls
