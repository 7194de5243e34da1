"""The page on the local provider: its code runs and prints what the page shows, and it names what can be imported."""

from __future__ import annotations

import re
from typing import Any

import pytest

from germane_testing import provider
from germane_testing.provider import Delivery
from support.code_blocks import blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "local-provider.md").read_text("utf-8")


def test_the_code_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks share their names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(PAGE):
        run(block, "local-provider.md", names)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == shown


def test_the_page_names_every_way_to_deliver_and_to_fail() -> None:
    """And each name that the package offers, apart from the types of values."""
    types = {"Asked", "LocalProvider", "ProviderOptions", "Received", "Text", "echoes"}
    assert [name for name in (*Delivery.__slots__, *provider.__all__) if name not in PAGE and name not in types] == []
