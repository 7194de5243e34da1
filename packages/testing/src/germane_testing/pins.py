"""Pins: `pin`, assertions in tests about the content, the token cost and the rendered text of a context.

    pin(context).includes("12 Harbour Lane", id="m17").excludes("old address").within(800)
    pin(context).keeps_prefix_of(previous)
    pin(context).snapshot("returns")

Each check raises an `AssertionError` with the reason: for a missing item whether a source found it and why it was left out,
for an unwanted item which source it came from. In pytest `pin` is a fixture (`pytest_plugin.py`); elsewhere call
`Pin(context)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import NoReturn, Self

from germane.types.candidate import Chosen, Scored
from germane.types.context import Context

_SHOWN = 5
_WIDTH = 72


class Pinning:
    """The value of the `pin` fixture. Calling it makes a `Pin` that knows the test it belongs to."""

    def __init__(self, *, folder: Path, test: str, name: str, snapshots: Snapshots) -> None:
        self._folder, self._test, self._name, self._snapshots = folder, test, name, snapshots

    def __call__(self, context: Context) -> Pin:
        return Pin(context, self._check)

    def _check(self, name: str | None, text: str) -> SnapshotDifference | None:
        return self._snapshots.differs(file_of(self._folder, name or self._name), text, test=self._test)


class Pin:
    """Checks of one context. Each raises `AssertionError` or returns the pin itself, so checks can be chained."""

    def __init__(self, context: object, check: Callable[[str | None, str], SnapshotDifference | None] | None = None) -> None:
        if not isinstance(context, Context):
            hint = "; is an `await` missing?" if hasattr(context, "__await__") else ""
            raise TypeError(f"pin() takes the Context that assemble() returns, not {type(context).__name__}{hint}")
        self._context, self._check = context, check

    def includes(self, *texts: str, id: str | None = None) -> Self:
        """Checks that each of `texts` is shown to the model verbatim, as it was stored, and so is the item with this `id`:
        germane's own id, or the caller's id of a message."""
        __tracebackhide__ = True
        for text in texts:
            if text not in self._context.added and not any(text in item.text for item in self._context.items):
                _fail(f"{text!r} is not in the context", self._why_not(partial(_holds, text)))
        if id is not None and not any(_is(id, item.scored) for item in self._context.items):
            _fail(f"no item {id!r} is in the context", self._why_not(partial(_is, id)))
        return self

    def excludes(self, *texts: str, id: str | None = None) -> Self:
        """Checks that none of `texts` is shown to the model, nor the item with this `id`."""
        __tracebackhide__ = True
        for text in texts:
            holding = [item for item in self._context.items if text in item.text]
            if holding:
                _fail(f"{text!r} is in the context", map(_shown, holding))
            if text in self._context.added:
                _fail(f"{text!r} is in the context", ["in the directive or a header, not in a remembered item"])
        if id is not None and (holding := [item for item in self._context.items if _is(id, item.scored)]):
            _fail(f"the item {id!r} is in the context", map(_shown, holding))
        return self

    def within(self, tokens: int) -> Self:
        """Checks that all the added text takes at most `tokens` tokens of the target model."""
        __tracebackhide__ = True
        taken = self._context.metadata.total_tokens_injected
        if taken > tokens:
            most_expensive = sorted(self._context.items, key=lambda item: -item.tokens)[:_SHOWN]
            _fail(
                f"the context takes {taken} tokens, {taken - tokens} more than {tokens}",
                ["the most expensive items:", *map(_shown, most_expensive)],
            )
        return self

    def complete(self) -> Self:
        """Checks that every source answered in time and no stage failed (degradation level 0)."""
        __tracebackhide__ = True
        if self._context.metadata.degradation_level or self._context.metadata.fallback_reason:
            _fail(f"the context is at L{self._context.metadata.degradation_level}", self._faults())
        return self

    def keeps_prefix_of(self, previous: Context) -> Self:
        """Checks that this request begins with the same messages as the previous one of its conversation, up to the text that
        depends on the query (INJECT-2). The provider's prompt cache can reuse that prefix."""
        __tracebackhide__ = True
        before, now = _before_the_query(previous), self._context.to_openai()
        if not before:
            _fail(
                "nothing stands before what changes with the query", ["there is no prefix to keep: is the placement 'split'?"]
            )
        for index, message in enumerate(before):
            if index >= len(now) or now[index] != message:
                was, is_ = _first_difference(message, now[index] if index < len(now) else {})
                _fail(f"the prefix ends in message {index}", [f"before: {was}", f"now:    {is_}"])
        return self

    def snapshot(self, name: str | None = None, *, times: bool = True) -> Self:
        """Checks that all the added text equals the snapshot `__pins__/<name>.txt` beside the test; the default name is that of
        the test. Nonce, ids and scores are ignored, and with `times=False` days and times too. `pytest --update-pins` writes
        the snapshot."""
        __tracebackhide__ = True
        if self._check is None:
            raise TypeError("snapshot() needs the `pin` fixture of pytest, which knows where the test is")
        text = readable(self._context, times=times)
        if found := self._check(name, text):
            _fail("the context is not as pinned", [*found.changes, *self._gone(found), "", *found.advice], indent="")
        return self

    def __repr__(self) -> str:
        return f"<Pin {self._context!r}>"

    def _why_not(self, wanted: Callable[[Scored], bool]) -> Iterator[str]:
        """Yields what happened to the `wanted` candidates: left out and why, shown in part, or never offered."""
        found = False
        for out in self._context.trace.left_out:
            if wanted(out.scored):
                found = True
                cost = "" if out.tokens is None else f", {out.tokens} tokens"
                yield f"left out for {out.reason}: {_scored(out.scored)}{cost}"
        for item in self._context.items:
            if wanted(item.scored):
                found = True
                yield f"only {item.share:.0%} of it is shown: {_shown(item)}"
        if not found:
            left = len(self._context.trace.left_out)
            yield f"no source offered it; {len(self._context.items)} items are in, {left} were left out"
        yield from self._faults()

    def _faults(self) -> Iterator[str]:
        """Yields the fallback and the failures of sources in this assembly."""
        if self._context.metadata.fallback_reason:
            yield f"it fell back: {self._context.metadata.fallback_reason}"
        for report in self._context.metadata.sources:
            if report.status in ("timeout", "error") or report.reason in ("warming", "slow_embedder"):
                yield f"source {report!r}"

    def _gone(self, found: SnapshotDifference) -> Iterator[str]:
        """Yields, for lines that are no longer in the text, why their items were left out."""
        gone = [line for line in found.changes if line.startswith("-")]
        for out in self._context.trace.left_out:
            if out.scored.candidate.text and any(out.scored.candidate.text in line for line in gone):
                yield f"gone, left out for {out.reason}: {_scored(out.scored)}"


