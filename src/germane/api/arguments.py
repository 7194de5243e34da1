"""Arguments: checks of what a caller passes, before any work is done. Errors name the argument.

How much of anything is allowed is in `types/limits.py`. Messages are checked by size and shape before any message is parsed:
they are a list, they hold no more messages, characters and values than one request may, and none is nested without end.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, get_args

from germane.catalog.profiles import Catalog, Profile
from germane.clock import Clock, aware
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.dialects.framework_messages import MessagePiece as MessagePiece
from germane.dialects.framework_messages import (
    as_chat_message,
    as_message,
    as_messages,
    instructions_in,
    is_langchain,
    is_llamaindex,
    is_pydantic,
)
from germane.dialects.framework_messages import joined as joined
from germane.dialects.opaque import as_result as as_result
from germane.dialects.opaque import opaque as opaque
from germane.dialects.registry import dialect, parse, parse_all, system_prompt
from germane.errors import EmbedderError, InvalidInput
from germane.kinds.blocks.field import label_key
from germane.kinds.memories.value import KINDS
from germane.ports.models import LLM, Completion, Embedder
from germane.stages.compact import HistoryTerms
from germane.text.secrets.detection import SecretPolicy, SecretScreen
from germane.types import limits
from germane.types.budget import Effort, price_of_effort
from germane.types.checks import (
    check_answer_time,
    check_entries,
    check_moment,
    check_size,
    check_some_of,
    check_task,
    check_text,
    check_type,
    check_whole_number,
)
from germane.types.limits import (
    BLOCKS_NAMED,
    CHARACTERS,
    COUNT,
    ID,
    IDS,
    MESSAGE_TEXT,
    MESSAGES,
    NAME,
    QUERY,
    REMARK,
    TOOL_CHARACTERS,
    TOOLS,
    Limit,
)
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult
from germane.types.nested_data import Extent, plain_size, without_objects
from germane.types.query import Filters
from germane.types.request import Request
from germane.types.scope import Scope

System = str | Sequence[str | Mapping[str, Any]] | Mapping[str, Any]
"""A system prompt beside the messages: a text, text blocks, or Gemini's system instruction (`dialects/registry.py`)."""
_NO_FILTERS = Filters()


def build_request(
    *,
    scope: Scope,
    catalog: Catalog,
    clock: Clock,
    messages: Sequence[Mapping[str, Any] | Message],
    model: str,
    provider: str | None = None,
    at: datetime | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    query: str | None = None,
    deadline: float | None = None,
    max_tokens: int | None = None,
    filters: Filters | None = None,
    effort: Effort | float | None = None,
    window: int | None = None,
    like: str | None = None,
    system: System | None = None,
    blocks: Sequence[str] = (),
    task: str | bool | None = None,
) -> Request:
    """Checks every argument and returns the request. Raises `InvalidInput` for the first argument that can't be used. The
    messages are parsed last."""
    named_model(model)
    given = check_conversation(messages, MESSAGES)
    Extent("system", CHARACTERS).part("system", system)
    if not given and query is None:
        raise InvalidInput("is empty", path="messages", advice="give at least one, or a query")
    if query is not None:
        check_text("query", query, QUERY, valid=False)
    if deadline is not None:
        check_answer_time("deadline", deadline, forever="waits for every source")
    schemas = _tools(tools)
    when = clock.now() if at is None else aware(check_moment("at", at), scope.zone, "at")
    cap = None if max_tokens is None else check_whole_number("max_tokens", max_tokens, high=COUNT.maximum)
    chosen = normalise_filters(filters, scope.zone) or _NO_FILTERS
    if effort is not None:
        price_of_effort(effort)
    named = check_entries("blocks", blocks, BLOCKS_NAMED, ID)
    profile = _profile(catalog, model, like, window)
    name = profile.provider if provider is None else check_text("provider", provider, NAME)
    dialect(name)
    own = system_prompt(system, name)
    first = () if own is None else (own,)
    return Request(
        scope=scope,
        messages=(*map(partial(parse, prefer=name), first), *parse_all(given, name)),
        raw=(*first, *given),
        model=model,
        provider=name,
        mid_system=profile.mid_system,
        binds_thinking=profile.binds_thinking(name),
        at=when,
        dated=at is not None,
        tools=schemas,
        query=query,
        deadline=deadline,
        max_tokens=cap,
        filters=chosen,
        effort=effort,
        window=window,
        like=like,
        blocks=tuple(dict.fromkeys(label_key(one, f"blocks[{index}]") for index, one in enumerate(named))),
        has_system=own is not None,
        task=check_task(task, scope.session),
    )


