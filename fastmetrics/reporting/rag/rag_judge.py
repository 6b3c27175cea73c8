"""The judge of the answers of a RAG system: by default the model of the bot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fastmetrics.base.errors import Argument, OptionError
from fastmetrics.models.bots import Bot, PromptBot
from fastmetrics.models.call_setup import CallOptions
from fastmetrics.models.judge_batch import JudgeSettings


def judge_with(rubrics: Any, calls: Mapping[str, Any], model: str, base_url: str | None = None) -> JudgeSettings:
    """A judge with the settings of the ``calls`` of a bot, without the parameters of its model.

    A ``base_url`` of its own replaces the bot's server and the name of that server in the store.
    """
    names = {option.name for option in fields(CallOptions)} - {"parameters"}
    shared = {name: calls[name] for name in names if name in calls}
    if base_url is not None:
        shared |= {"base_url": base_url, "endpoint": None}
    return JudgeSettings(rubrics, model, **shared)


def judge_of(judges: Any, bot: Bot) -> JudgeSettings | None:
    """The judge, if there are ``judges``: settings, or rubrics for the model of the bot.

    Raises ``OptionError`` for rubrics if the bot has no model, and the errors of ``JudgeSettings``.
    """
    if judges is None or isinstance(judges, JudgeSettings):
        return judges
    if not isinstance(bot, PromptBot):
        raise OptionError(
            Argument("judges", judges), f": the bot {bot.name} has no model for them; expected a JudgeSettings"
        )
    return judge_with(judges, vars(bot), bot.model)
