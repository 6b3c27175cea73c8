"""The pages of ``--help``: commands in groups, and options with placeholders that a reader knows."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from fastmetrics.commands import GROUPS, summary

AS_WIDE_AS_THE_WINDOW = {"max_content_width": 10_000}
"""Settings of a context; the default is at most 80 columns."""


class ProgramHelp(TyperGroup):
    """The program, whose help page lists the commands in groups."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write one section for each group."""
        width = max(len(name) for group in GROUPS.values() for name in group)
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary(name)) for name in names])


class CommandHelp(TyperCommand):
    """A command, whose help page shows an argument by its placeholder alone: ``INPUT...``, not its type in Python."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """``[OPTIONS]`` and the arguments, those in brackets that may be absent."""
        shown = ((param, argument_name(param)) for param in self._arguments())
        return ["[OPTIONS]", *(name if param.required else f"[{name}]" for param, name in shown)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options."""
        arguments = [(argument_name(param), param.help or "") for param in self._arguments()]
        options = (param.get_help_record(ctx) for param in self.get_params(ctx) if param not in self._arguments())
        for title, records in (("Arguments", arguments), ("Options", list(filter(None, options)))):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def _arguments(self) -> list[Any]:
        return [param for param in self.params if param.param_type_name == "argument"]


def argument_name(param: Any) -> str:
    """An argument's placeholder."""
    return str(param.metavar or param.name.upper())
