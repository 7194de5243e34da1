"""Limits docs: `docs/operate/limits.md` and the service's contract state the limits of the code."""

from __future__ import annotations

import re

from germane.types import limits
from germane.types.limits import Limit
from support.source_tree import ROOT

PAGE = ROOT / "docs" / "operate" / "limits.md"
CONTRACT = ROOT / "docs" / "operate" / "service.md"
ROW = re.compile(r"^\| (?!what |-)(?P<row>.+) \|$", re.MULTILINE)


def known() -> list[Limit]:
    return [one for name, one in vars(limits).items() if isinstance(one, Limit) and not name.startswith("_")]


def test_every_limit_is_in_the_table_with_its_number_and_its_reason() -> None:
    """The table has no other rows."""
    table = ROW.findall(PAGE.read_text("utf-8"))
    written = [" | ".join((one.of, f"{one.maximum:,} {one.unit}".rstrip(), one.why)) for one in known()]
    assert sorted(table) == sorted(written)


def test_the_page_is_found_from_where_people_look() -> None:
    """From the guide and from the service's contract."""
    assert "(../operate/limits.md" in (ROOT / "docs" / "use" / "guide.md").read_text("utf-8")
    assert "(limits.md" in CONTRACT.read_text("utf-8")


SHORT = {
    "`messages` ": (limits.MESSAGES, limits.RECORDED, limits.CHARACTERS),
    "`messages[].json`": (limits.DEPTH, limits.VALUES),
    "`model`": (limits.ID,),
    "`ids`": (limits.IDS,),
    "every other list": (limits.NAMES,),
    "`fields`": (limits.MEMORY_TEXT, limits.FIELD_VALUES),
}
"""Rows of the short table in the service's contract."""


def test_the_short_table_of_the_services_contract_has_the_same_numbers() -> None:
    """Field by field."""
    table = ROW.findall(CONTRACT.read_text("utf-8"))
    for field, meant in SHORT.items():
        (row,) = [row for row in table if row.startswith(field)]
        said = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\d", row)]
        assert said == [one.maximum for one in meant], row
    assert f"({limits.MESSAGES.maximum:,} at most), all come back" in CONTRACT.read_text("utf-8")
