"""`germane block pin`, `change`, `delete`, `share`, `consents`, `archive` and others: all but a block's content.

The settings of a block, who sees it, the edits that wait for an agreement, and archival entries.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.block_screen import (
    Attribution,
    BlockLabel,
    consent_shape,
    consent_state,
    json_object,
    print_changed,
    print_consents,
    print_entries,
    print_shares,
    schema_of,
)
from germane.cli.files import read_text
from germane.cli.hints import ask_block, open_with_hints, other_scopes
from germane.cli.options import GlobalOptions, ask, duration, expand_groups, known, options_of, run_async
from germane.cli.screen import console, plain, print_done, print_hints, print_json
from germane.errors import InvalidInput, NotFound
from germane.types.codec import encode

if TYPE_CHECKING:
    from germane.kinds.blocks.permission import ConsentRequest
    from germane.kinds.blocks.value import Block


_MIN_ID_LENGTH = 4
"""First characters of an id that are enough."""


def register_settings(app: typer.Typer) -> None:
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
    options, given = options_of(context), _without_reason(attribution.given())
    changed = ask_block(options, label, lambda blocks: blocks.pin(label, not off, **given))
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
    from germane.kinds.blocks.permission import PERMISSIONS
    from germane.kinds.blocks.value import BLOCK_TYPES

    options = options_of(context)
    given: dict[str, Any] = {
        "new_label": new_label,
        "description": description,
        "type": None if type is None else known("--type", type, BLOCK_TYPES),
        "schema": schema_of(schema),
        "permission": None if permission is None else known("--permission", permission, PERMISSIONS),
        "limit": limit,
    }
    if all(value is None for value in given.values()):
        raise InvalidInput("nothing to change (give --label, --description, --type, --schema, --permission or --limit)")
    changed = ask_block(options, label, lambda blocks: blocks.change(label, **given, **attribution.given()))
    print_changed("changed", changed, options)


@expand_groups
def delete(context: typer.Context, label: BlockLabel, attribution: Attribution) -> None:
    """Delete a block. Its label is free then, and germane block restore brings it back. germane forget ID removes it for good.
    Needs the permission admin, or --system."""
    options = options_of(context)
    deleted = ask_block(options, label, lambda blocks: blocks.delete(label, **attribution.given()))
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
    from germane.kinds.blocks.permission import PERMISSIONS

    options = options_of(context)
    if label is None or agent is None:
        print_shares(ask_block(options, label or "", lambda blocks: blocks.shares(label)), options)
        return
    granted, given = known("--permission", permission, PERMISSIONS), _without_reason(attribution.given())
    shared = ask_block(options, label, lambda blocks: blocks.share(label, agent, granted, **given))
    line = f"shared {shared.label} with agent {shared.agent}, which may {shared.permission}"
    print_done(options.json, encode(shared), line)


@expand_groups
def unshare(
    context: typer.Context,
    label: BlockLabel,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent that may see it no longer.")],
    attribution: Attribution,
) -> None:
    """End the share of a block with an agent. Idempotent."""
    options, given = options_of(context), _without_reason(attribution.given())
    ended = ask_block(options, label, lambda blocks: blocks.unshare(label, agent, **given))
    line = f"agent {agent} doesn't see {label} any more" if ended else f"{label} wasn't shared with {agent}"
    print_done(options.json, {"ended": ended}, line)


async def _restore(options: GlobalOptions, name: str, given: dict[str, Any]) -> Block:
    async with open_with_hints(options, name) as (_, agent):
        deleted = await agent.blocks.list(deleted=True)
        found = [one.id for one in deleted if one.label == name][:1] or [
            one.id for one in deleted if one.id == name or (len(name) >= _MIN_ID_LENGTH and one.id.startswith(name))
        ]
        if len(found) > 1:
            raise InvalidInput(f"id {name!r} stands for {len(found)} deleted blocks: give more of it")
        if not found and not any(name == block.id for block in await agent.blocks.list()):
            raise NotFound(f"no deleted block {name!r} here: germane block list --deleted lists them")
        return await agent.blocks.restore(found[0] if found else name, **given)


def _without_reason(given: dict[str, Any]) -> dict[str, Any]:
    """Pinning and sharing keep no reason."""
    if given["reason"]:
        raise InvalidInput("--reason: this command keeps none, leave it out")
    return {name: value for name, value in given.items() if name != "reason"}


# `germane block consents`, `approve`, `deny`: edits that a partner or a human has to agree to.


_MAX_CONSENTS = 1_000
RequestId = Annotated[str, typer.Argument(metavar="ID", help="The request's id, or its first characters (4 or more).")]


def register_consents(app: typer.Typer) -> None:
    """Adds the commands to the group."""
    app.command("consents", short_help="List the edits that wait for consent.")(consents)
    app.command("approve", short_help="Allow an edit that waits for consent.")(approve)
    app.command("deny", short_help="Refuse an edit that waits for consent.")(deny)


def consents(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were answered or have expired.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many.")] = 50,
) -> None:
    """List the requests for consent on the own blocks, newest first."""
    options = options_of(context)
    found, hints = run_async(_consents(options, everything, limit))
    print_consents(found, options, datetime.now(UTC))
    if not options.json:
        print_hints(console(), hints)


def approve(
    context: typer.Context,
    id: RequestId,
    lasting: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="once|15m|block",
            help="This edit once; all that the same agent does with the content for a time; or without an end.",
        ),
    ] = "once",
) -> None:
    """Allow an edit. Nothing is changed yet: whoever asked tries the edit again."""
    options = options_of(context)
    scope = lasting if lasting in ("once", "block") else _seconds(lasting)
    _print_answered(run_async(_answer(options, id, scope)), options)


def deny(context: typer.Context, id: RequestId) -> None:
    """Refuse an edit."""
    options = options_of(context)
    _print_answered(run_async(_answer(options, id, None)), options)


def _seconds(lasting: str) -> float:
    if not lasting[:1].isdecimal():
        raise InvalidInput(f"--for must be once, block or a duration such as 15m, not {lasting[:40]!r}")
    seconds = duration(lasting, "--for").total_seconds()
    if not 0 < seconds <= 366 * 86_400:
        raise InvalidInput(f"--for {lasting[:40]} must be above 0 and at most a year (block has no end)")
    return seconds


def _print_answered(request: ConsentRequest, options: GlobalOptions) -> None:
    now = datetime.now(UTC)
    what = f"{request.operation} of {request.label} by {request.requested_by}"
    print_done(options.json, consent_shape(request, now), f"{consent_state(request, now)}: {what}")


async def _consents(options: GlobalOptions, everything: bool, limit: int) -> tuple[tuple[ConsentRequest, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        found = await agent.blocks.consents(pending=not everything, limit=limit)
        if found:
            return found, []
        has_blocks = bool(await agent.blocks.list())
        return found, ["nothing waits for consent", *([] if has_blocks else await other_scopes(germane, options))]


async def _answer(options: GlobalOptions, id: str, scope: Any) -> ConsentRequest:
    async with options.open_store() as (_, agent):
        known = await agent.blocks.consents(pending=False, limit=_MAX_CONSENTS)
        near = [one.id for one in known if len(id) >= _MIN_ID_LENGTH and one.id.startswith(id)]
        if len(near) > 1:
            raise InvalidInput(f"id {id!r} stands for {len(near)} requests: give more of it")
        whole = near[0] if near else id
        return await (agent.blocks.deny(whole) if scope is None else agent.blocks.approve(whole, scope))


# `germane block archive` and `search`: keep texts for later searches, and find them.


def register_archive(app: typer.Typer) -> None:
    """Adds the commands to the group."""
    app.command("archive", short_help="Keep a text for later searches.")(archive)
    app.command("search", short_help="Search archived texts and archival blocks.")(search)


def archive(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")],
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="What else is known of it; its words are searched too.")
    ] = None,
) -> None:
    """Keep a text for later searches. It is never changed; germane forget ID removes it."""
    options = options_of(context)
    content = read_text("-").strip() if text == "-" else text
    known = None if metadata is None else json_object(metadata, "--metadata")
    entry = ask(options, lambda agent: agent.blocks.archive(content, known), create=True)
    print_done(options.json, encode(entry), f"archived {entry.id}: {plain(entry.text, 200)}", secrets=entry.secrets)


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The text to search for: words, or a question.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Print at most this many results.")] = 10,
) -> None:
    """Search archived texts and archival blocks. The best result comes first."""
    options = options_of(context)
    found = ask(options, lambda agent: agent.blocks.search_archive(query, limit))
    if options.json:
        print_json({"query": query, "entries": [{**encode(one.entry), "relevance": one.relevance} for one in found]})
    elif not found:
        console().print("nothing found")
    else:
        print_entries([(one.entry, one.relevance) for one in found])
