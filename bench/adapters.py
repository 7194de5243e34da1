"""Adapters: generated conversations through the adapters of LangGraph, Pydantic AI and the OpenAI Agents SDK, with the real
packages: what arrives at a local server that refuses what the provider refuses is counted.

    python -m bench adapters
    python -m bench adapters --count 100 --only langgraph

Each conversation is the history of one real run. `invalid` are the requests that the server refused or in which the dialect
finds a problem, `above` those whose tokens are more than the budget although what may not be lost would fit, `split` the calls
or results in them without their other half, and `lost` the requests without the user's last words. `failed` are the runs that
ended in an exception. `without` is the number of the same runs that are refused or fail where no adapter stands before the
model, which shows that the checks fire.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from random import Random
from time import perf_counter
from typing import Any

from bench.framework_conversations import as_items, as_pydantic, conversation
from bench.machine import describe
from germane.catalog.profiles import Catalog
from germane.compaction.message_cost import Measure
from germane.compaction.plan import Compaction
from germane.dialects.fields import json_object
from germane.dialects.registry import dialect, parse_all
from germane.integrations import compact, frameworks
from germane.integrations.compactor import tokenizer
from germane.types.message import Wire
from germane_testing.provider import LocalProvider, calls_tools, provider_in_thread

FRAMEWORKS = ("langgraph", "pydantic-ai", "openai-agents")
_PACKAGES = {
    "langgraph": ("langgraph", "langchain"),
    "pydantic-ai": ("pydantic-ai-slim",),
    "openai-agents": ("openai-agents",),
}
_MODEL = "gpt-5.4"
_BUDGETS = (1_000, 2_000, 5_000, 12_000)


def order(item: str = "", note: str = "") -> str:
    """Orders a thing."""
    return f"{item}: ordered"


@dataclass(slots=True)
class Tally:
    """What was counted of one framework's runs."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


Runner = Callable[[list[dict[str, Any]], LocalProvider, int | None, int], Awaitable[None]]
"""Runs an agent on a conversation's messages against the server; the budget is None where no adapter is to be there."""


async def langgraph_run(messages: list[dict[str, Any]], server: LocalProvider, budget: int | None, seed: int) -> None:
    """Every other run is a middleware's, the others a hook's, whose graph checks that each call has a result."""
    from langchain.agents import create_agent
    from langchain_core.messages import convert_to_messages
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    from germane.integrations.langgraph import CompactionMiddleware, pre_model_hook

    model = ChatOpenAI(model=_MODEL, base_url=f"{server.url}/v1", api_key="none", max_retries=0)  # type: ignore[arg-type]
    given = [_readable(message) for message in messages]
    if seed % 2:
        middleware = [] if budget is None else [CompactionMiddleware(max_tokens=budget)]
        agent: Any = create_agent(model, [order], middleware=middleware)
    else:
        hook = None if budget is None else pre_model_hook(model, max_tokens=budget, tools=[order])
        agent = create_react_agent(model, [order], pre_model_hook=hook)
    await agent.ainvoke({"messages": convert_to_messages(given)})


async def pydantic_run(messages: list[dict[str, Any]], server: LocalProvider, budget: int | None, seed: int) -> None:
    """Every other run is a capability's, the others a history processor's."""
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import repair_messages
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from germane.integrations.pydantic_ai import HistoryCompaction, history_processor

    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        model = OpenAIChatModel(_MODEL, provider=OpenAIProvider(openai_client=client))
        capabilities: list[Any] = []
        if budget is not None and seed % 2:
            capabilities = [HistoryCompaction(max_tokens=budget)]
        elif budget is not None:
            capabilities = [ProcessHistory(history_processor(max_tokens=budget - _tool_tokens()))]
        agent = Agent(model, tools=[order], capabilities=capabilities)
        await agent.run(messages[-1]["content"], message_history=repair_messages(as_pydantic(messages[:-1])))


async def agents_run(messages: list[dict[str, Any]], server: LocalProvider, budget: int | None, seed: int) -> None:
    """Every other run is one of the Responses API, the others of the chat API, for which the SDK writes chat messages."""
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, function_tool
    from agents import Runner as AgentsRunner
    from openai import AsyncOpenAI

    from germane.integrations.openai_agents import call_model_input_filter

    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        model = OpenAIResponsesModel(_MODEL, client) if seed % 2 else OpenAIChatCompletionsModel(_MODEL, client)
        items: Any = as_items(messages, Random(seed))
        filter = None if budget is None else call_model_input_filter(max_tokens=budget)
        config = RunConfig(tracing_disabled=True, call_model_input_filter=filter)
        await AgentsRunner.run(Agent("seller", tools=[function_tool(order)], model=model), items, run_config=config)


def _readable(message: dict[str, Any]) -> dict[str, Any]:
    """The message as LangChain's converter takes it: it refuses arguments that aren't a JSON object, so they become one."""
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(json_object(call["function"]["arguments"]))}}
        for call in message.get("tool_calls") or ()
    ]
    return {**message, "tool_calls": calls} if calls else message


RUNNERS: dict[str, Runner] = {"langgraph": langgraph_run, "pydantic-ai": pydantic_run, "openai-agents": agents_run}
"""One for each of `FRAMEWORKS`."""