def history_terms(history: object, tokens: int | None) -> HistoryTerms | None:
    """Returns what `history=` and `history_tokens=` ask for, None for nothing. Raises `InvalidInput`."""
    most = None if tokens is None else check_whole_number("history_tokens", tokens, low=1, high=COUNT.maximum)
    if history is False or (history is None and most is None):
        return None
    strategy = Summarise() if history in (None, True) else history
    if not isinstance(strategy, get_args(CompactionStrategy)):
        raise InvalidInput("must be True, Truncate, Summarise, Importance or TimeDecay, not {}", history, path="history")
    return HistoryTerms(strategy=strategy, max_tokens=most)


def named_model(model: object) -> str:
    """Returns the model's name as given, also when the catalog doesn't know it. Raises `InvalidInput`."""
    if not isinstance(model, str) or not check_text("model", model, NAME).strip():
        raise InvalidInput("must be a name such as 'gpt-4o', not {}", model, path="model")
    return model


def normalise_filters(filters: Filters | None, zone: str) -> Filters | None:
    """Returns the filters with their times in UTC; naive times are local to `zone` (SCOPE-4). Raises `InvalidInput` for unknown
    kinds of memory, and where `since` is after `until`."""
    if (filters := given_filters(filters)) is None:
        return None
    check_some_of("filters.kinds", filters.kinds or (), KINDS)
    if filters.since is None and filters.until is None:
        return filters
    since = None if filters.since is None else aware(filters.since, zone, "filters.since")
    until = None if filters.until is None else aware(filters.until, zone, "filters.until")
    if since is not None and until is not None and since > until:
        problem = f"{since.isoformat()} is after until {until.isoformat()}: nothing lies between"
        raise InvalidInput(problem, path="filters.since")
    return replace(filters, since=since, until=until)


def given_filters(filters: object) -> Filters | None:
    """Raises `InvalidInput` for what isn't a `Filters`."""
    return None if filters is None else check_type("filters", filters, Filters, "a Filters, such as Filters(tags=['work'])")


def identifiers(value: object) -> tuple[str, ...]:
    """Returns the ids as a tuple; a single id may come as a string. Raises `InvalidInput`."""
    return check_entries("ids", (value,) if isinstance(value, str) else value, IDS, ID)


def _profile(catalog: Catalog, model: str, like: object, window: object) -> Profile:
    """Returns the model's profile. Raises `InvalidInput` for a `like` that the catalog doesn't list, and for a window that is
    no size."""
    known = None if like is None else check_text("like", like, NAME)
    size = None if window is None else check_whole_number("window", window, low=1, high=COUNT.maximum)
    return catalog.find(model, like=known, window=size)


def _tools(tools: object) -> tuple[Mapping[str, Any], ...]:
    if tools is None:
        return ()
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise InvalidInput(f"must be a list of tool schemas, not {type(tools).__name__}", path="tools")
    found = tuple(islice(tools, TOOLS.maximum + 1))
    check_size("tools", len(found), TOOLS, at_least=True)
    extent = Extent("tools", TOOL_CHARACTERS)
    for index, tool in enumerate(found):
        check_type(f"tools[{index}]", tool, Mapping, "a tool's schema as a dict")
        extent.part(f"tools[{index}]", tool)
    return found


def remarks(secrets: SecretPolicy, by: str, reason: str = "") -> dict[str, Any]:
    """Returns who did something and why, as it is stored. Raises `InvalidInput`."""
    return {
        name: SecretScreen(secrets, name).text(check_text(name, value, REMARK))
        for name, value in (("by", by), ("reason", reason))
    }


# Checks of a caller's messages, before any message is parsed.


_PARTS: tuple[type[Part], ...] = (Text, Image, ToolCall, ToolResult, Opaque)
_ROLES = get_args(Role)
_MAX_PLAIN_KEYS = 8
"""Keys of a dict of strings up to which it isn't looked into."""
_STRING_FIELDS = ("text", "id", "name", "arguments", "call_id", "kind")
"""Fields of parts that are always strings."""


def check_conversation(messages: object, limit: Limit) -> list[Any]:
    """Checks all `messages` and returns them as `look` does; what Pydantic AI's requests hold as instructions comes first.
    Raises `InvalidInput`, which names the message where a single one is too large."""
    raws = check_message_list(messages, limit)
    own = instructions_in(raws)
    given = [*([{"role": "system", "content": own}] if own else []), *as_dicts(raws)]
    check_size("messages", len(given), limit)
    return check_messages(given, Extent("messages", CHARACTERS))


