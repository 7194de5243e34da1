"""Golang: makes the Go client's stubs, and runs its tests with Debian's Go and gRPC against a real service.

    PYTHONPATH=tests python -m support.golang stubs
    PYTHONPATH=tests python -m support.golang test [-race]

`stubs` compiles proto/ and needs protoc-gen-go and protoc-gen-go-grpc. Debian keeps the sources of gRPC in a GOPATH, so the
client is copied into a second one beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc

from support.running import serving
from support.source_tree import ROOT

__all__ = ["STUBS", "go_checks", "usable"]

CLIENT = ROOT / "clients" / "go"
STUBS = CLIENT / "contextv1"
_MODULE = "germane"
"""The module's path, as go.mod and the client's imports have it."""
_DEBIAN = Path("/usr/share/gocode")


def usable() -> bool:
    """Returns whether Go and Debian's sources of gRPC are installed."""
    return shutil.which("go") is not None and (_DEBIAN / "src" / "google.golang.org" / "grpc").is_dir()


def go_checks(*flags: str) -> tuple[int, str]:
    """Vets the client, runs its tests and the program of its README. Returns the exit code of the first command that failed, 0
    where none did, and what was written."""
    with TemporaryDirectory() as folder, serving(Path(folder, "germane.db"), GERMANE_SERVE_DEADLINE_MS="30000") as service:
        place, example = Path(folder, "src", _MODULE), Path(folder, "src", "example")
        shutil.copytree(CLIENT, place)
        example.mkdir()
        program = (CLIENT / "README.md").read_text("utf-8").partition("```go\n")[2].partition("```")[0]
        (example / "main.go").write_text(program.replace("127.0.0.1:7411", service.grpc), "utf-8")
        offline = {
            "GO111MODULE": "off",
            "GOPATH": f"{folder}:{_DEBIAN}",
            "GOFLAGS": "",
            "GOWORK": "off",
            "GOTOOLCHAIN": "local",
        }
        environment = {**os.environ, **offline, "GERMANE_TARGET": service.grpc}
        written = ""
        commands = (
            ["gofmt", "-l", "."],
            ["go", "vet", "."],
            ["go", "test", "-count=1", *flags, "."],
            ["go", "run", "../example"],
        )
        for command in commands:
            done = _run(command, place, environment)
            written += done.stdout
            if done.returncode or (command[0] == "gofmt" and done.stdout):
                return done.returncode or 1, written
        return 0, written


def _run(command: Sequence[str], place: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def write_stubs() -> None:
    """Compiles the protos of `germane.context.v1`."""
    protos = sorted((ROOT / "proto" / "germane").rglob("*.proto"))
    packages = [f"M{proto.relative_to(ROOT / 'proto').as_posix()}={_MODULE}/{STUBS.name}" for proto in protos]
    options = ",".join([f"module={_MODULE}", *packages])
    command = ["protoc", f"-I{ROOT / 'proto'}", f"-I{files('grpc_tools') / '_proto'}"]
    command += [f"--go_out={options}:{CLIENT}", f"--go-grpc_out={options}:{CLIENT}", *map(str, protos)]
    if protoc.main(command):
        sys.exit("protoc refused the protos: are protoc-gen-go and protoc-gen-go-grpc installed?")


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["stubs"]:
            write_stubs()
            return 0
        case ["test", *flags] if usable():
            code, written = go_checks(*flags)
            print(written, end="")
            return code
        case ["test", *_]:
            sys.exit("Go with Debian's gRPC isn't installed: make go installs it as root")
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
