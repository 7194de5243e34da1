"""Divide: what becomes a passage, in each format."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.documents.formats import MediaFormat, divide
from germane.kinds.documents.value import MAX_BYTES, MAX_CHARACTERS, DocumentPassage, place_label, with_heading
from germane.search.unit import parts
from support.examples import examples
from support.steps import growth

pytestmark = pytest.mark.requirement("GRAPH-1")

FORMATS: tuple[MediaFormat, ...] = get_args(MediaFormat)


def divided(text: str, format: MediaFormat = "markdown") -> list[DocumentPassage]:
    return list(divide([text], format))


def test_a_passage_stands_under_the_headings_above_it() -> None:
    """A heading of the same or a higher level ends those before it; marks of emphasis aren't part of it."""
    found = divided("# Guide\nhello\n## *Install*\npip\n### `Linux` #\napt\n## Use\nrun\n")
    assert [(passage.path, passage.text) for passage in found] == [
        (("Guide",), "hello"),
        (("Guide", "Install"), "pip"),
        (("Guide", "Install", "Linux"), "apt"),
        (("Guide", "Use"), "run"),
    ]


def test_an_underlined_line_is_a_heading() -> None:
    """As in Setext headings; a rule between paragraphs is none."""
    found = divided("Title\n=====\n\none\n\n---\n\nSub\n---\n\ntwo\n")
    assert [passage.path for passage in found] == [("Title",), ("Title", "Sub")]


def test_a_heading_with_nothing_under_it_is_found_too() -> None:
    """It is a passage of its own; one with a deeper heading under it isn't."""
    found = divided("# A\n## B\ntext\n# C\n# D\n")
    assert [(passage.path, passage.text) for passage in found] == [
        (("A", "B"), "text"),
        (("C",), "C"),
        (("D",), "D"),
    ]


def test_fences_and_tables_stay_whole_where_they_fit() -> None:
    """Headings inside a fence are none."""
    fence = "```sh\n# not a heading\n\nrun --all\n```"
    table = "\n".join(["| a | b |", "|---|---|", *(f"| {number} | x |" for number in range(20))])
    found = divided(f"# T\n{'words ' * 190}\n{fence}\n{'more ' * 200}\n\n{table}\n")
    assert any(fence in passage.text for passage in found)
    assert any(table in passage.text for passage in found)
    assert all(passage.path == ("T",) for passage in found)


def test_parts_of_a_long_table_repeat_its_head() -> None:
    """So that each of them can be read."""
    head = "| city | people |\n|---|---|"
    found = divided(head + "".join(f"\n| town {number} | {number * 31} |" for number in range(300)))
    assert len(found) > 4
    assert all(passage.text.startswith(head) for passage in found)


def test_code_is_divided_at_its_functions() -> None:
    """A passage stands under the class that it is in, with its lines; decorators and comments stay with what they belong to."""
    method = "    def {}(self):\n" + "        work()\n" * 60
    methods = f"{method.format('heat')}\n{method.format('cool')}"
    text = f"import os\n\n\n# why\n@wrap\nclass Oven:\n    'Bakes.'\n\n{methods}\n\ndef main():\n    pass\n"
    found = divided(text, "code")
    assert [passage.path[:2] for passage in found if "def heat" in passage.text or "def cool" in passage.text] == [
        ("Oven", "heat"),
        ("Oven", "cool"),
    ]
    oven = next(passage for passage in found if "class Oven" in passage.text)
    assert "# why\n@wrap\nclass Oven" in oven.text
    heat = next(passage for passage in found if "def heat" in passage.text)
    assert heat.locator == "lines 9-69"
    assert text.split("\n")[8] == "    def heat(self):"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("func (s *Server) Serve(port int) error {", "Serve"),
        ("export default async function load(url) {", "load"),
        ("pub(crate) fn parse<T>(text: &str) -> T {", "parse"),
        ("impl Display for Money {", "Display for Money"),
        ("static int count(const char *text)", "count"),
        ("public final class Oven extends Thing {", "Oven"),
    ],
)
def test_definitions_of_other_languages_are_named(line: str, name: str) -> None:
    """By their first words."""
    (passage,) = divided(f"{line}\n    body;\n}}\n", "code")
    assert passage.path == (name,)


