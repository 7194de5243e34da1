"""`germane block create`, `edit`, `append`, `set`, `undo`, `redo`: make a block and change its content."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.block_screen import Attribution, BlockLabel, BlockText, json_object, print_changed, schema_of
from germane.cli.files import read_json, read_text
from germane.cli.hints import ask_block, open_with_hints
from germane.cli.options import GlobalOptions, ask, expand_groups, json_or_text, known, options_of, run_async
from germane.cli.screen import console
from germane.errors import Conflict, GermaneError, InvalidInput

if TYPE_CHECKING:
    from germane.kinds.blocks.value import Block


_ATTEMPTS = 5
_INSTEAD = "give mutations as JSON, or use germane block set"

Base = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="The version that you have read: what was changed since stays.")
]
IfHash = Annotated[
    str | None, typer.Option(metavar="HASH", help="Only if the content still has this hash, which germane block show prints.")
]
Section = Annotated[str | None, typer.Option(help="The section of a composite block.")]
FieldName = Annotated[str | None, typer.Option(help="The field of a map.")]


def register_edits(app: typer.Typer) -> None:
    """Adds the commands to the group."""
    app.command("create", short_help="Make a block.")(create)
    app.command("edit", short_help="Edit the text in your editor, or apply mutations.")(edit)
    app.command("append", short_help="Add a text, an item or an entry to the end.")(append)
    app.command("set", short_help="Replace the text, a field or the content.")(_set_content)
    app.command("undo", short_help="Take back the latest edit.")(undo)
    app.command("redo", short_help="Make the edit again that was undone last.")(redo)


def create(
    context: typer.Context,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The label, such as project/plan.")],
    text: BlockText = None,
    description: Annotated[str, typer.Option(help="What the block is for.")] = "",
    type: Annotated[str, typer.Option(help="core, working, archival or log.")] = "working",
    schema: Annotated[
        str | None, typer.Option(help="text, list, log, or the schema as JSON. Default: a log for a log, else text.")
    ] = None,
    value: Annotated[str | None, typer.Option(help="The first content of another schema than text, as JSON.")] = None,
    permission: Annotated[
        str, typer.Option(help="What the agent may do: read_only, partner, human, append, read_write or admin.")
    ] = "read_write",
    limit: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="The most characters of its text.")] = 5_000,
    pinned: Annotated[bool, typer.Option("--pinned", help="Put a working block into every context.")] = False,
    by: Annotated[str, typer.Option(help="Who does it, kept with the version.")] = "command line",
    reason: Annotated[str, typer.Option(help="Why, kept with the version.")] = "",
) -> None:
    """Make a block: of the user with --user, else of the agent.

    \b
      germane block create persona "I answer for Acme, briefly." --type core
      germane block create tasks --schema '{"type": "list", "checkboxes": true}' --user ada
    """
    from germane.kinds.blocks.permission import PERMISSIONS
    from germane.kinds.blocks.value import BLOCK_TYPES

    options = options_of(context)
    given: dict[str, Any] = {
        "description": description,
        "type": known("--type", type, BLOCK_TYPES),
        "schema": schema_of(schema),
        "text": read_text("-") if text == "-" else text,
        "value": None if value is None else json_or_text(value),
        "permission": known("--permission", permission, PERMISSIONS),
        "limit": limit,
        "pinned": pinned,
    }
    if text is not None and value is not None:
        raise InvalidInput("TEXT and --value are both given: give one of them")
    given |= {"by": by, "reason": reason}
    made = ask(options, lambda agent: agent.blocks.create(label, **given), create=True)
    print_changed("made", made, options)


@expand_groups
def edit(
    context: typer.Context,
    label: BlockLabel,
    attribution: Attribution,
    mutations: Annotated[
        list[str] | None,
        typer.Argument(metavar="MUTATION", help="Mutations as JSON; - reads a list of them from standard input."),
    ] = None,
    base: Base = None,
    if_hash: IfHash = None,
) -> None:
    """Edit a block. Without mutations, its text is opened in $EDITOR, and what you change is merged with what others change
    meanwhile. With several mutations, all are made or none.

    \b
      germane block edit persona
      germane block edit tasks '{"op": "check_item", "index": 0}' --reason "she called"
    """
    options = options_of(context)
    if not mutations:
        if base is not None or if_hash is not None:
            raise InvalidInput("--base and --if-hash are for mutations: give one, or leave them out")
        _edit_in_editor(options, label, attribution.given())
        return
    given: Any = read_json("-") if mutations == ["-"] else [json_object(one, "MUTATION") for one in mutations]
    listed = given if isinstance(given, list) else [given]
    edited = {"base": base, "if_hash": if_hash, **attribution.given()}
    print_changed("edited", ask_block(options, label, lambda blocks: blocks.edit(label, *listed, **edited)), options)


@expand_groups
def append(
    context: typer.Context,
    label: BlockLabel,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to add; - reads it from standard input.")],
    attribution: Attribution,
    section: Section = None,
    field: FieldName = None,
) -> None:
    """Add to the end: to a text as it is, to a list an item, to a log an entry, to a field of a map with --field."""
    options = options_of(context)
    content = read_text("-") if text == "-" else text
    edited = run_async(_set(options, label, content, section, field, {"appended": True, **attribution.given()}))
    print_changed("added to", edited, options)


@expand_groups
def _set_content(
    context: typer.Context,
    label: BlockLabel,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The new content; - reads it from standard input.")],
    attribution: Attribution,
    section: Section = None,
    field: FieldName = None,
    base: Base = None,
    if_hash: IfHash = None,
) -> None:
    """Replace the text of a block, a field of a map with --field (JSON or text), or the content of a map or a list (JSON)."""
    options = options_of(context)
    content = read_text("-") if text == "-" else text
    given = {"base": base, "if_hash": if_hash, **attribution.given()}
    print_changed("set", run_async(_set(options, label, content, section, field, given)), options)


@expand_groups
def undo(context: typer.Context, label: BlockLabel, attribution: Attribution) -> None:
    """Take back the latest edit that isn't undone, whoever made it. What was changed since stays."""
    options = options_of(context)
    undone = ask_block(options, label, lambda blocks: blocks.undo(label, **attribution.given()))
    print_changed("undid the latest edit of", undone, options)


