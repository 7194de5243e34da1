"""Install: what the core brings along."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires

import pytest

from support.source_tree import ROOT

_CORE = {"apsw", "numpy", "pystemmer", "simsimd", "toktok-rs", "tzdata"}

_OPENED = """
import asyncio, sys
from germane import Germane

async def main():
    async with Germane.open(":memory:") as germane:
        await germane.agent().remember("Ana lives in Lisbon")
        await germane.agent().assemble([{"role": "user", "content": "Where does Ana live?"}], model="gpt-4o", deadline=None)

asyncio.run(main())
print(*sys.modules)
"""


def _name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0].lower()


@pytest.mark.requirement("INSTALL-1")
def test_the_core_requires_six_packages_that_require_none() -> None:
    """A new dependency of the core is a decision: 115 MB in 7 packages is promised."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {_name(requirement) for requirement in project["dependencies"]} == _CORE
    assert not [one for name in _CORE for one in requires(name) or () if "extra ==" not in one]


@pytest.mark.requirement("INSTALL-1", "SEARCH-6")
def test_the_core_works_on_these_packages_alone() -> None:
    """A store is opened, written and asked."""
    shown = subprocess.run([sys.executable, "-c", _OPENED], capture_output=True, text=True, check=True).stdout
    imported = {name.partition(".")[0] for name in shown.split()}
    assert not imported & {
        "tokenizers",
        "quicktok",
        "huggingface_hub",
        "requests",
        "pydantic",
        "yaml",
        "wordllama",
        "onnxruntime",
    }
