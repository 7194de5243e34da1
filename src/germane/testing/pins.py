"""Pins: what a context must hold, must not hold, may cost and must look like, said in one line of a test.

    pin(context).includes("12 Harbour Lane", id="m17").excludes("old address").within(800)
    pin(context).keeps_prefix_of(previous)
    pin(context).snapshot("returns")

Each raises an `AssertionError` that says why: of what is missing, whether it was found and what it was left out for; of what
shouldn't be there, where it came from. In pytest `pin` is a fixture (`pytest_plugin.py`); elsewhere call `Pin(context)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NoReturn, Self

from germane.testing.readable import readable
from germane.testing.snapshots import SnapshotDifference, Snapshots, file_of
from germane.types.candidate import Chosen, Scored
from germane.types.context import Context

__all__ = ["Pin", "Pinning"]

_SHOWN = 5
_WIDTH = 72


class Pinning:
    """The `pin` fixture: makes a `Pin` of a context, which knows the test it is of."""

    def __init__(self, *, folder: Path, test: str, name: str, snapshots: Snapshots) -> None:
        self._folder, self._test, self._name, self._snapshots = folder, test, name, snapshots

    def __call__(self, context: Context) -> Pin:
        return Pin(context, self._check)

    def _check(self, name: str | None, text: str) -> SnapshotDifference | None:
        return self._snapshots.differs(file_of(self._folder, name or self._name), text, test=self._test)


class Pin:
    """One context, held against what is expected of it. Every check answers the pin itself, so they can be chained."""

    def __init__(self, context: object, check: Callable[[str | None, str], SnapshotDifference | None] | None = None) -> None:
        if not isinstance(context, Context):
            hint = "; is an `await` missing?" if hasattr(context, "__await__") else ""
            raise TypeError(f"pin() takes the Context that assemble() answers, not {type(context).__name__}{hint}")
        self._context, self._check = context, check

    def includes(self, *texts: str, id: str | None = None) -> Self:
        """Each of `texts` is shown to the model, as stored and to the letter; so is the item with this `id`: germane's, or the
        caller's own of a message."""
        __tracebackhide__ = True
        for text in texts:
            if text not in self._context.added and not any(text in item.text for item in self._context.items):
                _fail(f"{text!r} is not in the context", self._why_not(partial(_holds, text)))
        if id is not None and not any(_is(id, item.scored) for item in self._context.items):
            _fail(f"no item {id!r} is in the context", self._why_not(partial(_is, id)))
        return self

    def excludes(self, *texts: str, id: str | None = None) -> Self:
        """None of `texts` is shown to the model, nor the item with this `id`."""
        __tracebackhide__ = True
        for text in texts:
            holding = [item for item in self._context.items if text in item.text]
            if holding:
                _fail(f"{text!r} is in the context", map(_shown, holding))
            if text in self._context.added:
                _fail(f"{text!r} is in the context", ["in what isn't remembered: the directive, or a header"])
        if id is not None and (holding := [item for item in self._context.items if _is(id, item.scored)]):
            _fail(f"the item {id!r} is in the context", map(_shown, holding))
        return self

    def within(self, tokens: int) -> Self:
        """All that germane added takes at most so many tokens, as the target model counts."""
        __tracebackhide__ = True
        taken = self._context.metadata.total_tokens_injected
        if taken > tokens:
            dearest = sorted(self._context.items, key=lambda item: -item.tokens)[:_SHOWN]
            _fail(
                f"the context takes {taken} tokens, {taken - tokens} more than {tokens}",
                ["the dearest:", *map(_shown, dearest)],
            )
        return self

    def complete(self) -> Self:
        """Nothing was missing when it was made: every source answered in time, and nothing failed."""
        __tracebackhide__ = True
        if self._context.metadata.degradation_level or self._context.metadata.fallback_reason:
            _fail(f"the context is at L{self._context.metadata.degradation_level}", self._faults())
        return self

    def keeps_prefix_of(self, previous: Context) -> Self:
        """This request begins as the previous one of its conversation did, up to what changes with the query there (INJECT-2):
        so the provider's prompt cache holds that far."""
        __tracebackhide__ = True
        before, now = _before_the_query(previous), self._context.to_openai()
        if not before:
            _fail(
                "nothing stands before what changes with the query", ["there is no prefix to keep: is the placement 'split'?"]
            )
        for at, message in enumerate(before):
            if at >= len(now) or now[at] != message:
                was, is_ = _parting(message, now[at] if at < len(now) else {})
                _fail(f"the prefix ends in message {at}", [f"before: {was}", f"now:    {is_}"])
        return self

    def snapshot(self, name: str | None = None, *, times: bool = True) -> Self:
        """All the added text is as it was pinned, in `__pins__/<name>.txt` beside the test; without a name, the test's own.
        Nonce, ids and scores don't count; without `times`, days and times don't either."""
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
        """What became of the candidates that were wanted."""
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
        """What went wrong while it was made, if anything did."""
        if self._context.metadata.fallback_reason:
            yield f"it fell back: {self._context.metadata.fallback_reason}"
        for report in self._context.metadata.sources:
            if report.status in ("timeout", "error") or report.reason in ("warming", "slow_embedder"):
                yield f"source {report!r}"

    def _gone(self, found: SnapshotDifference) -> Iterator[str]:
        """For lines that are gone, what their items were left out for."""
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


def _parting(before: Mapping[str, object], now: Mapping[str, object]) -> tuple[str, str]:
    """Where two messages part, each with a little of what stands in front of that."""
    one, two = (f"{message.get('role', 'nothing')}: {message.get('content', '')}" for message in (before, now))
    same = next((at for at, (was, is_) in enumerate(zip(one, two, strict=False)) if was != is_), min(len(one), len(two)))
    at = max(0, same - _WIDTH // 2)
    dots = "…" if at else ""
    return _cut(f"{dots}{one[at:]}"), _cut(f"{dots}{two[at:]}")


def _before_the_query(context: Context) -> list[dict[str, object]]:
    """The messages before the last human turn, without what germane put right before that turn."""
    messages = context.to_openai()
    at = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=len(messages))
    if at > 1 and messages[at - 1].get("role") == "system" and str(messages[at - 1].get("content")) in context.added:
        at -= 1
    return messages[:at]
