"""Generate: compiles the protos to src/germane/grpc/contract.binpb, from which `germane.grpc.messages` makes the classes.

`make proto` runs it. The file is a `FileDescriptorSet` without comments, and without google's own protos, which are part of the
package protobuf. protoc leaves the fields' JSON names out of the Python modules that it makes, so they are left out here too:
a program can load such a module beside germane only where both describe a file in the same way.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet
from grpc_tools import protoc

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "germane" / "grpc" / "contract.binpb"


def main(target: Path = TARGET) -> None:
    with TemporaryDirectory() as folder:
        out = Path(folder, "contract")
        include = [f"-I{HERE}", f"-I{files('grpc_tools') / '_proto'}"]
        if protoc.main(["protoc", *include, f"--descriptor_set_out={out}", *map(str, sorted(HERE.rglob("*.proto")))]):
            sys.exit("protoc refused the protos")
        compiled = FileDescriptorSet.FromString(out.read_bytes())
    for file in compiled.file:
        for message in file.message_type:
            _without_json_names(message)
    target.write_bytes(compiled.SerializeToString(deterministic=True))


def _without_json_names(message: DescriptorProto) -> None:
    for field in message.field:
        field.ClearField("json_name")
    for inner in message.nested_type:
        _without_json_names(inner)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
