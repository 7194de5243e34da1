"""`germane block pin`, `change`, `delete`, `restore`, `share`, `unshare`: settings of a block, and who sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.block_hints import hinted
from germane.cli.block_options import Attribution, BlockLabel, schema_of
from germane.cli.block_screen import print_changed, print_shares
from germane.cli.codec import encode
from germane.cli.filter_options import known
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.option_groups import expand_groups
from germane.cli.screen import console, plain, print_json
from germane.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from germane.blocks.block import Block
    from germane.blocks.share import Share

__all__ = ["register"]

_LEAST = 4
"""First characters of an id that are enough."""


def register(app: typer.Typer) -> None:
    """Adds the commands to the group."""
    app.command("pin", short_help="Put a working block into every context.")(pin)
    app.command("change", short_help="Change label, type, schema, limit, permission.")(change)
    app.command("delete", short_help="Delete a block; restore brings it back.")(delete)
    app.command("restore", short_help="Bring back a deleted block.")(restore)
    app.command("share", short_help="Share a block with an agent, or list the shares.")(share)
    app.command("unshare", short_help="End the share of a block with an agent.")(unshare)


@expand_groups
def pin(
    context: typer.Context,
    label: BlockLabel,
    attribution: Attribution,
    off: Annotated[bool, typer.Option("--off", help="Unpin it.")] = False,
) -> None:
    """Put a working block into every context, or with --off only where it is referenced."""
    options = options_of(context)
    changed = run_async(_pin(options, label, not off, attribution.given()))
    print_changed("unpinned" if off else "pinned", changed, options)


@expand_groups
def change(
    context: typer.Context,
    label: BlockLabel,
    attribution: Attribution,
    new_label: Annotated[str | None, typer.Option("--label", metavar="LABEL", help="The new label.")] = None,
    description: Annotated[str | None, typer.Option(help="What the block is for.")] = None,
    type: Annotated[str | None, typer.Option(help="core, working, archival or log.")] = None,
    schema: Annotated[str | None, typer.Option(help="The new schema; edits before it can't be undone any more.")] = None,
    permission: Annotated[
        str | None, typer.Option(help="What the agent may do: read_only, partner, human, append, read_write or admin.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=100_000, metavar="N", help="The most characters of its text.")] = None,
) -> None:
    """Change settings of a block. Limit, permission and schema need the permission admin, or --system."""
    from germane.blocks.block import BLOCK_TYPES
    from germane.blocks.permission import PERMISSIONS

    options = options_of(context)
    given = {
        "new_label": new_label,
        "description": description,
        "type": None if type is None else known("--type", type, BLOCK_TYPES),
        "schema": schema_of(schema),
        "permission": None if permission is None else known("--permission", permission, PERMISSIONS),
        "limit": limit,
    }
    if all(value is None for value in given.values()):
        raise InvalidInput("nothing to change (give --label, --description, --type, --schema, --permission or --limit)")
    changed = run_async(_change(options, label, given | attribution.given()))
    print_changed("changed", changed, options)


@expand_groups
def delete(context: typer.Context, label: BlockLabel, attribution: Attribution) -> None:
    """Delete a block. Its label is free then, and germane block restore brings it back. germane forget ID removes it for good.
    Needs the permission admin, or --system."""
    options = options_of(context)
    deleted = run_async(_delete(options, label, attribution.given()))
    print_changed("deleted", deleted, options)
    if not options.json:
        console().print(f"bring it back with: germane block restore {deleted.id}", soft_wrap=True)


@expand_groups
def restore(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The block's id, its first characters (4 or more), or its label.")],
    attribution: Attribution,
) -> None:
    """Bring back a deleted block; of several with the same label the one that was deleted last. germane block list --deleted
    lists them."""
    options = options_of(context)
    print_changed("restored", run_async(_restore(options, id, attribution.given())), options)


@expand_groups
def share(
    context: typer.Context,
    attribution: Attribution,
    label: Annotated[str | None, typer.Argument(metavar="LABEL", help="The block's label or id.")] = None,
    agent: Annotated[str | None, typer.Argument(metavar="AGENT", help="The agent of the org that may see it.")] = None,
    permission: Annotated[str, typer.Option(help="What that agent may do, at most the block's own permission.")] = "append",
) -> None:
    """Share a block with another agent; again, to change what it may do. Without AGENT the shares are listed."""
    from germane.blocks.permission import PERMISSIONS

    options = options_of(context)
    if label is None or agent is None:
        print_shares(run_async(_shares(options, label)), options)
        return
    granted = known("--permission", permission, PERMISSIONS)
    shared = run_async(_share(options, label, agent, granted, attribution.given()))
    if options.json:
        print_json(encode(shared))
    else:
        console().print(plain(f"shared {shared.label} with agent {shared.agent}, which may {shared.permission}"))


@expand_groups
def unshare(
    context: typer.Context,
    label: BlockLabel,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent that may see it no longer.")],
    attribution: Attribution,
) -> None:
    """End the share of a block with an agent. Idempotent."""
    options = options_of(context)
    ended = run_async(_unshare(options, label, agent, attribution.given()))
    if options.json:
        print_json({"ended": ended})
    else:
        console().print(
            plain(f"agent {agent} doesn't see {label} any more" if ended else f"{label} wasn't shared with {agent}")
        )


async def _pin(options: GlobalOptions, label: str, pinned: bool, given: dict[str, Any]) -> Block:
    async with hinted(options, label) as (_, agent):
        return await agent.blocks.pin(label, pinned, **_without_reason(given))


async def _change(options: GlobalOptions, label: str, given: dict[str, Any]) -> Block:
    async with hinted(options, label) as (_, agent):
        return await agent.blocks.change(label, **given)


async def _delete(options: GlobalOptions, label: str, given: dict[str, Any]) -> Block:
    async with hinted(options, label) as (_, agent):
        return await agent.blocks.delete(label, **given)


async def _restore(options: GlobalOptions, name: str, given: dict[str, Any]) -> Block:
    async with hinted(options, name) as (_, agent):
        deleted = await agent.blocks.list(deleted=True)
        found = [one.id for one in deleted if one.label == name][:1] or [
            one.id for one in deleted if one.id == name or (len(name) >= _LEAST and one.id.startswith(name))
        ]
        if len(found) > 1:
            raise InvalidInput(f"id {name!r} stands for {len(found)} deleted blocks: give more of it")
        if not found and not any(name == block.id for block in await agent.blocks.list()):
            raise NotFound(f"no deleted block {name!r} here: germane block list --deleted lists them")
        return await agent.blocks.restore(found[0] if found else name, **given)


async def _shares(options: GlobalOptions, label: str | None) -> tuple[Share, ...]:
    async with hinted(options, label or "") as (_, agent):
        return await agent.blocks.shares(label)


async def _share(options: GlobalOptions, label: str, agent_name: str, permission: str, given: dict[str, Any]) -> Share:
    async with hinted(options, label) as (_, agent):
        return await agent.blocks.share(label, agent_name, permission, **_without_reason(given))


async def _unshare(options: GlobalOptions, label: str, agent_name: str, given: dict[str, Any]) -> bool:
    async with hinted(options, label) as (_, agent):
        return await agent.blocks.unshare(label, agent_name, **_without_reason(given))


def _without_reason(given: dict[str, Any]) -> dict[str, Any]:
    """Pinning and sharing keep no reason."""
    if given["reason"]:
        raise InvalidInput("--reason: this command keeps none, leave it out")
    return {name: value for name, value in given.items() if name != "reason"}
