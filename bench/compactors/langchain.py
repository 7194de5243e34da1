"""LangChain: its middleware, run turn by turn as its agents run it: what one summary left out, the next one can't have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.messages.utils import get_buffer_string

from bench.compactors.stand_in import StandIn

__all__ = ["cleared", "summarized"]

Count = Callable[[str], int]


def summarized(
    messages: Sequence[dict[str, Any]], budget: int, count: Count, stand_in: StandIn, *, defaults: bool
) -> tuple[list[dict[str, Any]], int]:
    """The messages after the last turn with `SummarizationMiddleware`, and how often it summarised. It is triggered when the
    budget is exceeded. With `defaults` it keeps the newest 20 messages and shows its model the newest 4,000 tokens of the
    others; else it keeps the newest half of the budget and shows its model everything."""

    def total(given: Any) -> int:
        return sum(
            count(str(message.content)) + sum(count(str(call)) for call in getattr(message, "tool_calls", ())) + 4
            for message in given
        )

    def summary(given: list[Any]) -> str:
        return stand_in(get_buffer_string(given), count)

    options: dict[str, Any] = {} if defaults else {"keep": ("tokens", budget // 2), "trim_tokens_to_summarize": None}
    middleware: Any = SummarizationMiddleware(
        FakeMessagesListChatModel(responses=[AIMessage("unused")]),
        trigger=("tokens", budget), token_counter=total, summarizer=summary, **options,
    )  # fmt: skip
    state: list[BaseMessage] = []
    times = 0
    for message in [*convert_to_messages(list(messages)), None]:
        if message is None or message.type == "ai":
            update = middleware.before_model({"messages": state}, None)
            if update is not None:
                times += 1
                state = update["messages"][1:]
        if message is not None:
            state = [*state, message]
    return list(convert_to_openai_messages(state)), times


def cleared(messages: Sequence[dict[str, Any]], budget: int, count: Count) -> tuple[list[dict[str, Any]], int]:
    """The messages with `ClearToolUsesEdit`, the context editing: beyond the budget all outputs but the newest three are
    replaced by "[cleared]". It has no state and no summary, so that only the last turn counts."""
    given = convert_to_messages(list(messages))

    def total(state: Any) -> int:
        return sum(
            count(str(message.content)) + sum(count(str(call)) for call in getattr(message, "tool_calls", ())) + 4
            for message in state
        )

    ClearToolUsesEdit(trigger=budget).apply(given, count_tokens=total)  # type: ignore[arg-type]
    return list(convert_to_openai_messages(given)), 1
