"""Served values: what a server answers, as the values that the library returns, for commands that print them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast

from germane.api.arguments import named_model
from germane.api.builder.builder import BuildMetadata, BuildPlan, BuiltRequest
from germane.api.remote.handles import ClientVerbs
from germane.api.remote.operation_call import ScopedClient
from germane.api.verbs.about import AboutEntity
from germane.errors import InvalidInput
from germane.kinds.remote_values import KnownAbout, KnownThing, RemoteActivity
from germane.types.candidate import Breakdown, Candidate, Chosen, Scored
from germane.types.codec import decode
from germane.types.context import Context
from germane.types.trace import Trace

if TYPE_CHECKING:
    from germane.api.remote.answer import Answer

KEY_VARIABLE = "GERMANE_API_KEY"
PATIENCE = 60.0
"""Seconds that a command waits for one answer."""
LONGEST = 10.0
"""Seconds that an answer of a server may take which waits for every source."""
_NO_SCORE = Breakdown(0.0, 0.0, 0.0, 0.0, 0.0)


class CommandClient(ScopedClient, ClientVerbs):
    """A client of a command within one scope, over gRPC or HTTP, whose errors say what the user can do."""

    async def context(self, messages: list[Any], deadline: float | None, asked: Mapping[str, Any]) -> ServedContext:
        """Assembles, and raises germane's errors where an application's client would answer with its own messages."""
        raise NotImplementedError


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
        if not self.explanation:
            raise InvalidInput("over HTTP the trace stays on the server: give grpc://HOST:PORT, or --why ID for one thing")
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


async def build_over(client: CommandClient, plan: BuildPlan) -> BuiltRequest:
    """Has the server build the request of a plan; it has its own table of limits by model. Raises germane's errors."""
    model = named_model(plan.model)
    messages: Any = plan.messages
    tools: Any = plan.tools
    strategy: Any = plan.strategy
    built = await client.build(
        messages,
        model=model,
        provider=plan.provider,
        session=plan.session,
        instructions=plan.instructions,
        tools=tools,
        rules=plan.rules,
        blocks=plan.references,
        activity=[RemoteActivity(one.at, one.agent, one.text) for one in plan.activity],
        limits=plan.limits.changes,
        query=plan.query,
        filters=plan.filters,
        at=plan.at,
        strategy=strategy,
        like=plan.like,
        window=plan.window,
        deadline=LONGEST if plan.deadline is None else plan.deadline,
        schemas=plan.schemas,
        descriptions=plan.descriptions,
        history=plan.history,
    )
    kwargs, apart = built.kwargs, "config" in built.kwargs
    config = kwargs["config"] if apart else kwargs
    system = config.get("system_instruction") if apart else config.get("system", config.get("instructions"))
    described = {**built.metadata, "blocks": [], "losses": []}  # of these two the server sends a summary
    return BuiltRequest(
        provider=built.provider,
        model=model,
        system=cast("Any", system),
        messages=list(next(kwargs[name] for name in ("messages", "input", "contents") if name in kwargs)),
        tools=list(config.get("tools", ())),
        metadata=decode(BuildMetadata, described, "metadata", lenient=True),
        context=None,
        kwargs=kwargs,
    )