def check_message_list(messages: object, limit: Limit) -> Sequence[Any]:
    """Returns `messages` itself, a list within the limit. Its messages aren't checked. Raises `InvalidInput`."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise InvalidInput(
            f"must be a list such as [{{'role': 'user', 'content': '…'}}], not {type(messages).__name__}", path="messages"
        )
    check_size("messages", len(messages), limit)
    return messages


def as_dicts(messages: Iterable[Any], *, first: int = 0) -> Iterator[Any]:
    """Yields the messages, each taken once; those of LangChain, LlamaIndex and Pydantic AI as dicts, of which a request of the
    last may give several. `first` is the index of the first message, for the error. Raises `InvalidInput` for one that can't be
    read."""
    for index, raw in enumerate(messages, first):
        if type(raw) is dict or type(raw) is Message:
            yield raw
            continue
        try:
            if is_langchain(raw):
                raw = as_message(raw)
            elif is_llamaindex(raw):
                raw = as_chat_message(raw)
            elif is_pydantic(raw):
                yield from [*as_messages(raw)]
                continue
        except Exception as error:
            name = type(raw).__name__
            raise InvalidInput(f"is a {name} that can't be read ({type(error).__name__})", path=f"messages[{index}]") from error
        yield raw


def check_messages(messages: Sequence[Any], extent: Extent, *, first: int = 0) -> list[Any]:
    """Checks the size and shape of each message. Returns the messages: the same objects, but those that hold an SDK's objects
    are copies with plain dicts in their place. `extent` counts what came before; `first` is the index of the first message, for
    the error. Raises `InvalidInput` naming the message."""
    seen: list[Any] = []
    for index, raw in enumerate(messages, first):
        if (characters := _characters(raw)) is not None:
            extent.text(characters)
        elif (size := plain_size(raw)) is not None:
            extent.sized(*size)
        elif isinstance(raw, Message):
            extent.part(f"messages[{index}]", _fields(f"messages[{index}]", raw))
        else:
            raw = without_objects(f"messages[{index}]", f"messages[{index}]", raw)
            extent.part(f"messages[{index}]", raw)
        seen.append(raw)
    return seen


def check_recordable(messages: Sequence[Message], zone: str, *, first: int = 0) -> None:
    """Checks what is stored of each message: its text, its time, and the caller's id. `first` is the index of the first
    message, for the error. Raises `InvalidInput` naming the message."""
    for index, message in enumerate(messages, first):
        if message.id is not None:
            check_text(f"messages[{index}].id", message.id, ID)
        if message.created_at is not None:
            aware(message.created_at, zone, f"messages[{index}].created_at")
        held = sum(len(part.text) for part in message.parts if isinstance(part, Opaque))  # which is cut when it is stored
        check_size(f"messages[{index}].content", len(message.content) - held, MESSAGE_TEXT)


def _characters(raw: object) -> int | None:
    """The characters of a dict of few strings, or of a message of one text; None for anything else."""
    if type(raw) is Message:
        return _characters_of_message(raw)
    if type(raw) is not dict or len(raw) > _MAX_PLAIN_KEYS:
        return None
    characters = 0
    for key, value in raw.items():
        if type(key) is not str or type(value) is not str:
            return None
        characters += len(key) + len(value)
    return characters


def _characters_of_message(message: Message) -> int | None:
    """The characters of a message of one text whose fields have their declared types; None for any other."""
    parts = message.parts
    if type(parts) is not tuple or len(parts) != 1 or type(parts[0]) is not Text or parts[0].raw is not None:
        return None
    texts = [parts[0].text, *(text for text in (message.id, message.name) if text is not None)]
    timed = message.created_at is None or isinstance(message.created_at, datetime)
    typed = timed and message.role in _ROLES and all(type(text) is str for text in texts)
    return sum(map(len, texts)) if typed else None


def _fields(where: str, message: Message) -> list[Any]:
    """Everything that a `Message` holds, after checking that each field has its declared type: no later step checks that."""
    for name, value, kind in (
        ("id", message.id, str | None),
        ("name", message.name, str | None),
        ("created_at", message.created_at, datetime | None),
    ):
        if not isinstance(value, kind):
            raise InvalidInput(
                f"is {type(value).__name__}",
                path=f"{where}.{name}",
                advice=f"give a {'datetime' if 'at' in name else 'string'}",
            )
    if message.role not in _ROLES:
        raise InvalidInput("is unknown", path=f"{where}.role", advice=f"give one of {', '.join(_ROLES)}")
    if not isinstance(message.parts, list | tuple):
        raise InvalidInput(f"is {type(message.parts).__name__}", path=f"{where}.parts", advice="give a tuple of parts")
    found: list[Any] = [message.id, message.name]
    for index, part in enumerate(message.parts):
        if not isinstance(part, _PARTS):
            raise InvalidInput(
                f"is {type(part).__name__}",
                path=f"{where}.parts[{index}]",
                advice="give a Text, Image, ToolCall, ToolResult or Opaque",
            )
        values = [(name, getattr(part, name)) for name in part.__slots__]
        for name, value in values:
            if name in _STRING_FIELDS and not isinstance(value, str):
                raise InvalidInput(f"is {type(value).__name__}", path=f"{where}.parts[{index}].{name}", advice="give a string")
        found.append([value for _, value in values])
    return found


# Checks of `embedder`, `dimensions` and `embedder_model`, before anything is opened.


EmbedderArgument = str | Embedder | Callable[[list[str]], Any]
"""A name, an `Embedder`, or a function from a list of texts to their vectors, which may be a coroutine function."""

_EMBEDDER_MEMBERS = ("identity", "dimension", "quick", "embed", "embed_now", "close")


def check_embedder(embedder: Any, dimensions: Any, model: Any = None) -> None:
    """Raises `InvalidInput` that names what is missing or wrong. `model` is the caller's `embedder_model`."""
    if dimensions is not None:
        check_whole_number("dimensions", dimensions, 1)
    if model is not None:
        check_text("embedder_model", model, limits.NAME)
        if not model.strip() or not is_function(embedder):
            raise InvalidInput(
                "names the model of embedder=<function>: not empty, and only with a function", path="embedder_model"
            )
    if embedder is None or isinstance(embedder, str):
        return
    if isinstance(embedder, type):
        raise InvalidInput(
            f"must be an object, not the class {embedder.__name__}", path="embedder", advice=f"write {embedder.__name__}(…)"
        )
    if is_function(embedder):
        if dimensions is None:
            raise InvalidInput(
                "is a function", path="embedder", advice="give the length of its vectors too, such as dimensions=384"
            )
        nameless = "partial" if isinstance(embedder, partial) else "lambda"
        if model is None and (nameless == "partial" or getattr(embedder, "__name__", "") == "<lambda>"):
            raise InvalidInput(
                f"is a {nameless}, which has no name that tells its vectors from those of another model",
                path="embedder",
                advice="give embedder_model=, such as embedder_model='all-mpnet-base-v2'",
            )
        return
    missing = [name for name in _EMBEDDER_MEMBERS if not _has_members(embedder, name)]
    if len(missing) == len(_EMBEDDER_MEMBERS):
        raise InvalidInput(f"must be a name, a function or an Embedder, not {type(embedder).__name__}", path="embedder")
    if missing:
        raise InvalidInput(
            f"is a {type(embedder).__name__} that lacks {', '.join(missing)}",
            path="embedder",
            advice=(
                f"an Embedder has {', '.join(_EMBEDDER_MEMBERS)}; or pass a function from texts to vectors, with dimensions="
            ),
        )


