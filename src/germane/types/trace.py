"""Trace: what happened during one assembly, for programs, and as a text for people.

It holds every candidate, in or out (ENGINE-5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from germane.types.budget import Budget, Cut, Need
from germane.types.candidate import Chosen, LeftOut, Scored, Sensitivity
from germane.types.evidence import Unread
from germane.types.query import Query
from germane.types.reports import UNSHOWN_REASONS
from germane.types.reports import SourceReport as SourceReport
from germane.types.reports import Status as Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """`timings` are seconds by stage; `warnings` are sentences for a person, such as an unknown model's; `gap` is how much more
    expected relevant items another packing could show at most, None where nobody asked (PACK-6); `cut` says what a token had to
    bring and which item came nearest, None where the budget was to be used (AMOUNT-2)."""

    strategy: str
    model: str
    tokenizer: str
    query: Query | None = None
    budget: Budget | None = None
    chosen: tuple[Chosen, ...] = ()
    gap: float | None = None
    need: Need | None = None
    cut: Cut | None = None
    left_out: tuple[LeftOut, ...] = ()
    unread: tuple[Unread, ...] = ()
    """What the searches found and nobody read, as it couldn't be worth its tokens; the most probable first."""
    sources: tuple[SourceReport, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = field(default=())
    earlier: tuple[EarlierInjection, ...] = ()
    """Texts that stand in the prompt since earlier calls, by turn."""


# The trace as a text for a person.


_SHOWN = 100
"""Characters of a text that are shown."""
_LEGEND = (
    "in: it went into the prompt, under the handle at the end; out: it was left out, for the reason at the end",
    "#rank, score = the probability that the request needs it, made of its parts from 0 to 1; sources, category, id, tokens",
)
_MAX_TOKENS = 10**9
"""A trace file that was written by hand may hold any number."""


def explain(trace: Trace, fallback_reason: str = "") -> str:
    """Returns two lines for each candidate, the second with the beginning of its text: first those that went in, then those
    left out with the reason, then what was found and not read, as it couldn't be worth its tokens; and a legend."""
    lines = [f"strategy {trace.strategy} · model {trace.model} · tokens by {trace.tokenizer}"]
    if fallback_reason:
        lines.append(f"fell back: {fallback_reason}")
    if trace.budget is not None:
        budget = trace.budget
        lines.append(
            f"budget {budget.available} of a window of {budget.window}: messages {budget.messages}, tools {budget.tools}, "
            f"reserve {budget.reserve}, safety {budget.safety}, cap {budget.cap}"
        )
    lines += [f"warning: {warning}" for warning in trace.warnings]
    lines += [f"source {report!r}" for report in trace.sources]
    if trace.timings:
        lines.append("stages " + ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in trace.timings))
    lines += amount_lines(trace)
    if trace.gap is not None:
        worth = sum(item.score * item.share for item in trace.chosen)
        proof = "no other choice shows more" if trace.gap == 0 else f"another choice could show {trace.gap:.3f} more at most"
        lines.append(f"packed exactly: {worth:.3f} relevant items to be expected; {proof}")
    for text in trace.earlier:
        names = ", ".join(f"{item.handle} = {item.id}" for item in text.items)
        lines.append(f"kept with message {text.turn}: {text.tokens} tokens, {names}")
    for item in trace.chosen:
        lines.append(f"in   {_line(item.scored)} {item.tokens:>5} tokens{_part(item.share)}  {item.handle}")
        lines += _text(item.scored)
    for left in trace.left_out:
        cost = "" if left.tokens is None else f" {left.tokens:>5} tokens"
        lines.append(f"out  {_line(left.scored)}{cost}  {left.reason}")
        lines += [] if left.reason in UNSHOWN_REASONS else _text(left.scored)
    for one in trace.unread:
        lines.append(f"out  {one.probability:.4f} likely  {one.tokens:>5} tokens or more  not read  {one.domain} {one.id}")
    return "\n".join([*lines, *_LEGEND] if trace.chosen or trace.left_out else lines)


def _text(scored: Scored) -> list[str]:
    """The beginning of the candidate's text, as one line that a terminal can show."""
    text = " ".join(scored.candidate.text[: 4 * _SHOWN].split())
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return [f"     {shown if len(shown) <= _SHOWN else f'{shown[: _SHOWN - 1].rstrip()}…'}"] if shown else []


def amount_lines(trace: Trace) -> Iterator[str]:
    """What P(need) and the price decided (NEED-2, AMOUNT-2)."""
    need, cut = trace.need, trace.cut
    if need is not None and need.threshold:
        result = "" if need.met else ": nothing that was searched for goes in (not_needed)"
        yield f"need {need.probability:.3f}, threshold {need.threshold:g}{result}"
    if cut is None:
        return
    line = f"price {cut.price.per_token:.1e} of what is missing a token; {cut.price.expected:.2f} relevant items expected"
    if cut.nearest is not None:
        scored, tokens = cut.nearest.scored, cut.nearest.tokens or 0
        gain, asked = cut.price.gain(cut.nearest.value or 0.0), cut.price.per_token * min(tokens, _MAX_TOKENS)
        line += f"; the next, #{scored.rank}, would bring {gain:.2%} for {tokens} tokens, which have to bring {asked:.2%}"
    yield line


def _line(scored: Scored) -> str:
    parts, candidate = scored.breakdown, scored.candidate
    name = candidate.title if candidate.block is None else candidate.block.label
    what = candidate.category if candidate.block is None and candidate.graph is None else f"{candidate.category} {name!r}"
    what += "".join(f" ({kind.removeprefix('task_')})" for kind in candidate.kinds if kind.startswith("task_"))
    return (
        f"#{scored.rank:<4} {scored.score:.4f} = relevance {parts.relevance:.4f} recency {parts.recency:.2f} "
        f"usefulness {parts.usefulness:.2f} confidence {parts.confidence:.2f} frequency {parts.frequency:.2f}  "
        f"{'+'.join((candidate.source, *candidate.also))} {what} {candidate.id}{_stale(candidate.stale_since)}"
    )


def _stale(since: datetime | None) -> str:
    return "" if since is None else f"  stale since {since:%Y-%m-%d %H:%M}"


def _part(share: float) -> str:
    return "" if share >= 1 else f" ({share:.0%} shown)"


# The text that is in a prompt since an earlier call, and the items in it (INJECT-6).


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedItem:
    """One item of a text that was injected. `handle` is its name in that text; `content_hash` is that of the stored text it was
    made from. `stored` is False for an item of a source that the caller registered: the store knows nothing of it. `tokens` are
    those of its line, in the model's tokens that it was written for."""

    handle: str
    id: str
    content_hash: int
    source: str
    sensitivity: Sensitivity = "private"
    stored: bool = True
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierInjection:
    """The text that was injected for the turn at `turn` (index of the message in the request) by an earlier call, as it stands
    in this prompt too. `tokens` are the target model's."""

    turn: int
    text: str
    tokens: int
    items: tuple[InjectedItem, ...] = ()
