"""Install: what the core brings along."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import requires

import pytest

from support.source_tree import ROOT

_CORE = {"apsw", "numpy", "pystemmer", "simsimd", "toktok-rs", "tzdata"}


def _name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0].lower()


@pytest.mark.requirement("INSTALL-1")
def test_the_core_requires_six_packages_that_require_none() -> None:
    """A new dependency of the core is a decision: 115 MB in 7 packages is promised."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {_name(requirement) for requirement in project["dependencies"]} == _CORE
    assert not [one for name in _CORE for one in requires(name) or () if "extra ==" not in one]
