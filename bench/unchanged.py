"""Unchanged: generated requests of all four providers through `assemble` with nothing to add: identical as JSON to the byte.

The requests hold every kind of part and key that the providers and gateways to them take, parts that nobody knows, parallel
calls, and thinking. None of them holds what docs/use/providers.md says that germane changes.

    python -m bench unchanged [--count 1500] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from bench.machine import describe
from germane.dialects.registry import dialect
from germane.sync import Agent, Germane
from germane.types.message import Wire
from support.provider_requests import PROVIDERS, ProviderRequest, made_request

__all__ = ["differences", "main"]


def differences(count: int, *, seed: int) -> list[str]:
    """Returns what differs, a sentence for each of `count` requests that came back changed, or that the validator refuses."""
    found: list[str] = []
    with Germane.open(":memory:", warm=False) as germane:
        agent = germane.agent("unchanged", user="u")
        for number in range(count):
            request = made_request(PROVIDERS[number % len(PROVIDERS)], Random(seed * 1_000_003 + number))
            if wrong := _difference(agent, request):
                found.append(f"request {number} ({request.provider}): {wrong}")
    return found


def _difference(agent: Agent, request: ProviderRequest) -> str:
    before = _written(request.messages), _written(request.system)
    context = agent.assemble(
        request.messages,
        model=request.model,
        provider=request.provider,
        system=request.system,
        tools=request.tools,
        deadline=None,
    )
    if before != (_written(request.messages), _written(request.system)):
        return "the caller's own objects were changed"
    if wrong := dialect(request.provider).problems(Wire(messages=request.messages)):
        return f"the validator refuses what the provider takes: {wrong[0]}"
    sent = [*context.messages]
    for index, (one, other) in enumerate(zip(request.messages, sent, strict=False)):
        if _written(one) != _written(other):
            return f"message {index} was {_written(one)} and is {_written(other)}"
    if len(sent) != len(request.messages):
        return f"{len(request.messages)} messages became {len(sent)}"
    given = request.system.get("parts") if isinstance(request.system, dict) else request.system
    if request.provider != "openai" and _written(given or None) != _written(context.system or None):
        return f"system was {_written(given)} and is {_written(context.system)}"
    return ""


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench unchanged", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1500, help="requests (1,500)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print(describe())
    found = differences(options.count, seed=options.seed)
    for line in found[:20]:
        print(line[:600])
    by = Counter(line.partition("(")[2].partition(")")[0] for line in found)
    print(f"{len(found)} of {options.count:,} requests came back changed {dict(by) if by else ''}")
    return int(bool(found))
