"""Source tree: the modules of the package, their imports, and the project's files, read without running any of them."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

__all__ = ["ROOT", "SOURCE", "Module", "beside", "modules", "project_files", "room"]

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "germane"


@dataclass(frozen=True)
class Module:
    """A module of the package. `name` leaves out `germane.` (`types.plan`); an `__init__.py` has the name of its package
    (`types`)."""

    name: str
    path: Path

    @property
    def room(self) -> str:
        return room(self.name)

    @cached_property
    def made(self) -> bool:
        """Whether a program makes the module in whole: its first line says so."""
        return self.path.read_text("utf-8").startswith("# Made by ")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text("utf-8"), str(self.path))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, which several rules look through."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def lines(self) -> int:
        return len(self.path.read_text("utf-8").splitlines())

    @cached_property
    def imports(self) -> frozenset[str]:
        """Names of germane's own modules that the file imports anywhere, imports for type checking included."""
        return frozenset(name for full in self._imported() if (name := _own(full)) is not None)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """Names of the other top-level packages that the file imports, those of the standard library included."""
        return frozenset(full.split(".")[0] for full in self._imported()) - {"germane"}

    def _imported(self) -> Iterator[str]:
        package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
        for node in self.nodes:
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
    """The package or module of the root that contains the module `name`. Each stage is a room of its own, the handles of all
    kinds are one (`handles`), and so is the contract of stores."""
    first, *rest = name.split(".")
    if first == "stages" and rest:
        return f"stages.{rest[0]}"
    if first == "kinds" and rest[-1:] == ["handle"]:
        return "handles"
    return name if name == "stores.contract" else first


def _own(full: str) -> str | None:
    if full == "germane":
        return "__init__"
    return full.removeprefix("germane.") if full.startswith("germane.") else None


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] == "__init__" and len(parts) > 1:
            parts = parts[:-1]
        found.append(Module(".".join(parts), path))
    return tuple(found)


@cache
def beside() -> tuple[Module, ...]:
    """The modules of the distributions beside germane, with their full names (`germane_eval.run`)."""
    found = []
    for source in (ROOT / "packages" / "eval" / "src", ROOT / "packages" / "testing" / "src"):
        for path in sorted(source.rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return tuple(found)


@cache
def _names() -> frozenset[str]:
    return frozenset(module.name for module in modules())


@cache
def project_files() -> tuple[Path, ...]:
    """All files of the project: those that git tracks or, outside a clone, all that aren't in a hidden folder."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())
    return tuple(
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts)
    )
