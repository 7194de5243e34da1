"""`germane eval`: a group of commands whose default is to measure: `germane eval DATA…`, `germane eval fit DATA…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["app", "own"]

_DEFAULT = "measure"


class _Measuring(TyperGroup):
    """What doesn't begin with the name of a command is for the default one: `germane eval fit` fits, `germane eval ./fit`
    measures a file of that name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = bool(args) and args[0] in _names()
        return super().parse_args(ctx, args if named else [_DEFAULT, *(args or ["--help"])])


class _Default(TyperCommand):
    """Shown as the group itself, with the other commands below."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        path = ctx.command_path.removesuffix(_DEFAULT).rstrip()
        formatter.write_usage(path, " ".join(self.collect_usage_pieces(ctx)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        group = getattr(ctx.parent, "command", None)
        rows = [(name, group.commands[name].get_short_help_str(80)) for name in _names() if group is not None]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


app = typer.Typer(cls=_Measuring, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
"""Other commands register here; they win where the first argument is their name."""


def own(arguments: Sequence[str], option: str) -> bool:
    """Whether this option, standing after these arguments, is the default command's own, not the one that all commands share:
    `--json` takes a file here."""
    return option == "--json" and list(arguments[:1]) == ["eval"] and not set(arguments[1:2]) & set(_names())


def _names() -> list[str]:
    return [command.name for command in app.registered_commands if command.name and command.name != _DEFAULT]


@app.callback()
def evaluation() -> None:
    """Measure how good and how fast germane is on labelled conversations, without an LLM."""


@app.command(_DEFAULT, cls=_Default)
def measure(context: typer.Context, data: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Measure on labelled conversations."""
