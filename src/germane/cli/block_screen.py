"""Block screen: prints blocks, their versions, shares, consents and entries; and the options of commands about blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.options import GlobalOptions, json_or_text
from germane.cli.screen import (
    ListColumn,
    console,
    plain,
    print_done,
    print_fields,
    print_json,
    print_listing,
    print_rows,
)
from germane.errors import InvalidInput
from germane.types.codec import encode

if TYPE_CHECKING:
    from datetime import datetime

    from germane.kinds.blocks.permission import ConsentRequest, Share
    from germane.kinds.blocks.value import ArchivalEntry, Block, Version


_BLOCKS = (*map(ListColumn, ("label", "type", "may", "")), ListColumn("size", named=True), ListColumn("text"))
_DELETED = (ListColumn("id", id=True), ListColumn("label"), ListColumn("deleted", named=True), ListColumn("text"))
_VERSIONS = (*map(ListColumn, ("version", "when", "", "what", "who")), ListColumn("why"))
_SHARES = (ListColumn("label"), ListColumn("agent"), ListColumn("may"), ListColumn("since", named=True))
_CONSENTS = (ListColumn("id", id=True), *map(ListColumn, ("block", "what", "who", "asked")), ListColumn("state"))
_PREVIEW = 240


def block_shape(block: Block) -> dict[str, Any]:
    """The JSON of a block."""
    return {"type": "block", **{name: value for name, value in encode(block).items() if name != "type"}} | {
        "block_type": block.type,
        "schema": block.schema.as_dict(),
    }


def consent_shape(request: ConsentRequest, at: datetime) -> dict[str, Any]:
    """The JSON of a request for consent. Its state is the one at a time."""
    shown = {name: value for name, value in encode(request).items() if name != "digest"}
    return shown | {"state": request.state_at(at)}


def print_block(block: Block, options: GlobalOptions) -> None:
    """Prints everything of a block, its text last."""
    if options.json:
        print_json(block_shape(block))
        return
    screen = console()
    schema = block.schema.as_dict()
    fields = [
        ("id", block.id),
        ("label", block.label),
        ("for", block.description),
        ("of", "all users" if block.user is None else f"user {block.user}"),
        ("shared by", block.shared_from or ""),
        ("type", " ".join(filter(None, (block.type, "pinned" if block.pinned else "")))),
        ("schema", schema["type"] if len(schema) == 1 else _json_line(schema)),
        ("permission", _permission(block)),
        ("size", f"{len(block.text):,} of {block.limit:,} characters"),
        ("version", str(block.version)),
        ("made", _time(block.created_at)),
        ("changed", _time(block.updated_at) if block.updated_at != block.created_at else ""),
        ("deleted", _time(block.deleted_at)),
        ("hash", block.content_hash),
    ]
    print_fields(screen, fields)
    screen.print()
    screen.print(plain(block.text) if block.text else "(empty)", soft_wrap=True)


def print_changed(what: str, block: Block, options: GlobalOptions) -> None:
    """Prints one line about a block that was changed, and one about secrets that were found; as JSON the whole block."""
    size = f"version {block.version}, {len(block.text):,} of {block.limit:,} characters"
    print_done(options.json, block_shape(block), f"{what} {block.label} ({size})", secrets=block.secrets)


def print_blocks(blocks: Sequence[Block], options: GlobalOptions, *, deleted: bool) -> None:
    """Prints the blocks as rows."""
    if options.json:
        print_json({"blocks": [block_shape(block) for block in blocks]})
    elif deleted:
        rows = [(one.id, one.label, _day(one.deleted_at), plain(one.text, _PREVIEW)) for one in blocks]
        print_rows(console(), _DELETED, rows)
    else:
        rows_of_all = [
            (
                one.label,
                one.type,
                one.granted,
                _marks(one, options),
                f"{len(one.text):,}/{one.limit:,}",
                plain(" ".join(one.text[: 4 * _PREVIEW].split()), _PREVIEW),
            )
            for one in blocks
        ]
        print_rows(console(), _BLOCKS, rows_of_all)


def print_versions(label: str, versions: Sequence[Version], options: GlobalOptions) -> None:
    """Prints the versions, oldest first."""
    rows = [
        (
            str(one.number),
            f"{one.at:%Y-%m-%d %H:%M}",
            "undone" if one.undone else "",
            one.operation if one.target is None else f"{one.operation} {one.target}",
            one.by,
            plain(one.reason, _PREVIEW),
        )
        for one in versions
    ]
    print_listing(options.json, {"label": label, "versions": encode(tuple(versions))}, _VERSIONS, rows)


def print_shares(shares: Sequence[Share], options: GlobalOptions) -> None:
    """Prints the shares as rows."""
    rows = [(one.label, one.agent, one.permission, _day(one.created_at)) for one in shares]
    hints = () if shares else ("nothing is shared (germane block share LABEL AGENT does it)",)
    print_listing(options.json, {"shares": encode(tuple(shares))}, _SHARES, rows, hints=hints)


def print_consents(requests: Sequence[ConsentRequest], options: GlobalOptions, at: datetime) -> None:
    """Prints the requests for consent as rows, newest first."""
    if options.json:
        print_json({"requests": [consent_shape(one, at) for one in requests]})
        return
    rows = [
        (one.id, one.label, one.operation, one.requested_by, f"{one.requested_at:%Y-%m-%d %H:%M}", consent_state(one, at))
        for one in requests
    ]
    print_rows(console(), _CONSENTS, rows)


def consent_state(request: ConsentRequest, at: datetime) -> str:
    """The state of a request in words."""
    state = request.state_at(at)
    if state == "pending":
        return f"a {request.asked_of} may answer until {request.expires_at:%H:%M:%S} UTC"
    if state != "approved":
        return state
    if request.scope == "until" and request.until is not None:
        return f"approved until {request.until:%Y-%m-%d %H:%M:%S} UTC"
    return "approved for the block" if request.scope == "block" else f"approved once{', used' if request.used_at else ''}"


def print_entries(found: Sequence[tuple[ArchivalEntry, float]]) -> None:
    """Prints what a search of the archive found."""
    columns = (ListColumn("id", id=True), ListColumn("relevance"), ListColumn("when"), ListColumn("text"))
    rows = []
    for entry, relevance in found:
        text = f"{entry.label}: {entry.text}" if entry.label else entry.text
        rows.append((entry.id, f"{relevance:.3f}", _day(entry.created_at), plain(text, _PREVIEW)))
    print_rows(console(), columns, rows)


def _permission(block: Block) -> str:
    return block.permission if block.granted == block.permission else f"{block.permission}, here {block.granted}"


def _marks(block: Block, options: GlobalOptions) -> str:
    marks = ["pinned"] * block.pinned + [f"shared by {block.shared_from}"] * (block.shared_from is not None)
    marks += ["of all users"] * (options.user is not None and block.user is None)
    return ", ".join(marks)


def _json_line(value: Any) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=False)


def _time(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def _day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


# The options that the commands about blocks share, and the reading of their values.


BlockLabel = Annotated[str, typer.Argument(metavar="LABEL", help="The block's label or id.")]
BlockText = Annotated[str | None, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Who changes a block and why, kept with its version."""

    by: Annotated[str, typer.Option(help="Who does it, kept with the version.")] = "command line"
    reason: Annotated[str, typer.Option(help="Why, kept with the version.")] = ""
    system: Annotated[
        bool, typer.Option("--system", help="As the owner's application, not as the agent: no permission is asked for.")
    ] = False

    def given(self) -> dict[str, Any]:
        """The arguments of the library's calls."""
        return {"by": self.by, "reason": self.reason, "system": self.system}


def json_object(value: str, option: str) -> dict[str, Any]:
    """Returns the JSON object that an option has. Raises `InvalidInput`, naming the option."""
    found = json_or_text(value)
    if not isinstance(found, dict):
        raise InvalidInput(f'{option} must be a JSON object such as {{"name": "value"}}')
    return found


def schema_of(value: str | None) -> Any:
    """Returns a schema from --schema: the name of a shape, or JSON. Raises `InvalidInput`."""
    from germane.kinds.blocks.schema import parse_schema

    return None if value is None else parse_schema(json_or_text(value), "--schema")
