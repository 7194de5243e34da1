"""Golang: the Go client's stubs, and its tests with Debian's Go and gRPC.

    python -m tools.golang stubs
    python -m tools.golang test [-race]

`stubs` compiles proto/ with protoc-gen-go and protoc-gen-go-grpc, which must be installed. `test` vets the client and runs its tests
against a real service. Debian keeps the sources of gRPC in a GOPATH, so the client is copied to a GOPATH beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "clients" / "go"
MODULE = "germane"
"""The module's path. `stubs` writes it into the stubs; go.mod and the imports of the client say it too."""
STUBS = "contextv1"
DEBIAN = Path("/usr/share/gocode")


def usable() -> bool:
    """Returns whether Go and Debian's sources of gRPC are installed."""
    return shutil.which("go") is not None and (DEBIAN / "src" / "google.golang.org" / "grpc").is_dir()


def write_stubs(target: Path = CLIENT / STUBS) -> None:
    """Compiles the protos of `germane.context.v1`."""
    protos = sorted((ROOT / "proto" / "germane").rglob("*.proto"))
    packages = [f"M{proto.relative_to(ROOT / 'proto').as_posix()}={MODULE}/{STUBS}" for proto in protos]
    with TemporaryDirectory() as folder:
        options = ",".join([f"module={MODULE}", *packages])
        command = ["protoc", f"-I{ROOT / 'proto'}", f"-I{files('grpc_tools') / '_proto'}"]
        command += [f"--go_out={options}:{folder}", f"--go-grpc_out={options}:{folder}", *map(str, protos)]
        if protoc.main(command):
            sys.exit("protoc refused the protos: are protoc-gen-go and protoc-gen-go-grpc installed?")
        for made in sorted(Path(folder, STUBS).iterdir()):
            shutil.copy(made, target / made.name)


def workspace(folder: Path) -> tuple[Path, Mapping[str, str]]:
    """Copies the client into a GOPATH in `folder`. Returns the client's place there, and the environment for `go`."""
    place = folder / "src" / MODULE
    shutil.copytree(CLIENT, place)
    variables = {"GO111MODULE": "off", "GOPATH": f"{folder}:{DEBIAN}", "GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    return place, {**os.environ, **variables}


def go(place: Path, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `go` in the folder `place`. Returns its exit code and what it wrote."""
    command = ["go", *arguments]
    return subprocess.run(command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main(arguments: list[str]) -> int:
    match arguments:
        case ["stubs"]:
            write_stubs()
            return 0
        case ["test", *flags] if usable():
            return _test(flags)
        case ["test", *_]:
            sys.exit("Go with Debian's gRPC isn't installed: make go says what is needed")
    sys.exit(__doc__)


def _test(flags: list[str]) -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    from support.running import serving

    with TemporaryDirectory() as folder, serving(Path(folder, "germane.db"), GERMANE_SERVE_DEADLINE_MS="30000") as service:
        place, environment = workspace(Path(folder, "go"))
        environment = {**environment, "GERMANE_TARGET": service.grpc}
        for command in (["vet", "."], ["test", "-count=1", *flags, "."]):
            done = go(place, environment, *command)
            print(done.stdout, end="")
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
