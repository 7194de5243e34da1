"""`germane remember`, `update`, `feedback`, `forget`: store, correct, mark and erase memories.

`forget` also erases messages, documents and blocks, for good, after a question.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.commands.documents import named_document
from germane.cli.files import read_text
from germane.cli.hints import owner_hint
from germane.cli.options import GlobalOptions, ask, json_or_text, options_of, run_async
from germane.cli.screen import Exit, console, plain, print_done, print_json
from germane.errors import InvalidInput, NotFound
from germane.kinds.memories.value import Memory

if TYPE_CHECKING:
    from germane.api.agent import Agent


def remember(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text of the memory; - reads it from standard input.")
    ] = None,
    kind: Annotated[str, typer.Option(help="fact, preference, procedure, behavior, episode or note.")] = "note",
    key: Annotated[str | None, typer.Option(help="The key of a fact, such as city.")] = None,
    value: Annotated[str | None, typer.Option(help="The value of a fact, as JSON or as text. Default: TEXT.")] = None,
    title: Annotated[str | None, typer.Option(help="The title of a note or a procedure.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag (may be repeated).")] = None,
    sensitivity: Annotated[str, typer.Option(help="public, private or sensitive.")] = "private",
    confidence: Annotated[float, typer.Option(help="How certain the memory is, from 0 to 1.")] = 0.8,
    pinned: Annotated[bool, typer.Option("--pinned", help="Put the memory into every context.")] = False,
    agent_wide: Annotated[bool, typer.Option("--agent-wide", help="Share the memory with all users of the agent.")] = False,
    valid_from: Annotated[str | None, typer.Option(help="The time from which the memory holds (ISO 8601).")] = None,
    valid_to: Annotated[str | None, typer.Option(help="The time until which it held, for what has ended (ISO 8601).")] = None,
    expires_at: Annotated[str | None, typer.Option(help="The time at which the memory ends (ISO 8601).")] = None,
    observed_at: Annotated[str | None, typer.Option(help="The time at which a fact was observed (ISO 8601).")] = None,
    occurred_at: Annotated[str | None, typer.Option(help="The time at which an episode happened (ISO 8601).")] = None,
    derived_from: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A memory or message that it was made from (may be repeated).")
    ] = None,
) -> None:
    """Store a note, a fact, a preference, a procedure, a behavior or an episode.

    \b
      germane remember "Prefers e-mail to phone calls" --kind preference --user ada
      germane remember --kind fact --key city --value Vienna --user ada
    """
    from germane.cli.json_shapes import memory_shape

    options = options_of(context)
    content = read_text("-").strip() if text == "-" else text
    fields: dict[str, Any] = {
        "kind": kind,
        "key": key,
        "title": title,
        "tags": tuple(tag or ()),
        "sensitivity": sensitivity,
        "confidence": confidence,
        "pinned": pinned,
        "agent_wide": agent_wide,
        "valid_from": options.parse_time(valid_from, "--valid-from"),
        "valid_to": options.parse_time(valid_to, "--valid-to"),
        "derived_from": tuple(derived_from) if derived_from else None,
        "expires_at": options.parse_time(expires_at, "--expires-at"),
        "observed_at": options.parse_time(observed_at, "--observed-at"),
        "occurred_at": options.parse_time(occurred_at, "--occurred-at"),
    }
    if kind == "fact" and value is None:
        value, content = content, None
    if value is not None:
        fields["value"] = json_or_text(value)
    if content is None and value is None:
        raise InvalidInput("nothing to remember (give a text, or --kind fact with --key and --value)")
    given = {name: entry for name, entry in fields.items() if entry is not None}
    memory = ask(options, lambda agent: agent.remember(content, **given), create=True)
    line = f"remembered {memory.kind} {memory.id}: {plain(memory.text, 200)}"
    print_done(options.json, memory_shape(memory), line, secrets=memory.secrets)


# `germane update`: changes a memory in place.


def update(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or its first characters (4 or more).")],
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The new text.")] = None,
    value: Annotated[str | None, typer.Option(help="The new value of a fact, as JSON or as text.")] = None,
    title: Annotated[str | None, typer.Option(help="The new title of a note or a procedure.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="The new tags (may be repeated); an empty one takes all away.")] = None,
    sensitivity: Annotated[str | None, typer.Option(help="public, private or sensitive.")] = None,
    confidence: Annotated[float | None, typer.Option(help="How certain the memory is, from 0 to 1.")] = None,
    pinned: Annotated[bool | None, typer.Option("--pinned/--unpinned", help="Whether it goes into every context.")] = None,
    valid_to: Annotated[str | None, typer.Option(help="The time until which it holds (ISO 8601); none takes it away.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="The time at which it ends (ISO 8601); none takes it away.")] = None,
) -> None:
    """Correct a memory. What was true and is true no longer isn't corrected but remembered anew: then the earlier version is
    kept.

    \b
      germane update 01a204f2-6d51 "Prefers letters" --user ada
      germane update 01a204f2-6d51 --unpinned --tag post --user ada
    """
    from germane.cli.commands.show import print_memory
    from germane.cli.json_shapes import memory_shape

    options = options_of(context)
    changes: dict[str, Any] = {
        name: given
        for name, given in (("title", title), ("sensitivity", sensitivity), ("confidence", confidence), ("pinned", pinned))
        if given is not None
    }
    if value is not None:
        changes["value"] = json_or_text(value)
    if tag is not None:
        changes["tags"] = tuple(filter(None, tag))
    for name, given in (("valid_to", valid_to), ("expires_at", expires_at)):
        if given is not None:
            changes[name] = None if given == "none" else options.parse_time(given, f"--{name.replace('_', '-')}")
    if text is None and not changes:
        raise InvalidInput("nothing to change (give TEXT, or an option such as --tag or --confidence)")
    memory = run_async(_update(options, id, text, changes))
    if options.json:
        print_json(memory_shape(memory))
    else:
        print_memory(memory)


async def _update(options: GlobalOptions, id: str, text: str | None, changes: dict[str, Any]) -> Memory:
    async with options.open_store() as (germane, agent):
        try:
            return await agent.memories.update(id, text, **changes)
        except NotFound as missing:
            try:
                whole = (await agent.find(id)).id
            except NotFound:
                whole = id
            if where := await owner_hint(germane, options, whole):
                raise NotFound(f"{missing} ({where})") from None
            raise missing from None


# `germane feedback`: marks memories as helpful or harmful.


def feedback(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="The ids of the memories (germane search --json shows ids).")],
    helpful: Annotated[bool, typer.Option("--helpful/--harmful", help="Whether the memories helped or did harm.")] = True,
) -> None:
    """Mark memories as helpful or harmful. Later assemblies and searches score them higher or lower."""
    options = options_of(context)
    count = ask(options, lambda agent: agent.feedback(tuple(ids), helpful=helpful))
    if not count:
        named = "this id" if len(ids) == 1 else "these ids"
        hint = "; what is agent-wide is marked without --user" if options.user else ""
        raise NotFound(f"no memory with {named} here (germane search --json shows ids{hint})")
    line = f"marked {count} as {'helpful' if helpful else 'harmful'}"
    print_done(options.json, {"marked": count, "helpful": helpful}, line)


# `germane forget`: erases for good, after a question.


_MIN_PREFIX, _MIN_PREFIX_UNASKED, _ID_LENGTH = 4, 10, 36
"""Characters of the beginning of an id that are enough where somebody is asked, where nobody is, and of a whole id."""


def forget(
    context: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID", help="Ids of memories and messages, or their first characters; ids of blocks and entries."
        ),
    ] = None,
    key: Annotated[str | None, typer.Option(help="Every fact with this key.")] = None,
    tag: Annotated[str | None, typer.Option(help="Every memory with this tag.")] = None,
    session: Annotated[str | None, typer.Option(help="The messages of this conversation and the memories made in it.")] = None,
    document: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="This document with its passages, by its source, path or title.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="What came from this kind of source: user, operator, tool, system, import."),
    ] = None,
    channel: Annotated[str | None, typer.Option(help="What came through this channel.")] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All data of the agent, or with --user of that user.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be erased; erase nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
    reason: Annotated[str, typer.Option(help="A note to keep with the record of the erasure, which holds no content.")] = "",
) -> None:
    """Erase memories and messages by id, key, tag, session or source, or everything. Their bytes are overwritten in the file.

    It is safe to run the same command again: it then reports whether bytes are still left in the file, and why.
    """
    options = options_of(context)
    if not (ids or key or tag or session or document or source or channel or everything):
        raise InvalidInput(
            "nothing named to forget (give ids, --key, --tag, --session, --document, --source, --channel or --everything)"
        )
    if document is not None and session is not None:
        raise InvalidInput("--document and --session exclude each other: a document is a session of its own")
    if options.json and not (yes or dry_run):
        raise InvalidInput("forget asks first: with --json, pass --yes or --dry-run")
    criteria: dict[str, Any] = {
        "ids": tuple(ids) if ids else None,
        "key": key,
        "tag": tag,
        "session": session,
        "source_kind": source,
        "channel": channel,
        "everything": everything,
    }
    run_async(_forget(options, criteria, document, dry_run=dry_run, yes=yes, reason=reason))


async def _forget(
    options: GlobalOptions, criteria: dict[str, Any], document: str | None, *, dry_run: bool, yes: bool, reason: str
) -> None:
    async with options.open_store() as (_, agent):
        if document is not None:
            kept = await named_document(agent, document)
            if kept.user != options.user:
                raise InvalidInput(f"{kept.title} belongs to all users of the agent: leave out --user to forget it")
            criteria["session"] = kept.session
        criteria["ids"] = await _full_ids(agent, criteria["ids"], yes=yes and not dry_run)
        receipt = await agent.forget(**criteria, dry_run=True)
        matches = bool(len(receipt) or criteria["everything"])
        if not matches and not dry_run:
            # Nothing was confirmed, so nothing is erased: this call only reports the state of earlier erasures.
            receipt = await agent.forget([])
        elif not dry_run:
            if not yes and not _confirmed(receipt.counts, options):
                console(stderr=True).print("nothing was forgotten")
                raise typer.Exit(Exit.FAILED)
            receipt = await agent.forget(**criteria, reason=reason)
    if options.json:
        print_json(
            {
                **{name: list(ids) for name, ids in receipt.by_kind().items()},
                "matched": receipt.matched,
                "dry_run": dry_run,
                "scrubbed": receipt.scrubbed,
                "waiting_for": receipt.waiting_for,
                "checked": list(receipt.checked),
            }
        )
        return
    if not matches:
        console().print("nothing matches: there is nothing to forget")
    else:
        console().print(f"{'would forget' if dry_run else 'forgot'} {receipt.counts}")
    if receipt.waiting_for:
        console().print(f"some of it is still left in the file: that waits for {receipt.waiting_for}")
        console().print("it is finished as soon as that ends; germane doctor tells, and so does forgetting the same again")


async def _full_ids(agent: Agent, ids: tuple[str, ...] | None, *, yes: bool) -> tuple[str, ...] | None:
    """Completes the beginnings of ids. A message id of the caller's may look like one: so where nobody is asked, only what
    reaches beyond the first hyphen of an id is completed."""
    if ids is None:
        return None
    least = _MIN_PREFIX_UNASKED if yes else _MIN_PREFIX
    return tuple([await _full_id(agent, id) if least <= len(id) < _ID_LENGTH else id for id in ids])


async def _full_id(agent: Agent, id: str) -> str:
    """Your own id of a message stays, so that it stands for all messages that have it."""
    if await agent.forget([id], dry_run=True):
        return id
    try:
        return (await agent.find(id)).id
    except NotFound:
        return id


def _confirmed(counts: str, options: GlobalOptions) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(f"forget asks first, and stdin isn't a terminal: pass --yes to forget {counts}")
    return typer.confirm(f"Forget {counts} in {options.place} for good?", err=True)
