"""Wording: the searchable text of a typed event, made from its type and its content (FORMAT-5), and what its outcome means.

The first line says what was done; what came of it follows, whole: outputs are clipped only where a prompt is written. The
time and the outcome aren't part of the text, since formats add them. A field without a value is left out, and a string is
never written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

Action = Literal["read", "write", "edit", "execute", "search", "error", "decision", "test"]

_ACTION_TYPES: Mapping[Action, str] = MappingProxyType(
    {
        "read": "file_read read open_file",
        "write": "file_write write file_create create_file",
        "edit": "file_edit edit file_change patch",
        "execute": "shell_exec shell command exec bash terminal run",
        "search": "search web_search file_search grep",
        "error": "error exception",
        "decision": "decision",
        "test": "test test_run tests",
    }
)
_ACTIONS: Mapping[str, Action] = MappingProxyType(
    {word: action for action, words in _ACTION_TYPES.items() for word in words.split()}
)
_VERBS: Mapping[Action, str] = MappingProxyType(
    {
        "read": "Read",
        "write": "Wrote",
        "edit": "Edited",
        "execute": "Executed",
        "search": "Search",
        "error": "Error",
        "decision": "Decision",
        "test": "Test",
    }
)
_PATHS = ("path", "file_path", "file", "filename", "uri")
_HEADS: Mapping[Action, tuple[str, ...]] = MappingProxyType(
    {
        "read": _PATHS,
        "write": _PATHS,
        "edit": _PATHS,
        "execute": ("command", "cmd", "args"),
        "search": ("query", "pattern", "q"),
        "error": ("message", "error", "text", "name", "type"),
        "decision": ("decision", "text", "title", "summary"),
        "test": ("name", "test", "path", "command"),
    }
)
"""The fields of the content that the first line shows: the first of them that has a value."""
_UNNAMED_WORDS = """
    text content output stdout stderr result results diff patch change old old_string new new_string stack traceback reason
    rationale because message error log body summary
"""
_UNNAMED_FIELDS = frozenset(_UNNAMED_WORDS.split())
"""Fields whose values follow without their names. The others follow as `name: value`."""
_ORDER = MappingProxyType({name: place for place, name in enumerate(("stdout", "stderr"))})


def action_of(type: str) -> Action | None:
    """Returns what an event type stands for, such as `execute` for `shell_exec`; None for a type of the caller's own."""
    return _ACTIONS.get(type)


def content_of(raw: Mapping[str, Any]) -> Any:
    """Returns the content of a stored event that isn't a message, as it was given; None where there is none."""
    return raw.get("content")


def path_of(content: Any) -> str:
    """Returns the path that the content of a file event names, '' where it names none. A plain string is the path."""
    if isinstance(content, str):
        return content.strip()
    return _first(content, _PATHS)[1] if isinstance(content, Mapping) else ""


def wording(type: str, content: Any) -> str:
    """Returns the text of an event. `content` is a string or a mapping as JSON allows it, None for nothing.

    `Read: path`, `Wrote: path`, `Edited: path` and the change, ``Executed: `command` `` and all its output, `Search: query` and
    the results, `Error: message` and the stack, `Decision: text`, `Test: name`; else `type: ` and the content. Takes linear
    time. Raises nothing for JSON of at most 64 levels.
    """
    action = _ACTIONS.get(type)
    if action is None:
        plain = content if isinstance(content, str) else "" if _is_nothing(content) else _json(content)
        return f"{type}: {plain}" if plain else type
    verb = _VERBS[action]
    if not isinstance(content, Mapping):
        shown = content if isinstance(content, str) else "" if _is_nothing(content) else _json(content)
        return _headed(verb, action, shown, ())
    name, head = _first(content, _HEADS[action])
    rest = sorted(
        ((key, value) for key, value in content.items() if key != name and not _is_nothing(value)),
        key=lambda pair: (pair[0] not in _UNNAMED_FIELDS, _ORDER.get(pair[0], len(_ORDER))),
    )
    return _headed(verb, action, head, (_field(key, value) for key, value in rest))


def _headed(verb: str, action: Action, head: str, rest: Iterable[str]) -> str:
    shown = f"`{head}`" if action == "execute" and head else head
    return "\n".join((f"{verb}: {shown}" if shown else verb, *rest))


def _first(content: Mapping[str, Any], names: Iterable[str]) -> tuple[str, str]:
    """Returns the first of these fields that has a value, and the value as text."""
    for name in names:
        value = content.get(name)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return name, " ".join(value)
        if not _is_nothing(value):
            return name, _plain(value)
    return "", ""


def _field(name: str, value: Any) -> str:
    text = _plain(value)
    return text if name in _UNNAMED_FIELDS else f"{name}: {text}"


def _plain(value: Any) -> str:
    """A string as it is, a list of strings as lines, anything else as compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


# What the words mean that say how an event ended.


_SUCCESS_WORDS = frozenset(
    {"0", "accepted", "closed", "complete", "completed", "done", "fixed", "ok", "pass", "passed", "resolved"}
)
_MORE_SUCCESS_WORDS = frozenset({"solved", "succeeded", "success", "successful", "true", "yes"})
_FAILURE_WORDS = frozenset(
    {"abort", "aborted", "broken", "cancelled", "crash", "crashed", "denied", "error", "fail", "failed", "failure"}
)
_MORE_FAILURE_WORDS = frozenset({"false", "no", "refused", "rejected", "timeout", "unresolved"})
_MAX_OUTCOME = 32
"""Characters of an outcome that is looked up; a longer one is a sentence, which is neither good nor bad."""


def succeeded(outcome: str) -> bool:
    """Whether an outcome says that it went well, such as `success`, `ok`, `passed` or `exit 0`."""
    word = _word(outcome)
    return word in _SUCCESS_WORDS or word in _MORE_SUCCESS_WORDS


def failed(outcome: str) -> bool:
    """Whether an outcome says that it went wrong, such as `failure`, `error`, `timeout` or `exit 1`."""
    word = _word(outcome)
    return word in _FAILURE_WORDS or word in _MORE_FAILURE_WORDS or (word.isdecimal() and word.strip("0") != "")


def _word(outcome: str) -> str:
    """The outcome as one word: the number of `exit 1`, `exit code 1` and `status: 1`, else all of it."""
    if len(outcome) > _MAX_OUTCOME:
        return ""
    words = outcome.casefold().replace(":", " ").replace("=", " ").split()
    if len(words) > 1 and words[0] in ("exit", "exited", "code", "status", "returncode"):
        return words[-1].lstrip("-")
    return "_".join(words)