def _fail(what: str, why: Iterable[str], indent: str = "  ") -> NoReturn:
    __tracebackhide__ = True
    raise AssertionError("\n".join([what, *(f"{indent}{line}" for line in why)]))


def _holds(text: str, item: Scored) -> bool:
    return text in item.candidate.text


def _is(id: str, item: Scored) -> bool:
    return id in (item.candidate.id, item.candidate.provenance.message_id)


def _shown(item: Chosen) -> str:
    return f"{item.handle}: {_scored(item.scored)}, {item.tokens} tokens"


def _scored(item: Scored) -> str:
    return f"#{item.rank} {item.score:.3f} {item.candidate.source} {_cut(item.candidate.text)!r}"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _first_difference(before: Mapping[str, object], now: Mapping[str, object]) -> tuple[str, str]:
    """An excerpt of each message around the first character in which they differ."""
    one, two = (f"{message.get('role', 'nothing')}: {message.get('content', '')}" for message in (before, now))
    pairs = enumerate(zip(one, two, strict=False))
    same = next((index for index, (was, is_) in pairs if was != is_), min(len(one), len(two)))
    start = max(0, same - _WIDTH // 2)
    dots = "…" if start else ""
    return _cut(f"{dots}{one[start:]}"), _cut(f"{dots}{two[start:]}")


def _before_the_query(context: Context) -> list[dict[str, object]]:
    """The messages before the last user message, without germane's own message right before it."""
    messages = context.to_openai()
    end = max((index for index, message in enumerate(messages) if message.get("role") == "user"), default=len(messages))
    if end > 0 and messages[end - 1].get("role") == "user" and str(messages[end - 1].get("content")) in context.added:
        end -= 1
    return messages[:end]


# Expected texts in files beside the tests, and a readable diff where the actual text differs. Files are written only
# with `--update-pins`. A missing snapshot fails the test with the command that writes it; otherwise a test on a build
# server could pass by accepting any text.


FOLDER = "__pins__"
_ODD = re.compile(r"[^\w.-]+")
_MAX_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDifference:
    """How a text differs from its snapshot."""

    changes: tuple[str, ...] = ()
    """The lines of a unified diff, or of the whole text where there is no snapshot."""
    advice: tuple[str, ...]
    """What the developer can do, line by line."""


@dataclass(slots=True, kw_only=True)
class Snapshots:
    """The snapshots of one test run."""

    update: bool
    """Write differing snapshots instead of reporting them."""
    written: dict[Path, str] = field(default_factory=dict)
    """Written files, with the test that each belongs to."""
    checked: dict[Path, str] = field(default_factory=dict)
    """Files compared so far, with the test that each belongs to."""

    def differs(self, path: Path, text: str, *, test: str) -> SnapshotDifference | None:
        """Returns how `text` differs from the snapshot at `path`, or None where it doesn't. With `update` it writes `text` to
        `path` and returns None. Two tests can't share a snapshot: the second one gets a difference."""
        owner = self.checked.setdefault(path, test)
        if owner != test:
            return SnapshotDifference(
                advice=(f"{path.name} is already the snapshot of {owner}: give this one a name of its own",)
            )
        pinned = path.read_text("utf-8") if path.is_file() else None
        if pinned == text:
            return None
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
            self.written[path] = test
            return None
        command = f'    pytest --update-pins "{test}"'
        if pinned is None:
            missing = f"there is no snapshot {_near(path)} yet; this is what it would hold. Write it with"
            return SnapshotDifference(changes=tuple(text.splitlines()), advice=(missing, "", command))
        changes = unified_diff(pinned.splitlines(), text.splitlines(), f"{_near(path)} (pinned)", "now", lineterm="")
        return SnapshotDifference(changes=tuple(changes), advice=("if it is meant to be so:", "", command))


def file_of(folder: Path, name: str) -> Path:
    """The path of the snapshot `name` for a test in `folder`. Characters other than letters, digits, `_`, `.` and `-` become
    hyphens, and the name is cut at 100 characters."""
    plain = _ODD.sub("-", name).strip("-.")[:_MAX_NAME]
    return folder / FOLDER / f"{plain or 'context'}.txt"


def _near(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


# The added text of a context in a stable form for snapshots, without nonce, ids and scores. The text is what the model
# reads, with three replacements: the nonce by a fixed word, stored ids by the caller's message id (where there is one),
# and scores by `…`, because they change with every refit. Handles such as `a3` lose their numbers, so that one more
# line doesn't change all lines after it. Stored text can't imitate the replaced parts: the formats escape it.


_NONCE = re.compile(r'nonce="([^"\n]+)"')
_ELEMENT = re.compile(r'^(<(?:memory|message) id=")([^"\n]*)("[^>\n]*>)', re.MULTILINE)
_SCORE = re.compile(r' score="[\d.]+">$')
_HANDLE = re.compile(r"^\[([am])\d+\] ", re.MULTILINE)
_SHORT = re.compile(r"[am]\d+")
_ANY_SCORE = ' score="…">'
_TIME = re.compile(r'^(<message [^>\n]*?time=")[^"\n]*', re.MULTILINE)
_DAY = re.compile(r"^## \d{4}-\d\d-\d\d", re.MULTILINE)


def readable(context: Context, *, times: bool = True) -> str:
    """Returns the stable text, with a newline at the end. With `times=False` days and times are replaced too, for tests that
    record messages while they run."""
    text, items = context.added, iter(context.items)
    if found := _NONCE.search(text):
        text = text.replace(found[1], "nonce")
    text = _ELEMENT.sub(lambda element: f"{element[1]}{_name(next(items, None))}{_SCORE.sub(_ANY_SCORE, element[3])}", text)
    text = _HANDLE.sub(r"[\1] ", text)
    if not times:
        text = _DAY.sub("## day", _TIME.sub(r"\1…", text))
    return text + "\n"


def _name(item: Chosen | None) -> str:
    """The letter of the item's short handle; else the caller's message id, or `…`. Elements stand in the order of the items."""
    if item is not None and item.handle != item.id and _SHORT.fullmatch(item.handle):
        return item.handle[0]
    return (item and item.provenance.message_id) or "…"
