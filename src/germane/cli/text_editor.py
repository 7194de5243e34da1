"""Text editor: opens a text in the editor of the person at the terminal, and reads it back."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from germane.errors import GermaneError, InvalidInput

__all__ = ["edited_text"]


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
        raise InvalidInput(f"nobody is there to edit: {instead}")
    folder, given = Path(tempfile.mkdtemp(prefix="germane-")), text.encode("utf-8", "surrogatepass")
    file = folder / "block.md"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(given)
    try:
        _run(editor, file)
        left = _read(file)
        yield left if text.endswith("\n") else left.removesuffix("\n")
    except GermaneError as error:
        if _worked(file, given):
            error.args = (f"{error} (your text is kept in {file})", *error.args[1:])
        else:
            _remove(folder)
        raise
    _remove(folder)


def _run(editor: str, file: Path) -> None:
    try:
        command = [*shlex.split(editor), str(file)]
        code = subprocess.run(command, check=False).returncode
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the editor {editor!r} can't be started: {error}") from None
    if code:
        raise InvalidInput(f"the editor ended with exit code {code}: nothing was changed")


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"what the editor wrote isn't UTF-8 at byte {error.start + 1}") from None
    except OSError as error:
        raise InvalidInput(f"what the editor wrote can't be read: {error.strerror}") from None


def _worked(file: Path, given: bytes) -> bool:
    """Whether the file holds something else than what was given to the editor."""
    try:
        return file.read_bytes() != given
    except OSError:
        return False


def _remove(folder: Path) -> None:
    """Removes the folder; an editor's own back-up file may be in it, which holds the text too."""
    for left in folder.iterdir():
        left.unlink(missing_ok=True)
    folder.rmdir()
