"""Generate: writes the typed stubs of the protos to src/germane/grpc/stubs. `make proto` runs it.

protoc names Python modules after the folders, which would collide with the package `germane`. So the stubs get names of one
word, and their imports of each other are rewritten. The descriptors keep protoc's names.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "germane" / "grpc" / "stubs"
NAMES = {
    "germane/context/v1/context": "context",
    "germane/context/v1/filters": "filters",
    "germane/context/v1/memory": "memory",
    "germane/context/v1/operation": "operation",
    "ibex/context/v1/context": "ibex",
}
ENDINGS = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


def main(target: Path = TARGET) -> None:
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with TemporaryDirectory() as folder:
        options = [f"--{kind}_out={folder}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
        include = [f"-I{HERE}", f"-I{files('grpc_tools') / '_proto'}"]
        if protoc.main(["protoc", *include, *options, *(str(HERE / f"{name}.proto") for name in NAMES)]):
            sys.exit("protoc refused the protos")
        target.mkdir(parents=True, exist_ok=True)
        for name, short in NAMES.items():
            for ending in ENDINGS:
                made = Path(folder, f"{name}{ending}")
                if "_grpc" in ending and "service " not in (HERE / f"{name}.proto").read_text("utf-8"):
                    continue
                (target / f"{short}{ending}").write_text(_rewritten(made.read_text("utf-8")), "utf-8")
    shutil.rmtree(target / "__pycache__", ignore_errors=True)


def _rewritten(text: str) -> str:
    """Returns a stub whose imports of other stubs use their short names."""
    for name, short in NAMES.items():
        package, module = name.rsplit("/", 1)
        dotted = package.replace("/", ".")
        text = re.sub(
            rf"from {re.escape(dotted)} import {module}_pb2(?! as _)( as \w+)?",
            lambda match, short=short, module=module: (
                f"from germane.grpc.stubs import {short}_pb2{match.group(1) or f' as {module}_pb2'}"
            ),
            text,
        )
        text = re.sub(
            rf"from {re.escape(dotted)} import {module}_pb2 as (_\w+)",
            rf"from germane.grpc.stubs import {short}_pb2 as \1",
            text,
        )
    return text


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