@expand_groups
def redo(context: typer.Context, label: BlockLabel, attribution: Attribution) -> None:
    """Make the edit again that was undone last, unless another edit followed."""
    options = options_of(context)
    redone = ask_block(options, label, lambda blocks: blocks.redo(label, **attribution.given()))
    print_changed("redid the edit of", redone, options)


def _edit_in_editor(options: GlobalOptions, label: str, given: dict[str, Any]) -> None:
    """The store is closed while the editor is open."""

    block, text = run_async(_content(options, label))
    if not isinstance(text, str):
        raise InvalidInput(f"block {block.label!r} is a {block.schema.kind}, and an editor is for plain text: {_INSTEAD}")
    with edited_text(text, _INSTEAD) as edited:
        if edited == text:
            console(stderr=True).print("nothing was changed")
            return
        mutation = {"op": "set_text", "text": edited}
        changed = ask_block(options, block.id, lambda blocks: blocks.edit(block.id, mutation, base=block.version, **given))
    print_changed("edited", changed, options)


async def _content(options: GlobalOptions, label: str) -> tuple[Block, Any]:
    """Returns a block with its content as a plain value, both of one version."""
    async with open_with_hints(options, label) as (_, agent):
        for _attempt in range(_ATTEMPTS):
            block = await agent.blocks.get(label)
            value = await agent.blocks.value(block.id)
            if (await agent.blocks.get(block.id)).version == block.version:
                return block, value
        raise Conflict(f"block {block.label!r} was changed by others {_ATTEMPTS} times in a row: try again")


async def _set(
    options: GlobalOptions, label: str, content: str, section: str | None, field: str | None, given: dict[str, Any]
) -> Block:
    async with open_with_hints(options, label) as (_, agent):
        block = await agent.blocks.get(label)
        choose = _appending if given.pop("appended", False) else _setting
        mutation = choose(_schema(block, section), content, field) | ({} if section is None else {"section": section})
        return await agent.blocks.edit(block.id, mutation, **given)


