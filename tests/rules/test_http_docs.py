"""docs/use/http.md: its commands run against a real service, and what it says of errors is true."""

from __future__ import annotations

import json
import re
import shlex
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.code_blocks import blocks, run
from support.running import serving
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("HTTP-1")

PAGE = (ROOT / "docs" / "use" / "http.md").read_text("utf-8")


def sent(address: str, command: str) -> tuple[int, Any]:
    """Sends what a curl command would send to the service at this address."""
    words = shlex.split(command)
    assert words[:2] == ["curl", "-s"], command
    headers, body = dict[str, str](), None
    url = next(word for word in words[2:] if word.startswith("localhost:7412/"))
    for option, value in pairwise(words):
        if option == "-H":
            name, _, given = value.partition(": ")
            headers[name] = given
        elif option == "-d":
            body = value
    connection = HTTPConnection(address)
    connection.request("GET" if body is None else "POST", url.removeprefix("localhost:7412"), body, headers)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    return answer.status, found


def commands() -> list[str]:
    shell = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    return [command for block in shell for command in re.split(r"\n(?=curl)", block.strip()) if command.startswith("curl")]


def test_the_python_of_the_page_runs_against_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded is found; the messages come back with the context, or without it where there was no time."""
    (block,) = blocks(PAGE)
    names: dict[str, Any] = {"__name__": "http"}
    with serving(tmp_path / "germane.db") as service:
        monkeypatch.setenv("GERMANE_URL", f"http://{service.http}")
        monkeypatch.delenv("GERMANE_API_KEY", raising=False)
        run(block, "http.md", names)
        assert service.stop() == 0
    assert names["asked"][0] in names["answer"].messages


def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    """What was recorded is in the context, and found."""
    with serving(tmp_path / "germane.db", GERMANE_SERVE_DEADLINE_MS="30000") as service:
        answers = [sent(service.http, command) for command in commands()]
        assert [status for status, _ in answers] == [200, 200, 200]
        recorded, assembled, found = [answer for _, answer in answers]
        assert len(recorded["added"]) == 1
        assert "I am vegetarian" in json.dumps(assembled["messages"])
        assert "vegetarian" in found[0]["candidate"]["text"]
        wrong = "curl -s localhost:7412/v1/agents/support/memories/list?org=acme\\&limit=0"
        status, problem = sent(service.http, wrong)
        shown = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
        assert (status, problem["path"], problem["type"]) == (400, shown["path"], shown["type"])
        assert sent(service.http, "curl -s localhost:7412/health")[1]["status"] == "alive"
        assert service.stop() == 0
