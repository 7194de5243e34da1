"""Export file: recognises what `germane export` wrote, and restores it line by line, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, BinaryIO

from germane.cli.global_options import GlobalOptions
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.api.germane import Germane
    from germane.api.restore import Restored
    from germane.transfer.parse import Header
    from germane.transfer.stored import Reach

__all__ = ["ExportFile", "export_file"]

_MAX_LINE = 256 << 20
"""Bytes of one line: more than a message of the largest size takes."""
_MARK = b'"germane-export"'


class ExportFile:
    """An export that is being read. `first` is its first line, which has been read from `stream` already."""

    def __init__(self, stream: BinaryIO, first: bytes, header: Header, max_line: int = _MAX_LINE) -> None:
        self.reach, self.total = header.reach, header.contents.total
        self._stream, self._first, self._max_line = stream, first, max_line

    def close(self) -> None:
        self._stream.close()

    def target(self, options: GlobalOptions, into: bool) -> Reach | None:
        """Returns the scope that the lines go into; None where each goes where it came from. Raises `InvalidInput` where the
        options name another scope than that of the export and `into` is false."""
        named = {name: getattr(options, name) for name in sorted(options.named)}
        if not named:
            if into:
                raise InvalidInput("--into needs the scope that the export goes into: name it with --org, --agent or --user")
            return None
        wrong = [name for name, value in named.items() if getattr(self.reach, name) != value]
        if not wrong:
            return None
        if not into:
            raise InvalidInput(
                f"the export is of {self.reach}, not of --{wrong[0]} {named[wrong[0]]}: leave --{wrong[0]} out to import it "
                "where it came from, or add --into to import it there"
            )
        if self.reach.agent is None or (self.reach.all_users and "user" in named):
            raise InvalidInput(
                f"the export is of {self.reach}: only that of one agent, or of one user, can go into another scope"
            )
        scope = {name: named.get(name, getattr(self.reach, name)) for name in ("org", "agent", "user")}
        return replace(self.reach, all_users=False, **scope)

    async def restore(
        self, germane: Germane, target: Reach | None, *, skip_conflicts: bool, advance: Callable[[int], object]
    ) -> Restored:
        """Stores what the export holds. `advance` is called with the number of lines read."""
        lines = self._lines(advance)
        if target is None:
            return await germane.restore(lines, skip_conflicts=skip_conflicts)
        agent = germane.agent(target.agent or "", org=target.org or "", user=target.user)
        return await agent.restore(lines, into=True, skip_conflicts=skip_conflicts)

    def _lines(self, advance: Callable[[int], object]) -> Iterator[bytes]:
        yield self._first
        for number in count(2):
            line = self._stream.readline(self._max_line + 1)
            if not line:
                return
            if len(line) > self._max_line:
                raise InvalidInput(f"line {number} is longer than {self._max_line:,} bytes: it isn't a line of an export")
            advance(1)
            yield line


def export_file(stream: BinaryIO, first: bytes) -> ExportFile | None:
    """Returns the export whose first line is `first`, None where that isn't the header of one. Raises `InvalidInput` for an
    export that this germane can't read."""
    first = first.removeprefix(b"\xef\xbb\xbf")
    if _MARK not in first[:200]:
        return None
    from germane.transfer.parse import Header, parse_line, read_line

    try:
        header = parse_line(read_line(first))
    except InvalidInput as error:
        raise InvalidInput(f"line 1: {error}") from None
    return ExportFile(stream, first, header) if isinstance(header, Header) else None