def _schema(block: Block, section: str | None) -> Any:
    """The schema of what is changed. Raises `InvalidInput`."""
    from germane.kinds.blocks.schema import CompositeSchema

    if not isinstance(block.schema, CompositeSchema):
        if section is not None:
            raise InvalidInput(f"--section is for a composite block, and {block.label!r} is a {block.schema.kind}")
        return block.schema
    if section is None:
        names = ", ".join(one.name for one in block.schema.sections)
        raise InvalidInput(f"block {block.label!r} has sections: choose one with --section ({names})")
    return block.schema.section(section).schema


def _appending(schema: Any, content: str, field: str | None) -> dict[str, Any]:
    _check_field(schema, field, needed=True)
    match schema.kind:
        case "map":
            return {"op": "append_to_field", "field": field, "value": content}
        case "list":
            return {"op": "push_item", "value": content if schema.item == "text" else json_object(content, "TEXT")}
        case "log":
            return {"op": "append_entry", "text": content}
    return {"op": "append_text", "text": content}


def _setting(schema: Any, content: str, field: str | None) -> dict[str, Any]:
    _check_field(schema, field, needed=False)
    if field is not None:
        text = schema.field(field).type in ("text", "timestamp")
        return {"op": "set_field", "field": field, "value": content if text else json_or_text(content)}
    if schema.kind == "text":
        return {"op": "set_text", "text": content}
    if schema.kind == "log":
        raise InvalidInput("a log can't be set: add to it with germane block append")
    return {"op": "set_value", "value": json_or_text(content)}


def _check_field(schema: Any, field: str | None, *, needed: bool) -> None:
    if field is not None and schema.kind != "map":
        raise InvalidInput(f"--field is for a map, and this is a {schema.kind}")
    if field is None and needed and schema.kind == "map":
        names = ", ".join(one.name for one in schema.fields)
        raise InvalidInput(f"a map has fields: choose one with --field ({names})")


# Opens a text in the editor of the person at the terminal, and reads it back.


@contextmanager
def edited_text(text: str, instead: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yields the text as a person left it in `$VISUAL` or `$EDITOR`. The file has mode 0600 and is removed at the end; where
    the body fails and the text was changed, it is kept, and the error names it. `instead` says what to do without an editor.

    A line break that the editor added at the end of a text without one is taken away. Raises `InvalidInput`."""
    variables = os.environ if environment is None else environment
    editor = variables.get("VISUAL") or variables.get("EDITOR")
    if not editor:
        raise InvalidInput(f"no editor is known: set EDITOR, or {instead}")
    if sys.stdin is None or not sys.stdin.isatty():
        raise InvalidInput(f"stdin isn't a terminal, so the editor can't be opened: {instead}")
    folder, given = Path(tempfile.mkdtemp(prefix="germane-")), text.encode("utf-8", "surrogatepass")
    file = folder / "block.md"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(given)
    try:
        _run_editor(editor, file)
        left = _read_edited(file)
        yield left if text.endswith("\n") else left.removesuffix("\n")
    except GermaneError as error:
        if _was_edited(file, given):
            error.args = (f"{error} (your text is kept in {file})", *error.args[1:])
        else:
            _remove_folder(folder)
        raise
    _remove_folder(folder)


def _run_editor(editor: str, file: Path) -> None:
    try:
        command = [*shlex.split(editor), str(file)]
        code = subprocess.run(command, check=False).returncode
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the editor {editor!r} can't be started: {error}") from None
    if code:
        raise InvalidInput(f"the editor ended with exit code {code}: nothing was changed")


def _read_edited(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"what the editor wrote isn't UTF-8 at byte {error.start + 1}") from None
    except OSError as error:
        raise InvalidInput(f"what the editor wrote can't be read: {error.strerror}") from None


def _was_edited(file: Path, given: bytes) -> bool:
    """Whether the file holds something else than what was given to the editor."""
    try:
        return file.read_bytes() != given
    except OSError:
        return False


def _remove_folder(folder: Path) -> None:
    """Removes the folder; an editor's own back-up file may be in it, which holds the text too."""
    for left in folder.iterdir():
        left.unlink(missing_ok=True)
    folder.rmdir()
