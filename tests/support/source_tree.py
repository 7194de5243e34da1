"""The source as the rules see it: its modules, what each imports, its files. Nothing of it is run."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

__all__ = ["ROOT", "SOURCE", "Module", "modules", "project_files", "room"]

MADE = "stubs"
"""A folder of what a tool wrote: read by nobody, measured by nothing."""

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "germane"


@dataclass(frozen=True)
class Module:
    """`name` without `germane.` in front: `gather.merge`; a package's own module has the package's name, `gather`."""

    name: str
    path: Path

    @property
    def room(self) -> str:
        return room(self.name)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text("utf-8"), str(self.path))

    @cached_property
    def lines(self) -> int:
        return len(self.path.read_text("utf-8").splitlines())

    @cached_property
    def imports(self) -> frozenset[str]:
        """The names of germane's own modules that it imports, wherever in the file, for types alone included."""
        return frozenset(name for full in self._imported() if (name := _own(full)) is not None)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """The top-level packages from elsewhere, the standard library's included."""
        return frozenset(full.split(".")[0] for full in self._imported()) - {"germane"}

    def _imported(self) -> Iterator[str]:
        package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = ["germane", *filter(None, package.split("."))]
                start = ".".join(above[: len(above) - node.level + 1]) if node.level else ""
                full = ".".join(filter(None, [start, node.module or ""]))
                for alias in node.names:
                    inner = f"{full}.{alias.name}"
                    yield inner if _own(inner) in _names() else full


def room(name: str) -> str:
    """The package or module of the root that the module called `name` is in, or is. A stage is a room inside of `pipeline`."""
    first, *rest = name.split(".")
    return f"{first}.{rest[0]}" if first == "pipeline" and rest and (SOURCE / first / rest[0]).is_dir() else first


def _own(full: str) -> str | None:
    if full == "germane":
        return "__init__"
    return full.removeprefix("germane.") if full.startswith("germane.") else None


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if MADE in parts and parts[-1] != "__init__":
            continue
        if parts[-1] == "__init__" and len(parts) > 1:
            parts = parts[:-1]
        found.append(Module(".".join(parts), path))
    return tuple(found)


@cache
def _names() -> frozenset[str]:
    return frozenset(module.name for module in modules())


@cache
def project_files() -> tuple[Path, ...]:
    """Everything that belongs to the project: what git tracks or, outside a clone, whatever isn't in a hidden folder."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())
    return tuple(
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts)
    )