async def measured(run: Runner, count: int, *, seed: int, adapted: bool = True) -> Tally:
    tally = Tally()
    with provider_in_thread(rule=calls_tools(), binding="off") as server:
        for number in range(seed, seed + count):
            messages = conversation(number)
            budget = _BUDGETS[number % len(_BUDGETS)]
            server.requests.clear()
            begun = perf_counter()
            _FITS.clear()
            try:
                await run(messages, server, budget if adapted else None, number)
            except Exception as error:
                tally.counts["failed"] += not server.refused
                tally.reasons[f"{type(error).__name__}: {str(error)[:80]}"] += not server.refused
            tally.seconds += perf_counter() - begun
            if adapted or server.refused:
                _judge(tally, server, messages[-1]["content"], budget)
    return tally


def _judge(tally: Tally, server: LocalProvider, asked: str, budget: int) -> None:
    tally.counts["invalid"] += bool(server.refused)
    tally.reasons.update(f"refused: {reason}" for reason in server.refused)
    for received in server.requests:
        if received.refusals:
            continue
        body = received.json()
        tally.counts["requests"] += 1
        provider = "openai-responses" if received.protocol == "responses" else "openai"
        sent = body.get("messages") or body["input"]
        problems = dialect(provider).problems(Wire(messages=sent, system=body.get("instructions")))
        tally.counts["invalid"] += bool(problems)
        tally.reasons.update(f"problem: {problem}" for problem in problems)
        large = _tokens(body, sent, provider) > budget
        tally.counts["above"] += large and all(_FITS)
        tally.counts["too large"] += large and not all(_FITS)
        tally.counts["split"] += _halves(sent)
        tally.counts["lost"] += all(
            asked not in str(message.get("content")) for message in sent if message.get("role") == "user"
        )
        tally.counts["shortened"] += _marked(sent)


_FITS: list[bool] = []
"""Whether each compaction of the present run fits: what may not be lost, such as open calls, may be larger than a budget."""


def _recorded(*arguments: Any, **options: Any) -> Compaction:
    found = compact(*arguments, **options)
    _FITS.append(found.fits)
    return found


def _halves(sent: Sequence[dict[str, Any]]) -> int:
    """The calls and results without their other half."""
    calls = Counter(call["id"] for message in sent for call in message.get("tool_calls") or ())
    calls += Counter(item["call_id"] for item in sent if item.get("type") == "function_call")
    results = Counter(message.get("tool_call_id") for message in sent if message.get("role") == "tool")
    results += Counter(item["call_id"] for item in sent if item.get("type") == "function_call_output")
    return (calls - results).total() + (results - calls).total()


def _tokens(body: dict[str, Any], sent: list[dict[str, Any]], provider: str) -> int:
    """The tokens of a request as it arrived, counted as germane counts."""
    measure = _measure(provider)
    given = sum(measure.message(message, raw).cost for message, raw in zip(parse_all(sent, provider), sent, strict=True))
    return measure.fixed(body.get("instructions"), _schemas(body)) + given


@cache
def _measure(provider: str) -> Measure:
    profile = Catalog.built_in().find(_MODEL)
    return Measure(profile, tokenizer(profile.tokenizer), provider)


def _tool_tokens() -> int:
    """The tokens of the tool of these runs, which a history processor isn't told."""
    schema = {
        "name": "order",
        "description": "Orders a thing.",
        "parameters": {"type": "object", "properties": {"item": {}, "note": {}}},
    }
    return 2 * _measure("openai").fixed(None, [schema])


def _marked(sent: Sequence[dict[str, Any]]) -> bool:
    """Whether the request holds a summary or a masked output of germane's."""
    written = str(sent)
    return "<conversation-summary" in written or "[Tool output left out" in written


def _schemas(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [tool.get("function", tool) for tool in body.get("tools") or ()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench adapters", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000, help="conversations for each framework (1,000)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first conversation (0)")
    parser.add_argument("--only", choices=FRAMEWORKS, nargs="+", default=list(FRAMEWORKS))
    options = parser.parse_args(arguments)
    logging.getLogger("openai").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    print(describe(), flush=True)
    frameworks.compact = _recorded  # type: ignore[attr-defined]
    bad = 0
    for name in options.only:
        versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES[name])
        tally = asyncio.run(measured(RUNNERS[name], options.count, seed=options.seed))
        plain = asyncio.run(measured(RUNNERS[name], min(options.count, 200), seed=options.seed, adapted=False))
        counts = tally.counts
        bad += sum(counts[key] for key in ("invalid", "above", "split", "lost", "failed"))
        each, refused = tally.seconds / options.count * 1e3, plain.counts["invalid"] + plain.counts["failed"]
        print(
            f"{name} ({versions}): {options.count:,} conversations, {counts['requests']:,} requests, {counts['shortened']:,} of"
            f" them shortened: {counts['invalid']} invalid, {counts['above']} above budget, {counts['too large']} with more"
            f" that may not be lost than the budget, {counts['split']} pairs split,"
            f" {counts['lost']} without the last user's words, {counts['failed']} runs failed; {each:.0f} ms a run. Without the"
            f" adapter {refused} of {min(options.count, 200)} runs are refused or fail.",
            flush=True,
        )
        for reason, times in tally.reasons.most_common(8):
            print(f"    {times} × {reason}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