def is_function(embedder: Any) -> bool:
    """Returns whether `embedder` is a function, or another callable without the members of an `Embedder`."""
    return callable(embedder) and not any(_has_members(embedder, name) for name in _EMBEDDER_MEMBERS)


def _has_members(embedder: Any, name: str) -> bool:
    try:
        return hasattr(embedder, name)
    except EmbedderError:  # an endpoint that hasn't answered yet doesn't know its dimension
        return True


# Checks of `llm`, before anything is opened.


LLMArgument = str | LLM | Callable[[str], Awaitable[str | Completion]]
"""A name, an `LLM`, or a coroutine function from a prompt to the answer's text."""

_LLM_MEMBERS = ("name", "complete", "close")


def check_llm(llm: Any) -> None:
    """Raises `InvalidInput` that says what is wrong."""
    if llm is None or isinstance(llm, str) or is_llm(llm):
        return
    if isinstance(llm, type):
        raise InvalidInput(f"must be an object, not the class {llm.__name__}", path="llm", advice=f"write {llm.__name__}(…)")
    if not callable(llm):
        raise InvalidInput(f"must be a name, a coroutine function or an LLM, not {type(llm).__name__}", path="llm")
    if not inspect.iscoroutinefunction(llm) and not inspect.iscoroutinefunction(getattr(llm, "__call__", None)):  # noqa: B004
        raise InvalidInput("is a function that blocks", path="llm", advice="write it as  async def")


def is_llm(llm: Any) -> bool:
    """Whether `llm` has the members of an `LLM`."""
    return not isinstance(llm, type) and all(hasattr(llm, name) for name in _LLM_MEMBERS)


# Messages and their parts in the providers' shapes, for the CLI's imports of files.


def read_message(raw: Mapping[str, Any], provider: str) -> Message:
    """Reads a message in the shape of the provider. Raises `InvalidInput` naming what can't be read."""
    return dialect(provider).parse(raw)
