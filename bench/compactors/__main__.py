"""Main: constraints and artifacts that survive compaction: germane, LangChain's middleware, the OpenAI Agents SDK's session.

    python -m bench compactors
    python -m bench compactors --count 50 --budget 4000 8000

The conversations are those of `germane_eval.survival`, in which users state constraints early and in passing. Each is
replayed turn by turn, so that summaries are summarised again; what is graded is the text that the model is sent at the end, by
`constraint_survival` and `artifact_survival`. All have the same budget; `above` counts the conversations whose messages are
above it in the end. Where a library needs a language model, a stand-in takes its place: see `bench/compactors/stand_in.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from statistics import mean
from time import perf_counter
from typing import Any, NamedTuple

from bench.compactors.agents import compacted_session
from bench.compactors.langchain import cleared, summarized
from bench.compactors.stand_in import STAND_INS
from bench.machine import describe
from germane.catalog.profiles import Catalog
from germane.compaction.message_cost import Measure
from germane.dialects.registry import parse_all
from germane.integrations import Truncate, compact
from germane.integrations.compactor import tokenizer
from germane_eval.survival import artifact_survival, constraint_survival
from germane_eval.survival.conversations import SurvivalConversation, survival_conversations

_MODEL = "gpt-4.1"
Messages = list[dict[str, Any]]
Compactor = Callable[[Messages, int], tuple[Messages, int]]
"""From a conversation and a budget in tokens to what the model is sent at its end, and how often it was compacted."""


class Result(NamedTuple):
    constraints: float
    artifacts: float
    above: int
    tokens: float
    times: float
    milliseconds: float


def _measure() -> Measure:
    profile = Catalog.built_in().find(_MODEL)
    return Measure(profile, tokenizer(profile.tokenizer), "openai")


_MEASURE = _measure()


def _germane(messages: Messages, budget: int, **options: Any) -> tuple[Messages, int]:
    """germane on the whole history, as its adapters give it."""
    found = compact(messages, model=_MODEL, max_tokens=budget, provider="openai", **options)
    return list(found.messages), found.trace.moves


def _again(messages: Messages, budget: int) -> tuple[Messages, int]:
    """germane turn by turn on its own output, as where the compacted messages are kept instead of the history."""
    state: Messages = []
    times = 0
    for message in [*messages, None]:
        if message is None or message["role"] == "assistant":
            found = compact(state, model=_MODEL, max_tokens=budget, provider="openai")
            times += found.compacted and list(found.messages) != state
            state = list(found.messages)
        if message is not None:
            state.append(message)
    return state, times


def _newest(messages: Messages, budget: int) -> tuple[Messages, int]:
    """The newest messages that fit, from a user's words on: what is done without any of these."""
    costs = [_MEASURE.message(message, raw).cost for message, raw in zip(parse_all(messages, "openai"), messages, strict=True)]
    start = next(
        (index for index, message in enumerate(messages) if message["role"] == "user" and sum(costs[index:]) <= budget),
        len(messages) - 1,
    )
    return messages[start:], 1


def compactors(names: Sequence[str]) -> dict[str, Compactor]:
    """All that are compared, by the name of their row."""
    count = _MEASURE.count
    rows: dict[str, Compactor] = {
        "the whole conversation": lambda messages, budget: (messages, 0),
        "newest messages that fit": _newest,
        "germane": _germane,
        "germane, on its own output": _again,
        "germane, Truncate": partial(_germane, strategy=Truncate()),
        "LangChain, ClearToolUsesEdit": lambda messages, budget: cleared(messages, budget, count),
    }
    for stand_in in names:
        for defaults in (True, False):
            how = f"{'defaults' if defaults else 'within the budget'}, `{stand_in}`"
            written = STAND_INS[stand_in]
            rows[f"LangChain, SummarizationMiddleware, {how}"] = partial(
                _theirs, summarized, count=count, stand_in=written, defaults=defaults
            )
            rows[f"OpenAI Agents SDK, compaction session, {how}"] = partial(
                _theirs, compacted_session, count=count, stand_in=written, defaults=defaults
            )
    return rows


def _theirs(run: Callable[..., tuple[Messages, int]], messages: Messages, budget: int, **options: Any) -> tuple[Messages, int]:
    return run(messages, budget, **options)


def measured(compactor: Compactor, conversations: Sequence[SurvivalConversation], budget: int) -> Result:
    constraints: list[float] = []
    artifacts: list[float] = []
    tokens: list[int] = []
    times: list[int] = []
    begun = perf_counter()
    for one in conversations:
        sent, often = compactor(list(one.messages), budget)
        text = "\n".join(_text(message) for message in sent)
        constraints.append(constraint_survival(text, one.constraints))
        artifacts.append(artifact_survival(text, one.artifacts))
        tokens.append(_MEASURE.count(text) + 4 * len(sent))
        times.append(often)
    took = (perf_counter() - begun) * 1e3 / len(conversations)
    above = sum(size > budget * 1.05 for size in tokens)
    return Result(mean(constraints), mean(artifacts), above, mean(tokens), mean(times), took)


def _text(item: dict[str, Any]) -> str:
    """What a message or an item says. The summary that a compaction item of OpenAI's holds is encrypted there, and readable
    here."""
    if item.get("type") == "compaction":
        return str(item["encrypted_content"])
    provider = "openai-responses" if "type" in item and item["type"] != "message" else "openai"
    return parse_all([item], provider)[0].content


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench compactors", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500, help="conversations (500)")
    parser.add_argument("--split", choices=("development", "held_out"), default="held_out", help="phrases of the constraints")
    parser.add_argument("--budget", type=int, nargs="+", default=[8_000], help="tokens (8,000)")
    parser.add_argument("--stand-ins", choices=tuple(STAND_INS), nargs="+", default=list(STAND_INS))
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args(arguments)
    print(describe())
    print(", ".join(f"{name} {version(name)}" for name in ("langchain", "langgraph", "openai-agents", "openai")), flush=True)
    conversations = list(survival_conversations(options.count, split=options.split))
    sizes = [_MEASURE.count("\n".join(map(_text, map(dict, one.messages)))) for one in conversations]
    print(f"{len(conversations)} conversations ({options.split}) of {mean(sizes):,.0f} tokens on average")
    for budget in options.budget:
        print(f"\n{budget:,} tokens\n\n| | constraints | artifacts | above the budget | tokens | compacted | ms |")
        print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
        for name, compactor in compactors(options.stand_ins).items():
            if options.only in name:
                found = measured(compactor, conversations, budget)
                print(
                    f"| {name} | {found.constraints:.1%} | {found.artifacts:.1%} | {found.above} | {found.tokens:,.0f} |"
                    f" {found.times:.1f} | {found.milliseconds:,.0f} |",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
