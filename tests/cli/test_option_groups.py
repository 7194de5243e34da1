"""Option groups: a dataclass parameter of a command becomes one option for each field."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer

from germane.cli.commands.assemble import assemble, explain
from germane.cli.commands.search import search
from germane.cli.options import expand_groups


@dataclass(frozen=True, kw_only=True)
class Inner:
    tag: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    text: Annotated[str, typer.Argument()]
    limit: Annotated[int, typer.Option("--max", min=1)] = 3
    inner: Inner = field(default_factory=Inner)


def run(arguments: list[str]) -> tuple[Outer, bool]:
    """Run a command with a group through typer; returns what its function was called with."""
    called: list[tuple[Outer, bool]] = []
    app = typer.Typer(add_completion=False)

    @app.command()
    @expand_groups
    def command(context: typer.Context, outer: Outer, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
        called.append((outer, loud))

    app(arguments, standalone_mode=False)
    return called[0]


def test_a_command_gets_the_dataclass_with_what_was_typed() -> None:
    """Nested groups too, and options of its own beside them."""
    assert run(["x"]) == (Outer(text="x"), False)
    typed = ["x", "--max", "5", "--tag", "a", "--tag", "b", "--loud"]
    assert run(typed) == (Outer(text="x", limit=5, inner=Inner(tag=["a", "b"])), True)


def test_a_field_is_checked_as_an_option_is() -> None:
    """A limit below its minimum, or a missing argument, is a usage error."""
    for arguments in (["x", "--max", "0"], []):
        with pytest.raises(Exception, match=r"\w") as caught:
            run(arguments)
        assert hasattr(caught.value, "format_message")


def test_assemble_and_explain_have_the_same_options_and_explain_four_more() -> None:
    """And both have those that narrow a search."""
    assembling, explaining, searching = (set(inspect.signature(command).parameters) for command in (assemble, explain, search))
    assert explaining - assembling == {"trace", "everything", "ids", "why"}
    assert assembling <= explaining
    assert searching - assembling == {"limit"}
