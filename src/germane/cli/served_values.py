"""Served values: what a server answers, as the values that the library returns, for commands that print them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast

from germane.api.builder.builder import BuildMetadata, BuiltRequest
from germane.api.verbs.about import AboutEntity
from germane.errors import InvalidInput
from germane.kinds.remote_values import KnownAbout, KnownThing, RemoteRequest
from germane.types.candidate import Breakdown, Candidate, Chosen, Scored
from germane.types.codec import decode
from germane.types.context import Context
from germane.types.trace import Trace

if TYPE_CHECKING:
    from germane.grpc.answer import Answer

_NO_SCORE = Breakdown(0.0, 0.0, 0.0, 0.0, 0.0)


def about_of(known: KnownAbout, model: str) -> AboutEntity:
    """Returns what is known about a name."""
    return AboutEntity(
        name=known.name,
        current=tuple(map(_chosen, known.current)),
        earlier=tuple(map(_chosen, known.earlier)),
        mentions=tuple(map(_chosen, known.mentions)),
        text=known.text,
        tokens=known.tokens,
        left_out=known.left_out,
        trace=Trace(strategy="about", model=model, tokenizer=""),
        hints=known.hints,
    )


def _chosen(one: KnownThing) -> Chosen:
    candidate = Candidate(
        id=one.id,
        source="",
        category=one.category,
        text=one.text,
        created_at=one.created_at,
        session=one.session,
        speaker=one.speaker,
        role=one.role,
    )
    return Chosen(Scored(candidate, 0.0, 0.0, _NO_SCORE), one.text, one.tokens, one.share, one.handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedContext(Context):
    """A context that a server assembled: without the items and the trace, which stay there."""

    explanation: str

    def explain(self) -> str:
        return self.explanation


def context_of(answer: Answer, asked: Mapping[str, Any], *, provider: str) -> ServedContext:
    """Returns the context. `asked` are the arguments of the assembly."""
    report = answer.metadata
    trace = Trace(strategy=asked["strategy"], model=asked["model"], tokenizer="", warnings=report.warnings)
    return ServedContext(
        provider=provider,
        messages=answer.messages,
        system=answer.system,
        added="",
        items=(),
        metadata=report,
        trace=trace,
        convert=_not_converted,
        explanation=answer.explanation,
    )


def _not_converted(provider: str) -> NoReturn:
    raise InvalidInput(f"the context isn't there in the shape of {provider}: ask for it with --provider")


class ServedBuilder:
    """Collects what a command gives `Agent.builder()`, and has the server build the request."""

    _ARGUMENTS: Mapping[str, tuple[str, ...]] = {
        "with_model": ("model", "provider"),
        "with_messages": ("messages",),
        "with_base_instructions": ("instructions",),
        "with_tools": ("tools",),
        "with_tool_rules": ("rules",),
        "with_query": ("query",),
        "with_strategy": ("strategy",),
        "with_session": ("session",),
        "with_deadline": ("deadline",),
    }

    def __init__(self, build: Callable[..., Awaitable[RemoteRequest]]) -> None:
        self._build = build
        self._given: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Callable[..., ServedBuilder]:
        arguments = self._ARGUMENTS[name]

        def take(*given: Any) -> ServedBuilder:
            self._given |= dict(zip(arguments, given, strict=True))
            return self

        return take

    def with_batch_blocks(self, *labels: str) -> ServedBuilder:
        self._given["blocks"] = labels
        return self

    def with_limits(self, **limits: int | None) -> ServedBuilder:
        self._given["limits"] = {name: limit for name, limit in limits.items() if limit is not None}
        return self

    def __await__(self) -> Generator[Any, None, BuiltRequest]:
        return self._built().__await__()

    async def _built(self) -> BuiltRequest:
        asked = {name: value for name, value in self._given.items() if value is not None}
        built = await self._build(**{"deadline": 10.0, **asked})
        kwargs, apart = built.kwargs, "config" in built.kwargs
        config = kwargs["config"] if apart else kwargs
        system = config.get("system_instruction") if apart else config.get("system", config.get("instructions"))
        messages = next(kwargs[name] for name in ("messages", "input", "contents") if name in kwargs)
        described = {**built.metadata, "blocks": [], "losses": []}  # of these two the server sends a summary
        return BuiltRequest(
            provider=built.provider,
            model=asked["model"],
            system=cast("Any", system),
            messages=list(messages),
            tools=list(config.get("tools", ())),
            metadata=decode(BuildMetadata, described, "metadata", lenient=True),
            context=None,
            kwargs=kwargs,
        )
