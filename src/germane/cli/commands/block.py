"""`germane block`: lists and shows the memory blocks of a scope; the group of all commands about blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from germane.cli.block_screen import print_block, print_blocks, print_versions
from germane.cli.commands import block_edit, block_settings
from germane.cli.hints import ask_block, open_with_hints, other_scopes
from germane.cli.options import GlobalOptions, known, options_of, run_async
from germane.cli.screen import console, plain, print_hints, print_json
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.kinds.blocks.value import Block


app = typer.Typer(invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def block(context: typer.Context) -> None:
    """Make, read, edit and share memory blocks: labelled texts of bounded size that an agent keeps and edits."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list", short_help="List the blocks.")
def list_blocks(
    context: typer.Context,
    type: Annotated[str | None, typer.Option(help="Only core, working, archival or log blocks.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="The own blocks that were deleted, the latest first.")] = False,
) -> None:
    """List the blocks: own ones by label, then those that other agents share."""
    from germane.kinds.blocks.value import BLOCK_TYPES

    options = options_of(context)
    kind = None if type is None else known("--type", type, BLOCK_TYPES)
    blocks, hints = run_async(_list(options, kind, deleted))
    print_blocks(blocks, options, deleted=deleted)
    if not options.json:
        print_hints(console(), hints)


@app.command("show", short_help="Print a block, or one of its versions.")
def show(
    context: typer.Context,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The block's label or id.")],
    version: Annotated[int | None, typer.Option(min=0, metavar="N", help="Print the text as it was at this version.")] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the text alone.")] = False,
) -> None:
    """Print everything of a block: what it is for, what its agent may do, its size and its text."""
    options = options_of(context)
    shown, past = run_async(_show(options, label, version))
    if version is not None and options.json:
        print_json({"label": shown.label, "version": version, "text": past})
    elif version is not None or (text and not options.json):
        console().print(plain(past), soft_wrap=True)
    else:
        print_block(shown, options)


@app.command("versions", short_help="Print who changed a block, when and why.")
def versions(
    context: typer.Context,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The block's label or id.")],
) -> None:
    """Print the versions of a block that are kept, oldest first. germane block show LABEL --version N prints one's text."""
    options = options_of(context)
    print_versions(label, ask_block(options, label, lambda blocks: blocks.versions(label)), options)


block_edit.register_edits(app)
block_settings.register_settings(app)
block_settings.register_archive(app)
block_settings.register_consents(app)


async def _list(options: GlobalOptions, type: str | None, deleted: bool) -> tuple[tuple[Block, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        found = await agent.blocks.list(type, deleted=deleted)
        if found:
            return found, []
        if type is not None and (others := len(await agent.blocks.list(deleted=deleted))):
            return found, [f"no {type} blocks here; of all types there are {others:,}"]
        if deleted:
            return found, ["no deleted blocks here"]
        return found, ["no blocks here (germane block create LABEL makes one)", *await other_scopes(germane, options)]


async def _show(options: GlobalOptions, label: str, version: int | None) -> tuple[Block, str]:
    async with open_with_hints(options, label) as (_, agent):
        found = await agent.blocks.get(label)
        if version is not None and version > found.version:
            raise InvalidInput(f"--version {version} is later than the latest, which is {found.version}")
        return found, found.text if version is None else await agent.blocks.show_version(found.id, version)
