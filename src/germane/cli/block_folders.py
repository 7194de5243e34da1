"""Block folders: what `germane import --as blocks` and `germane export --layout` do with folders of memory files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from germane.cli.global_options import GlobalOptions, run_async
from germane.cli.screen import console, plain, print_json
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.memory_tool.folder_files import BroughtIn, WrittenFolder

__all__ = ["export_blocks", "import_blocks"]

_MAX_SHOWN = 5


def import_blocks(options: GlobalOptions, folders: Sequence[str], layout: str) -> None:
    """Makes blocks of the files in the folders, and prints how many. Raises `InvalidInput`."""
    found = run_async(_import(options, folders, layout))
    if options.json:
        print_json({"folders": [{"folder": folder, **_shape(result)} for folder, result in zip(folders, found, strict=True)]})
    for folder, result in zip(folders, found, strict=True):
        if not options.json:
            parts = [f"{len(result.created)} new blocks"]
            parts += [f"{len(result.updated)} with another text"] if result.updated else []
            parts += [f"{len(result.known)} there already"] if result.known else []
            parts += [f"{len(result.refused)} files that can't be used"] if result.refused else []
            console().print(f"{folder} ({layout}): {', '.join(parts)}")
        for name, why in list(result.refused.items())[:_MAX_SHOWN]:
            console(stderr=True).print(f"  skipped {plain(f'{name}: {why}', 200)}")
        if len(result.refused) > _MAX_SHOWN:
            console(stderr=True).print(f"  … and {len(result.refused) - _MAX_SHOWN} more")
    if not any(result.created or result.updated or result.known for result in found):
        raise InvalidInput("nothing in it could be used" if folders else "no folder given")


def export_blocks(options: GlobalOptions, folder: str, layout: str) -> None:
    """Writes the blocks as files into a new folder, and prints how many. Raises `InvalidInput`."""
    written = run_async(_export(options, folder, layout))
    if options.json:
        print_json({"target": folder, "files": list(written.files), "left_out": list(written.left_out)})
        return
    console().print(f"exported {len(written.files)} files to {folder}")
    if written.left_out:
        some = ", ".join(written.left_out[:_MAX_SHOWN]) + (" …" if len(written.left_out) > _MAX_SHOWN else "")
        console(stderr=True).print(f"  {len(written.left_out)} blocks have no place in this layout: {plain(some, 200)}")


async def _import(options: GlobalOptions, folders: Sequence[str], layout: str) -> list[BroughtIn]:
    from germane.memory_tool.folder_files import import_folder

    async with options.open_store(create=True) as (_, agent):
        return [await import_folder(agent, folder, layout) for folder in folders]


async def _export(options: GlobalOptions, folder: str, layout: str) -> WrittenFolder:
    from germane.memory_tool.folder_files import export_folder

    async with options.open_store() as (_, agent):
        return await export_folder(agent, folder, layout)


def _shape(result: BroughtIn) -> dict[str, object]:
    return {
        "created": result.created,
        "updated": result.updated,
        "already_there": result.known,
        "refused": [{"file": name, "reason": why} for name, why in result.refused.items()],
    }
