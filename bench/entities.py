"""Entities: precision and recall of the rules that find entities, and how well names of one thing are merged.

    python -m bench entities [--half report] [--errors] [--time]

The messages are those of `entities.jsonl` (`bench/entities_sample.py`). An entity counts once in a message, by its type and
name key. Aliases are judged on the labelled mentions, in order, each conversation by itself and then all in one scope:
`merged rightly` is the share of mentions, of a thing that was named otherwise before, that are merged with it; `wrongly` is the
share of all mentions that are merged with another thing. `--errors` lists the mistakes of half `dev`; the other half only
serves to report.
"""

from __future__ import annotations

import argparse
import time
import timeit
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from bench.entities_sample import Half, LabelledMessage, sample
from bench.machine import describe
from germane.extraction.entities.entities import extract_entities
from germane.extraction.entities.relations import extract_relations
from germane.kinds.graph.aliases import index_keys, lookup_keys, name_key, resolve

__all__ = ["AliasScore", "EntityScore", "alias_score", "entity_score", "main"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityScore:
    """Counts by type: what was rightly found, what was found and isn't there, and what was missed."""

    right: Counter[str]
    extra: Counter[str]
    missed: Counter[str]
    errors: tuple[str, ...] = ()

    def precision(self, *types: str) -> float:
        return _share(self.right, self.extra, types)

    def recall(self, *types: str) -> float:
        return _share(self.right, self.missed, types)


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasScore:
    """`mentions` in all, and those `otherwise` named than their thing before; of these `right` were merged with it. `wrong`
    counts all mentions that were merged with another thing."""

    mentions: int
    otherwise: int
    right: int
    wrong: int
    errors: tuple[str, ...] = ()


def _share(right: Counter[str], other: Counter[str], types: Sequence[str]) -> float:
    good = sum(right[type] for type in types) if types else right.total()
    bad = sum(other[type] for type in types) if types else other.total()
    return good / (good + bad) if good + bad else 1.0


def entity_score(messages: Iterable[LabelledMessage]) -> EntityScore:
    """Counts what the rules find in these messages. Speakers don't count: they are given."""
    right, extra, missed, errors = Counter[str](), Counter[str](), Counter[str](), list[str]()
    for message in messages:
        found = {(one.type, name_key(one.name, one.type)) for one in extract_entities(message.text)}
        wanted = {(one.type, name_key(one.name, one.type)) for one in message.mentions}
        right.update(type for type, _ in found & wanted)
        extra.update(type for type, _ in found - wanted)
        missed.update(type for type, _ in wanted - found)
        if found != wanted:
            errors.append(f"{message.id}: {message.text!r}\n     extra {found - wanted or ''} missed {wanted - found or ''}")
    return EntityScore(right=right, extra=extra, missed=missed, errors=tuple(errors))


@dataclass(slots=True, kw_only=True)
class _Known:
    id: str
    type: str
    name: str
    thing: str
    aliases: tuple[str, ...] = ()


def alias_score(messages: Iterable[LabelledMessage], *, one_scope: bool = False) -> AliasScore:
    """Merges the labelled mentions in order, in each conversation by itself or all in one scope."""
    scopes = defaultdict[str, tuple[dict[str, list[_Known]], dict[str, _Known]]](lambda: ({}, {}))
    counts, errors = Counter[str](), list[str]()
    for message in messages:
        conversation = message.group or f"message {message.id}"
        index, first = scopes["" if one_scope else conversation]
        for mention in message.mentions:
            key = name_key(mention.name, mention.type)
            thing = f"{conversation} {mention.thing}" if mention.thing else f"{mention.type} {key}"
            counts["mentions"] += 1
            keys = lookup_keys(mention.name, mention.type)
            merged = resolve(mention.name, mention.type, {one: index.get(one, ()) for one in keys}).entity
            known = first.get(thing)
            otherwise = known is not None and mention.name not in (known.name, *known.aliases)
            counts["otherwise"] += otherwise
            if merged is not None and merged.thing != thing:
                counts["wrong"] += 1
                errors.append(f"{message.id}: {mention.type} {mention.name} was merged with {merged.name}")
            elif otherwise and merged is None and known is not None:
                errors.append(f"{message.id}: {mention.type} {mention.name} wasn't merged with {known.name}")
            counts["right"] += otherwise and merged is not None and merged.thing == thing
            _learn(
                index,
                first,
                merged if merged is not None and merged.thing == thing else known,
                mention.type,
                mention.name,
                thing,
            )
    return AliasScore(
        mentions=counts["mentions"],
        otherwise=counts["otherwise"],
        right=counts["right"],
        wrong=counts["wrong"],
        errors=tuple(errors),
    )


def _learn(
    index: dict[str, list[_Known]], first: dict[str, _Known], known: _Known | None, type: str, name: str, thing: str
) -> None:
    """Adds the name to the thing that it belongs to, also where it wasn't recognised."""
    if known is None:
        known = first[thing] = _Known(id=str(len(first)), type=type, name=name, thing=thing)
    elif name != known.name and name not in known.aliases:
        known.aliases += (name,)
    for key in index_keys(name, type):
        if known not in index.setdefault(key, []):
            index[key].append(known)


def _report(half: Half, *, with_errors: bool) -> None:
    messages = sample(half)
    score = entity_score(messages)
    print(f"\nHalf {half}: {len(messages)} messages, {score.right.total() + score.missed.total()} entities")
    print(f"{'type':14}{'labelled':>9}{'found':>7}{'precision':>11}{'recall':>8}")
    for type in sorted({*score.right, *score.extra, *score.missed}):
        labelled, found = score.right[type] + score.missed[type], score.right[type] + score.extra[type]
        print(f"{type:14}{labelled:9}{found:7}{100 * score.precision(type):10.1f}%{100 * score.recall(type):7.1f}%")
    print(f"{'all':14}{'':16}{100 * score.precision():10.1f}%{100 * score.recall():7.1f}%")
    for language in sorted({message.language for message in messages}):
        part = entity_score([message for message in messages if message.language == language])
        print(f"  {language:12}{'':16}{100 * part.precision():10.1f}%{100 * part.recall():7.1f}%")
    for what, one_scope in (("each conversation by itself", False), ("all in one scope", True)):
        aliases = alias_score(messages, one_scope=one_scope)
        print(
            f"aliases, {what}: {aliases.right} of {aliases.otherwise} merged rightly"
            f" ({100 * aliases.right / max(1, aliases.otherwise):.1f} %), {aliases.wrong} of {aliases.mentions} mentions"
            f" wrongly ({100 * aliases.wrong / max(1, aliases.mentions):.1f} %)"
        )
        if with_errors and half == "dev":
            print("\n".join(aliases.errors))
    if with_errors and half == "dev":
        print("\n".join(score.errors))


def _time() -> None:
    """Times the rules on the messages of the sample, and on the typical one of 120 to 180 characters."""
    for what, low, high in (("all", 0, 10_000), ("120 to 180 characters", 120, 180)):
        texts = [message.text for message in (*sample("dev"), *sample("report")) if low <= len(message.text) <= high]
        for name, call in (("entities", extract_entities), ("entities and relations", _both)):
            timer = timeit.Timer(partial(_all, call, texts), timer=time.process_time)
            spent = min(timer.repeat(number=5, repeat=5)) / 5
            size = sum(map(len, texts)) // len(texts)
            print(f"{name}, {what}: {1e6 * spent / len(texts):.0f} µs of CPU a message of {size} characters")


def _all(call: Callable[[str], object], texts: Sequence[str]) -> None:
    for text in texts:
        call(text)


def _both(text: str) -> object:
    return extract_relations(text, extract_entities(text))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench entities", description=__doc__)
    parser.add_argument("--half", choices=("dev", "report"), action="append")
    parser.add_argument("--errors", action="store_true", help="list the mistakes of half dev")
    parser.add_argument("--time", action="store_true", help="time the rules, too")
    options = parser.parse_args(arguments)
    print(describe())
    for half in options.half or ("dev", "report"):
        _report(half, with_errors=options.errors)
    if options.time:
        _time()
    return 0
