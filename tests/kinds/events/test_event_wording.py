"""Wording: what events look like as text, and that nothing undefined or doubly written gets into it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.events.wording import action_of, path_of, wording

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.requirement("GRAPH-1")
@pytest.mark.parametrize(
    ("type", "content", "text"),
    [
        ("file_read", {"path": "src/app.py"}, "Read: src/app.py"),
        ("file_read", "src/app.py", "Read: src/app.py"),
        ("file_write", {"path": "a.md", "content": "# Title"}, "Wrote: a.md\n# Title"),
        ("file_edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}, "Edited: a.py\nx = 1\nx = 2"),
        ("shell_exec", {"command": "pytest -q", "stdout": "3 failed"}, "Executed: `pytest -q`\n3 failed"),
        ("shell_exec", {"cmd": ["git", "status"], "exit_code": 0}, "Executed: `git status`\nexit_code: 0"),
        ("search", {"query": "ticket 7", "results": ["a.md", "b.md"]}, "Search: ticket 7\na.md\nb.md"),
        ("error", {"message": "boom", "stack": "at f (x.js:1)"}, "Error: boom\nat f (x.js:1)"),
        ("decision", "use SQLite", "Decision: use SQLite"),
        ("decision", {"text": "use SQLite", "because": "one file"}, "Decision: use SQLite\none file"),
        ("test", {"name": "test_a", "output": "ok"}, "Test: test_a\nok"),
        ("deploy", "to production", "deploy: to production"),
        ("deploy", {"to": "prod", "n": 2}, 'deploy: {"to":"prod","n":2}'),
        ("deploy", None, "deploy"),
    ],
)
def test_each_type_has_its_wording(type: str, content: object, text: str) -> None:
    """FORMAT-5 without time and outcome; a type of the caller's own is named."""
    assert wording(type, content) == text


def test_both_outputs_of_a_command_are_kept() -> None:
    """What was written to stderr isn't lost where stdout has something, whatever their order in the content."""
    content = {"stderr": "warning: old", "command": "make", "stdout": "built"}
    assert wording("shell_exec", content) == "Executed: `make`\nbuilt\nwarning: old"


@pytest.mark.parametrize("type", ["file_read", "file_write", "file_edit", "shell_exec", "search", "error", "decision", "test"])
def test_what_is_missing_is_left_out(type: str) -> None:
    """No `undefined`, no `None`, no `null`: not for a field without a value, and not for no content at all."""
    for content in (None, "", {}, {"path": None, "command": None, "message": None, "stack": None, "stdout": "", "query": None}):
        text = wording(type, content)
        assert "None" not in text
        assert "null" not in text
        assert "undefined" not in text
        assert text == text.strip()
        assert not text.endswith(":")


def test_a_string_is_never_written_as_json() -> None:
    """Quotes and line breaks of an output stand in the text as they were."""
    assert wording("shell_exec", {"command": 'echo "a"', "stdout": '"a"\nb'}) == 'Executed: `echo "a"`\n"a"\nb'


@given(type=st.sampled_from(["file_read", "file_edit", "shell_exec", "error", "own type"]), content=JSON)
def test_any_json_has_a_wording(type: str, content: object) -> None:
    """Whatever a caller gives, and the same each time."""
    assert wording(type, content) == wording(type, content)
    assert wording(type, content)


def test_the_path_of_a_file_event_is_found() -> None:
    """Under any of its usual names, or as the whole content."""
    assert [path_of(one) for one in ({"file_path": "a"}, {"path": "b"}, "c ", {"n": 1}, None)] == ["a", "b", "c", "", ""]
    assert action_of("bash") == "execute"
    assert action_of("deploy") is None
