"""Hatch build: makes the package `germane_client` from the client's modules in germane's sources.

`germane.grpc.client`, `germane.grpc.blocking` and every module that they import are copied, and their imports are rewritten:
`germane.grpc.x` becomes `germane_client.x`, and `germane.x` becomes `germane_client.x`. So the sources exist once, and the two
distributions share no file. A source distribution contains the package as made.
"""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ROOTS = ("germane.grpc.client", "germane.grpc.blocking", "germane.errors")
_CONTRACT = "contract.binpb"
"""The compiled protos, which `germane.grpc.messages` reads from its own folder."""
_INIT = '''"""Germane client: context for a model's request from germane's service, within a time limit, without exceptions."""

from __future__ import annotations

from germane_client.api.remote.answer import Answer, ClientMetadata
from germane_client.client import Client

__all__ = ["Answer", "Client", "ClientMetadata"]
'''
_MODULE = re.compile(r"^(\s*)from germane(?:\.grpc)?(\.[\w.]+)? import ", re.MULTILINE)
_NAMED = re.compile(r"\bgermane\.grpc\.(client|blocking)\b")


class ClientBuild(BuildHookInterface[Any]):
    """Adds `germane_client` to the wheel, or to the source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        sources = root.parent.parent / "src"
        if (sources / "germane").is_dir():  # otherwise this is a source distribution, where hatch finds the package as made
            made = root / "build" / "germane_client"
            make_package(sources, made)
            build_data["force_include"][str(made)] = "germane_client"


def make_package(sources: Path, target: Path) -> None:
    """Writes the package `germane_client` to the folder `target`, which is replaced."""
    shutil.rmtree(target, ignore_errors=True)
    for module in sorted(closure(sources)):
        source = _file(sources, module)
        assert source is not None
        if module in ("germane", "germane.grpc"):
            continue
        written = target / source.relative_to(sources / "germane" / ("grpc" if module.startswith("germane.grpc.") else ""))
        written.parent.mkdir(parents=True, exist_ok=True)
        text = _MODULE.sub(r"\1from germane_client\2 import ", source.read_text("utf-8"))
        written.write_text(_NAMED.sub(r"germane_client.\1", text), "utf-8")
    shutil.copyfile(sources / "germane" / "grpc" / _CONTRACT, target / _CONTRACT)
    (target / "__init__.py").write_text(_INIT, "utf-8")
    (target / "py.typed").touch()


def closure(sources: Path) -> set[str]:
    """Returns the client's modules and all modules of germane that they import, without what `germane/__init__.py` imports."""
    found: set[str] = set()
    waiting = list(_ROOTS)
    while waiting:
        module = waiting.pop()
        file = _file(sources, module)
        if module in found or file is None:
            continue
        found.add(module)
        waiting.append(module.rpartition(".")[0])
        if module != "germane":
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "germane":
                    waiting += [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    return found


def _file(sources: Path, module: str) -> Path | None:
    place = sources.joinpath(*module.split("."))
    return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if module and file.is_file()), None)