def test_a_definition_inside_a_long_string_is_none() -> None:
    """A triple quote that is open hides what stands in it."""
    found = divided('TEXT = """\n\ndef fake():\n\n"""\n', "code")
    assert [passage.path for passage in found] == [()]


def test_repeated_records_of_a_log_are_counted() -> None:
    """Times don't make a difference, and numbers do; a stack trace belongs to its record."""
    lines = [f"2026-01-01 10:00:{second:02} INFO answered 200" for second in range(40)]
    lines += ["2026-01-01 10:02:00 ERROR failed", "Traceback:", "  File x", "2026-01-01 10:02:01 INFO answered 500"]
    (passage,) = divided("\n".join(lines), "log")
    assert passage.text.split("\n") == [
        "2026-01-01 10:00:00 INFO answered 200",
        "(and 39 more like it, the last at 2026-01-01 10:00:39)",
        *lines[-4:],
    ]
    assert passage.locator == "lines 1-44"


def test_pages_are_not_mixed() -> None:
    """A passage of a PDF is of one page, which its label names."""
    found = divide(["one", "", "two\n\nthree"], "pdf")
    assert [(passage.text, passage.locator) for passage in found] == [("one", "page 1"), ("two\n\nthree", "page 3")]


TEXTS = st.text(st.sampled_from("ab \n#|-`~.\t0:{}('\"界é\U0001f600"), max_size=4000) | st.text(max_size=300)


@examples(150)
@given(TEXTS.map(lambda text: text * 3), st.sampled_from(FORMATS))
def test_passages_fit_stand_in_order_and_lose_no_letter(text: str, format: MediaFormat) -> None:
    """Of any text, in any format, each letter is in a passage or a heading, and the store doesn't divide a passage again."""
    found = divided(text, format)
    for passage in found:
        assert len(passage.text) <= MAX_CHARACTERS
        assert len(passage.text.encode("utf-8", "surrogatepass")) <= MAX_BYTES
        assert len(parts(with_heading(passage, "t" * 300))) == 1
        assert 0 <= passage.start <= passage.stop <= len(text)
        assert len(place_label(passage.metadata("t" * 300, ""))) <= 64
    assert [passage.start for passage in found] == sorted(passage.start for passage in found)
    if format not in ("log", "markdown"):
        shown = "".join(passage.text for passage in found)
        for letter in "ab界é\U0001f600":
            assert shown.count(letter) >= text.count(letter)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("run", ["a", "#", "`", "```\n", "|", "\n", " ", "界", "def f(:\n", "class A:\n ", '"""', "\t", "{"])
def test_runs_of_one_thing_are_divided(format: MediaFormat, run: str) -> None:
    """In a moment, and into passages that fit."""
    found = divided(run * 20_000, format)
    assert all(len(passage.text) <= MAX_CHARACTERS for passage in found)


def test_a_label_keeps_the_file_the_last_heading_and_the_place() -> None:
    """Where there is no room, headings in the middle go, then the beginning of the title."""
    passage = DocumentPassage(
        text="x", path=("Chapter with a long name", "Section with a long name", "Linux"), locator="page 12"
    )
    assert place_label(passage.metadata("guide.md", "")) == "guide.md › Section with a long name › Linux › page 12"
    long = place_label(passage.metadata("folder/" * 20 + "guide.md", ""))
    assert long.endswith("/guide.md › Linux › page 12")
    assert len(long) <= 64


@pytest.mark.parametrize(
    "metadata", [{}, {"title": 3, "path": "x", "locator": None}, {"path": [1, None, "A"]}, {"title": "\n\n"}]
)
def test_a_label_can_be_made_of_any_metadata(metadata: dict[str, object]) -> None:
    """An export that was edited by hand may hold anything."""
    assert place_label(metadata).startswith("document")


@pytest.mark.requirement("LIMITS-2")
@pytest.mark.parametrize("line", ["if x:", "x = 1", "def g():", "# note", "", "}"])
def test_lines_of_code_in_one_block_take_linear_time(line: str) -> None:
    """Their margin is found once for the block, however deep each of them stands."""

    def read(n: int) -> None:
        divided("def f():\n" + "".join(" " * (at % 40) + line + "\n" for at in range(n)), "code")

    assert growth(read, 300) < 6
