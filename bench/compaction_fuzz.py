"""Compaction fuzz: checks over generated conversations that a compaction corrupts nothing. Requirements: HIST-4, HIST-5.

    python -m bench compaction-fuzz [--conversations 100000] [--seed 1] [--workers 2] [--most 5000] [--show 3]

Each conversation of `germane_testing.conversations` goes through `germane.integrations.compact` with a random strategy, budget
and archive. Counted are outputs that a provider would refuse, by the public validators and by an independent second opinion
(those of `germane_testing.provider`, where it knows what the conversation holds); outputs above the budget where `fits` is
true, read and counted anew; what `validate_against` names: pairs split, the user's last words lost, signed items altered …; a
second run with another result; and changed input. With 0 of N the true rate is below 3/N at 95 % confidence.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import message_tokens, tools_tokens
from germane.compaction.conversation import plan_compaction
from germane.compaction.plan import Compaction
from germane.compaction.strategy import CompactionStrategy, Importance, Summarise, TimeDecay, Truncate
from germane.dialects.opaque import unbound
from germane.dialects.registry import dialect, outgoing, parse_all
from germane.dialects.responses_pairing import continues
from germane.errors import InvalidInput
from germane.integrations.compactor import compact, compactable
from germane.integrations.frameworks import MemoryArchive
from germane.kinds.conversations.messages import rebuild
from germane.kinds.conversations.value import Archive, ArchiveEntry
from germane.models.tokenizers import open_tokenizer
from germane.types.message import system_text
from germane_testing.conversations import GeneratedConversation, generated
from germane_testing.validators import validate, validate_against

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from germane_testing.provider.anthropic_rules import anthropic_refuses
from germane_testing.provider.gemini import gemini_refuses
from germane_testing.provider.openai_rules import chat_refuses, responses_refuses

__all__ = ["FOUND", "FOUND_LARGE", "Case", "Outcome", "Tally", "case", "main", "outcome", "run"]

FOUND: Mapping[str, str] = MappingProxyType(
    {
        "33-635": "reasoning sent twice",
        "42-17462": "a message between two boundaries was in neither",
        "42-9462": "a call took the result of its neighbour",
        "46-96789": "a call took the result of a later one under its id, as what stood between had left",
        "42-14726": "a result alone was taken for one of a stored response",
        "43-793": "the same, beside another API's dicts",
        "42-5521": "a server's call sent twice",
        "43-1166": "a server's call that waits before a system message",
        "47-28092": "a late result found another call of a run under its id once others had left",
    }
)
"""Seeds that earlier runs found, of at most 5,000 messages, with what was wrong: the suite runs them."""
FOUND_LARGE: Mapping[str, str] = MappingProxyType({"44-1893": "a call lost its result behind the model's own words"})
"""Those that take half a minute; a run begins with them."""

MODELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("gpt-4o", "gpt-5", "some-model"),
        "anthropic": ("claude-sonnet-4-5", "claude-opus-4-8"),
        "gemini": ("gemini-2.5-pro", "gemini-3-pro"),
        "openai-responses": ("gpt-5", "o3"),
    }
)
_STRICT: Mapping[str, tuple[Callable[[dict[str, Any]], Iterator[str]], str]] = MappingProxyType(
    {
        "openai": (chat_refuses, "messages"),
        "anthropic": (anthropic_refuses, "messages"),
        "gemini": (gemini_refuses, "contents"),
        "openai-responses": (responses_refuses, "input"),
    }
)
_BEYOND_STRICT = frozenset({"foreign", "leftovers", "media", "opaque", "unfit names"})
"""What a conversation may hold that the second opinion has no rules for; nor has it any for outputs of a stored response's."""
_TOOL: Mapping[str, Any] = {"name": "search", "description": "Searches.", "input_schema": {"type": "object", "properties": {}}}


class _Unwritable:
    """An archive that can't be written."""

    def put(self, entries: object) -> None:
        raise OSError("no space left")

    def get(self, handle: str) -> ArchiveEntry | None:
        return None


