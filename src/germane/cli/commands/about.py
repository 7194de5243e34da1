"""`germane about`: prints everything that is known about a person or a thing, what holds now first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.elsewhere import elsewhere, print_hints
from germane.cli.filter_options import FilterOptions
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, plain, print_json

if TYPE_CHECKING:
    from germane.api.about import AboutEntity
    from germane.types.candidate import Chosen
    from germane.types.query import Filters

__all__ = ["about"]


@expand_groups
def about(
    context: typer.Context,
    filters: FilterOptions,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The name of a person or a thing. Default: me, the user.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="As of this time (ISO 8601). Default: now.")] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="At most this many tokens.")] = 1000,
    model: Annotated[str, typer.Option(help="The model whose tokens are counted.")] = "gpt-4o",
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the text as a prompt would hold it.")] = False,
) -> None:
    """Print everything that is known about a person or a thing: what holds now, what no longer holds, and the messages that
    name it. Without a NAME, or by a word for oneself such as me, it is about the user.

    \b
      germane about --user caroline
      germane about Caroline --user ada
      germane about Caroline --user ada --at 2024-05-01 --json
    """
    options = options_of(context)
    found, hints = run_async(
        _about(
            options,
            name,
            filters=filters.filters(options),
            at=options.parse_time(at, "--at"),
            max_tokens=max_tokens,
            model=model,
        )
    )
    if options.json:
        groups = {"current": found.current, "earlier": found.earlier, "mentions": found.mentions}
        listed = {group: [_as_json(item) for item in items] for group, items in groups.items()}
        print_json({"name": found.name, **listed, "tokens": found.tokens, "left_out": found.left_out, "hints": found.hints})
    elif prompt:
        console().print(found.text, markup=False, highlight=False, soft_wrap=True)
    else:
        console().print("\n".join(_lines(found)), markup=False, highlight=False, soft_wrap=True)
        print_hints(console(), hints)


async def _about(options: GlobalOptions, name: str | None, *, filters: Filters, **asked: Any) -> tuple[AboutEntity, list[str]]:
    async with options.open_store(warm=True) as (germane, agent):
        found = await agent.about(name, filters=filters, **asked)
        if _knows(found) or (stored := await agent.stats()).memories or stored.messages:
            return found, []
        return found, await elsewhere(germane, options)


def _knows(found: AboutEntity) -> bool:
    return bool(found.current or found.earlier or found.mentions)


def _lines(found: AboutEntity) -> list[str]:
    if not _knows(found):
        like = f" Names like it: {', '.join(map(plain, found.hints))}." if found.hints else ""
        return [f"Nothing is known about {plain(found.name)} here.{like}"]
    lines = [f"{', '.join(map(plain, found.hints))} write here, and are known together:", ""] if found.hints else list[str]()
    for title, items in (("Now", found.current), ("Earlier", found.earlier), ("Said", found.mentions)):
        if items:
            lines += ["", title] if lines and lines[-1] else [title]
            lines += [f"  {_dated(item)}{plain(item.text)}" for item in items]
    if found.left_out:
        lines += ["", f"{found.left_out} more didn't fit into the tokens: give more with --max-tokens."]
    return lines


def _dated(item: Chosen) -> str:
    said = item.scored.candidate
    if said.category != "conversation":
        return ""
    by = plain(said.speaker or said.role)
    return f"{said.created_at:%Y-%m-%d} {by}: " if by else f"{said.created_at:%Y-%m-%d} "


def _as_json(item: Chosen) -> dict[str, Any]:
    said = item.scored.candidate
    return {
        "id": item.id,
        "text": item.text,
        "category": item.category,
        "at": said.created_at.isoformat(),
        "speaker": said.speaker or None,
        "tokens": item.tokens,
    }
