"""docs/use/proxy.md: its program runs through `germane proxy` against a local provider, and what it lists is what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from germane.settings.upstreams import known_upstreams
from germane_testing.provider import Reply, provider_in_thread
from support.code_blocks import blocks, run
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("PROXY-1")

PAGE = (ROOT / "docs" / "use" / "proxy.md").read_text("utf-8")


@contextmanager
def proxy(path: Path, *options: str) -> Iterator[dict[str, Any]]:
    """Runs `germane proxy` and yields what it prints."""
    command = [sys.executable, "-m", "germane.cli", "--db", str(path), "--json", "proxy", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate()
    assert process.returncode == 0


def test_the_program_of_the_page_runs_through_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable that the command tells."""
    (block,) = blocks(PAGE)
    names: dict[str, Any] = {"__name__": "proxy"}
    with provider_in_thread() as provider, proxy(tmp_path / "p.db", "--upstream", f"openai={provider.url}") as told:
        provider.script.append(Reply("Outside."))
        monkeypatch.setenv("OPENAI_BASE_URL", told["upstreams"]["openai"])
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        run(block, "proxy.md", names)
        names["client"].close()
        assert names["reply"].choices[0].message.content == "Outside."
        assert provider.refused == []


def test_the_page_names_every_provider_that_is_known() -> None:
    listed = re.search(r"names a provider that germane knows \((.*?)\)", PAGE, re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"`([a-z-]+)`", listed.group(1))) == set(known_upstreams())


def test_base_urls_without_options(tmp_path: Path) -> None:
    """The two providers that most programs call."""
    with proxy(tmp_path / "p.db") as told:
        urls = told["upstreams"]
    assert {name: url.rpartition(told["http"])[2] for name, url in urls.items()} == {
        "openai": "/proxy/openai/v1",
        "anthropic": "/proxy/anthropic",
    }