@dataclass(slots=True)
class Tally:
    """Mutable. What was run and what was wrong, with the seeds of each kind of fault."""

    conversations: int = 0
    messages: int = 0
    compacted: int = 0
    unfit: int = 0
    judged: int = 0
    """Outputs that the second opinion judged too."""
    rebuilt: int = 0
    """Conversations that were rebuilt from the archive."""
    faults: Counter[str] = field(default_factory=Counter)
    seeds: dict[str, list[str]] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.conversations += other.conversations
        self.messages += other.messages
        self.compacted += other.compacted
        self.unfit += other.unfit
        self.judged += other.judged
        self.rebuilt += other.rebuilt
        self.faults.update(other.faults)
        for kind, seeds in other.seeds.items():
            self.seeds[kind] = [*self.seeds.get(kind, []), *seeds][:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation with how it is compacted."""

    conversation: GeneratedConversation
    model: str
    strategy: CompactionStrategy
    low_water: float
    max_messages: int | None
    tools: tuple[Mapping[str, Any], ...]
    archive: str

    def new_archive(self) -> Archive | None:
        return {"none": lambda: None, "memory": MemoryArchive, "unwritable": _Unwritable}[self.archive]()

    def compaction(self, messages: list[dict[str, Any]], archive: Archive | None) -> Compaction:
        return compact(messages, archive=archive, **self._terms())

    def is_whole(self, messages: list[dict[str, Any]]) -> bool:
        """Returns whether each message either stays or has left, and none does both."""
        given = compactable(messages, archive=None, **self._terms())
        plan = plan_compaction(given.raws, given.messages, given.terms)
        spans = sorted((*plan.state.kept, *plan.state.left, (plan.state.covered, plan.count)))
        ends = [plan.lead, *(end for _, end in spans)]
        return not plan.state.moves or [start for start, _ in spans] == ends[:-1]

    def _terms(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "provider": self.conversation.provider,
            "max_tokens": self.conversation.max_tokens,
            "system": self.conversation.system,
            "tools": self.tools,
            "strategy": self.strategy,
            "low_water": self.low_water,
            "max_messages": self.max_messages,
        }


def case(seed: str, most: int, without: Collection[str] = ()) -> Case:
    """Returns the case of this seed, with at most so many messages, and without these oddities."""
    random = Random(f"case {seed}")
    provider = random.choice(tuple(MODELS))
    outputs = random.choice((0, 2, 6))
    strategies: tuple[CompactionStrategy, ...] = (
        Summarise(keep_outputs=outputs, summary_tokens=random.choice((0, 100, 2_000))),
        Summarise(keep_outputs=outputs, mask=False),
        Truncate(keep_outputs=outputs, keep_recent=random.choice((1, 10, 100))),
        Importance(keep_outputs=outputs, keep_recent=random.choice((1, 5)), keep_important=random.choice((0, 5))),
        TimeDecay(keep_outputs=outputs, half_life=random.choice((1.0, 20.0))),
    )
    conversation = generated(seed, provider, messages=(1, most))
    if odd := conversation.oddities.keys() & without:
        kept = {name: rate for name, rate in conversation.oddities.items() if name not in odd}
        conversation = generated(seed, provider, messages=(1, most), oddities=kept)
    return Case(
        conversation=conversation,
        model=random.choice(MODELS[provider]),
        strategy=random.choice(strategies),
        low_water=random.choice((0.0, 0.5, 0.5, 0.8, 1.0)),
        max_messages=random.choice((None, None, None, 1, 20)),
        tools=random.choice(((), (), (_TOOL,))),
        archive=random.choice(("none", "memory", "memory", "unwritable")),
    )


@dataclass(slots=True)
class Outcome:
    """Mutable. What came of a case: what is wrong, as kinds with a sentence, and what was looked at."""

    compaction: Compaction | None = None
    judged: bool = False
    rebuilt: bool = False
    faults: list[tuple[str, str]] = field(default_factory=list)


def outcome(each: Case, *, again: bool) -> Outcome:
    """Runs the case; `again` says that it is run a second time, to compare."""
    given = each.conversation
    provider, messages, archive = given.provider, copy.deepcopy(given.messages), each.new_archive()
    try:
        found = each.compaction(messages, archive)
    except Exception as error:
        return Outcome(faults=[(f"raised {type(error).__name__}", str(error)[:200])])
    sent = _sent(found)
    continued = provider == "openai-responses" and continues([str(each.get("type") or each.get("role")) for each in messages])
    seen = Outcome(compaction=found, judged=not _BEYOND_STRICT & set(given.oddities) and not continued)
    faults = seen.faults
    if messages != given.messages:
        faults.append(("input changed", "compact has changed its argument"))
    if not each.is_whole(messages):
        faults.append(("vanished", "a message neither stays nor has left"))
    faults += ((f"invalid: {fault.rule}", fault.message) for fault in validate(sent, provider, system=found.system))
    try:
        lost = validate_against(given.messages, sent, provider, system=found.system)
        tokens = counted(each, found)
    except InvalidInput as error:
        faults.append(("unreadable", str(error)[:200]))
        return seen
    faults += ((violation.rule, violation.message) for violation in lost)
    if found.fits and tokens > given.max_tokens:
        faults.append(("above budget", f"{tokens} tokens of {given.max_tokens}, {found.tokens} as told"))
    if seen.judged:
        faults += (("refused by the second opinion", text) for text in second_opinion(provider, sent, found.system))
    if archive is not None and _can_return(each, found):
        seen.rebuilt = True
        whole = _said(rebuild(sent, archive, provider=provider))
        if whole != _said(given.messages):
            faults.append(("rebuilt otherwise", f"{len(whole)} messages of {len(given.messages)} with system messages"))
    if again:
        other = each.compaction(copy.deepcopy(given.messages), each.new_archive())
        if json.dumps(_sent(other), default=str) != json.dumps(sent, default=str):
            faults.append(("nondeterministic", "a second run has another result"))
    return seen


def _can_return(each: Case, found: Compaction) -> bool:
    """Returns whether everything that was taken out is named, and nothing had to be mended: only then the conversation comes
    back as it was."""
    if not found.compacted or found.dropped or set(found.entries) - set(found.cited):
        return False
    messages, provider = each.conversation.messages, found.provider
    turns = [outgoing(message, raw, provider) for message, raw in zip(parse_all(messages, provider), messages, strict=True)]
    sent = dialect(provider).compose(turns).messages
    return sent == [message for message in messages if provider == "openai" or not _is_system(message)]


def _said(messages: Sequence[Any]) -> list[Any]:
    """The messages without those of the system, and without thinking, which can't come back where its message has stayed."""
    return [unbound(message) for message in messages if not _is_system(message)]


def _is_system(message: object) -> bool:
    return isinstance(message, Mapping) and message.get("role") in ("system", "developer")


def _sent(found: Compaction) -> list[dict[str, Any]]:
    return [dict(message) for message in found.messages]


def counted(each: Case, found: Compaction) -> int:
    """Returns the tokens of a request with the compaction's messages, read anew from what would be sent."""
    profile = Catalog.built_in().find(each.model)
    count = open_tokenizer(profile.tokenizer).count
    spoken = sum(message_tokens(dialect(found.provider).parse(message), profile, count) for message in found.messages)
    system = profile.per_message + count(system_text(found.system)) if found.system is not None else 0
    return profile.per_request + spoken + system + tools_tokens(each.tools, profile, count)


def second_opinion(provider: str, messages: Sequence[Mapping[str, Any]], system: Any) -> Iterator[str]:
    """Yields why the independent rules refuse the messages, apart from what they are stricter in than the API."""
    refuses, key = _STRICT[provider]
    body: dict[str, Any] = {"model": "m", key: list(messages)}
    if provider == "anthropic":
        body |= {"max_tokens": 9, **({} if system is None else {"system": system})}
    elif provider == "gemini":
        del body["model"]
        body |= {} if system is None else {"systemInstruction": {"parts": _parts(system)}}
        body[key] = _alternating(messages)
    elif provider == "openai-responses" and system is not None:
        body["instructions"] = system
    if messages or provider != "openai":
        yield from refuses(body)


def _parts(system: Any) -> Any:
    return [{"text": system}] if isinstance(system, str) else system


def _alternating(turns: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Turns of one role in a row as one, and responses in the order of their calls: the API pairs them by name."""
    out: list[dict[str, Any]] = []
    for turn in turns:
        if out and out[-1]["role"] == turn["role"]:
            out[-1] = {**out[-1], "parts": [*out[-1]["parts"], *turn["parts"]]}
        else:
            out.append(dict(turn))
    for before, turn in pairwise(out):
        names = [part["functionCall"].get("name") for part in before["parts"] if "functionCall" in part]
        place = {name: number for number, name in enumerate(dict.fromkeys(names))}
        turn["parts"] = sorted(turn["parts"], key=lambda part: place.get(part.get("functionResponse", {}).get("name"), 99))
        asked = sorted(names, key=place.__getitem__)
        if names != asked:
            calls = sorted((part for part in before["parts"] if "functionCall" in part), key=_name_of(place))
            before["parts"] = [*(part for part in before["parts"] if "functionCall" not in part), *calls]
    return out


def _name_of(place: Mapping[Any, int]) -> Callable[[Mapping[str, Any]], int]:
    return lambda part: place[part["functionCall"].get("name")]


def run(seeds: Sequence[str], most: int, without: Collection[str] = ()) -> Tally:
    """Runs the cases of these seeds; every tenth twice."""
    tally = Tally()
    for number, seed in enumerate(seeds):
        each = case(seed, most, without)
        seen = outcome(each, again=number % 10 == 0)
        tally.conversations += 1
        tally.messages += len(each.conversation.messages)
        tally.judged += seen.judged
        tally.rebuilt += seen.rebuilt
        if seen.compaction is not None:
            tally.compacted += seen.compaction.compacted
            tally.unfit += not seen.compaction.fits
        for kind in {kind for kind, _ in seen.faults}:
            tally.faults[kind] += 1
            tally.seeds.setdefault(kind, []).append(seed)
    return tally


def _chunk(arguments: tuple[int, int, int, int]) -> Tally:
    seed, start, end, most = arguments
    logging.disable(logging.CRITICAL)  # in a process of the bench's own
    return run([f"{seed}-{number}" for number in range(start, end)], most)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench compaction-fuzz", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--conversations", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--most", type=int, default=5_000, help="messages of a conversation")
    parser.add_argument("--show", type=int, default=3, help="seeds shown of each fault")
    parser.add_argument("--one", help="a single seed: shows what is wrong with it")
    options = parser.parse_args(argv)
    if options.one:
        each = case(options.one, options.most)
        print(each, *outcome(each, again=True).faults, sep="\n")
        return 0
    started, tally, size = time.perf_counter(), run([*FOUND, *FOUND_LARGE], 5_000), 250
    chunks = [
        (options.seed, start, min(start + size, options.conversations), options.most)
        for start in range(0, options.conversations, size)
    ]
    with ProcessPoolExecutor(options.workers) as pool:
        for number, part in enumerate(pool.map(_chunk, chunks), 1):
            tally.add(part)
            for kind, seeds in part.seeds.items():
                print(f"    {kind}: {', '.join(seeds)}", flush=True)
            if number % 40 == 0:
                print(f"{tally.conversations:,} conversations, faults: {dict(tally.faults) or 'none'}", flush=True)
    print(
        f"\n{tally.conversations:,} conversations, {tally.messages:,} messages, {tally.compacted:,} compacted, {tally.unfit:,} "
        f"that can't fit, {tally.judged:,} judged a second time, {tally.rebuilt:,} rebuilt, "
        f"{time.perf_counter() - started:.0f} s"
    )
    for kind, number in tally.faults.most_common():
        print(f"{number:>8,}  {kind}   seeds {', '.join(tally.seeds[kind][: options.show])}")
    print("0 faults" if not tally.faults else f"{sum(tally.faults.values()):,} faults")
    return int(bool(tally.faults))
