"""Germane: the library's entry. It opens a store, returns agents and closes what it opened."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from germane.api.agent import Agent
from germane.api.arguments import EmbedderArgument, LLMArgument, check_embedder, check_llm, named_model
from germane.api.contents import check_page
from germane.api.strategies import Strategies
from germane.api.wiring import Parts, wire
from germane.api.workers.batch_writers import today
from germane.api.workers.warm_up import freeze
from germane.catalog.profiles import Prices
from germane.clock import Clock
from germane.engine.engine import State
from germane.errors import InvalidInput, StoreError, StoreUnavailable
from germane.extraction.archetypes.registry import Archetypes
from germane.extraction.archetypes.value import Archetype
from germane.extraction.llm.queue import QueueReport, QueueState
from germane.kinds.conversations.aliases import note_forgotten
from germane.kinds.inventory import ListAgents, ListOrgs, ListUsers, OwnerOf
from germane.kinds.keys.handle import Keyring
from germane.kinds.keys.reads import NonceKey
from germane.kinds.keys.value import pseudonym
from germane.kinds.memories.value import Receipt
from germane.search.relevance import Relevance
from germane.settings.settings import Settings
from germane.stages.gather.source import SourceFactory
from germane.stores.contract import BacksUp, Checkup, EmbedsLater, ExaminesItself, Upgrades
from germane.text.secrets.detection import SecretPolicy, secret_policy
from germane.types import limits
from germane.types.checks import check_flag, check_flags, check_text, check_type
from germane.types.inventory import AgentPage, OrgPage
from germane.types.limits import PAGE
from germane.types.scope import Scope

if TYPE_CHECKING:
    from germane.api.remote.http import RemoteGermane
    from germane.api.remote.operation_call import Pem
    from germane.api.verbs.transfer import Exported, Line, Restored
    from germane.api.workers.extraction import ExtractionWorker


_SETTLING_SECONDS = 5.0
"""Seconds that `check` waits for vectors that are being made."""


class Germane:
    """Opened with `async with Germane.open(path) as germane:`, or with `await`. One per process is enough: all agents
    share it."""

    _path: str | Path
    _clock: Clock
    _freeze: bool
    _embedder: EmbedderArgument | None
    _llm: LLMArgument | None
    """The caller's own, which the caller closes; or their names."""
    _wire: Callable[[], Awaitable[Parts]]
    """Opens the store and builds the engine over it."""
    _parts: Parts | None
    """None while it isn't open."""

    def __init__(self, *args: object, **options: object) -> None:
        raise TypeError("a Germane is opened, not called: use  async with Germane.open(path) as germane:")

    @classmethod
    def open(
        cls,
        path: str | Path = "germane.db",
        *,
        settings: Settings | str | Path | None = None,
        embedder: EmbedderArgument | None = None,
        clock: Clock | None = None,
        sources: Mapping[str, SourceFactory] | None = None,
        freeze: bool = True,
        warm: bool = True,
        relevance: Relevance | str | Path | None = None,
        dimensions: int | None = None,
        embedder_model: str | None = None,
        secrets: SecretPolicy | None = None,
        extraction: bool | None = None,
        llm: LLMArgument | None = None,
        archetype: str | Archetype | None = None,
        entities: bool | None = None,
    ) -> Germane:
        """A germane over the store in the file at `path`, which is created if need be (`:memory:` keeps nothing).

        `settings` is a `Settings` or the path of a TOML file; by default the environment and the built-in defaults. `embedder`
        is a name (`distilled`, `minilm`, `openai:<model>`), an `Embedder`, or a function from a list of texts to their vectors,
        which may be a coroutine function; `dimensions` is the length of those vectors, for a function; an endpoint tells its
        own with its first answer. `embedder_model` names the model behind a function, by default the function's module and
        name: only vectors of one model are compared. `extraction` says whether recording extracts memories from the users' own
        turns, by rules (default: the settings', which is yes). `llm` is a language model that reads the conversations in the
        background, extracts more, and sums up what leaves a compacted prompt: a name (`openai:<model>`, `anthropic:<model>`),
        an `LLM`, or a coroutine function from a prompt to a text (default: the settings', which is none). `relevance` is a file
        of coefficients that `germane eval fit` wrote, or the model itself. All of them override the settings. `sources`
        registers sources by the names that strategies use. `freeze` excludes the objects that are alive after opening from the
        garbage collector's walks (`gc.freeze`, once per process), which take tens of milliseconds in the middle of an answer,
        and makes walks over new objects rarer (`gc.set_threshold`). `warm=False` opens sooner, for programs that store and
        search only: the first assembly then loads the vocabulary and is late. `secrets` overrides the settings' policy on
        secrets in what is stored: `redact` (default), `tag`, `refuse` or `off`. `archetype` is one whose extractors read what
        is recorded: `coding`, `support`, `research`, one of the settings', or an `Archetype` (default: the settings', which is
        none). `entities` says whether messages are searched for the entities that they mention (default: the settings', which
        is no; with an archetype they are).

        Opened with `async with Germane.open(…) as germane:`, or with `germane = await Germane.open(…)` and closed with `await
        germane.close()`. Raises `InvalidInput`. Opening raises `StoreUnavailable`, `StoreCorrupt`, `StoreTooNew`,
        `InvalidInput` or `MissingExtra`.
        """
        check_type("path", path, (str, Path), "a string or a Path")
        if not isinstance(settings, Settings | str | Path | None):
            raise InvalidInput(f"must be a Settings or a TOML file's path, not {type(settings).__name__}", path="settings")
        check_embedder(embedder, dimensions, embedder_model)
        check_llm(llm)
        if not isinstance(relevance, Relevance | str | Path | None):
            raise InvalidInput(f"must be a TOML file's path or a Relevance, not {type(relevance).__name__}", path="relevance")
        policy = None if secrets is None else secret_policy(secrets)
        for name, switch in (("extraction", extraction), ("entities", entities)):
            if switch is not None:
                check_flag(name, switch)
        if not isinstance(settings, Settings):
            settings = Settings.load(settings, os.environ)
        settings = settings if extraction is None else replace(settings, extraction=extraction)
        settings = settings if entities is None else replace(settings, entities=entities)
        germane, clock = cls.__new__(cls), clock or Clock()
        germane._path, germane._clock, germane._freeze = path, clock, freeze
        germane._embedder, germane._llm, germane._parts = embedder, llm, None
        germane._wire = partial(
            wire,
            path,
            settings=settings,
            embedder=embedder,
            clock=clock,
            sources=sources or {},
            relevance=relevance,
            dimensions=dimensions,
            embedder_model=embedder_model,
            llm=llm,
            warm=warm,
            secrets=policy,
            archetype=archetype,
        )
        return germane

    def __await__(self) -> Generator[Any, Any, Self]:
        """Opens it, as `async with` does; the caller calls `close`."""
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        if self._parts is None:
            self._parts = await self._wire()
            if self._freeze:
                freeze()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Writes the counts and records that still wait, and closes everything that was opened here. A caller's embedder isn't
        closed. Idempotent."""
        parts, self._parts = self._parts, None
        if parts is not None:
            if parts.summaries is not None:
                await parts.summaries.__aexit__()
            if parts.extraction_worker is not None:
                await parts.extraction_worker.close()
                if parts.extraction_worker.llm is not self._llm:
                    await parts.extraction_worker.llm.close()
            await parts.catch_up.close()
            await parts.retrievals.close()
            await parts.injections.close()
            await parts.blocks.close()
            await parts.verifier.close()
            await parts.store.close()
            await asyncio.to_thread(parts.background.close)
            if parts.embedder is not self._embedder:
                await parts.embedder.close()

    @staticmethod
    def connect(
        url: str,
        *,
        key: str | None = None,
        org: str = "default",
        limit: float = 0.045,
        patience: float = 10.0,
        breaker: int = 5,
        cooldown: float = 1.0,
        plaintext: bool = False,
        roots: Pem | None = None,
        certificate: Pem | None = None,
        certificate_key: Pem | None = None,
    ) -> RemoteGermane:
        """A germane in another process, which `germane serve` serves over HTTP at `url`: its agents have the operations of
        `Agent`, with the same names, arguments and values.

        `key` is an API key of that service. Over plain HTTP it is sent to this machine only, unless `plaintext` allows other
        hosts too, for networks that are trusted or encrypt by themselves. `roots` are the certificates that the service's is
        verified with (default: the system's); `certificate` and `certificate_key` are your own, where the service asks for one.
        Each is PEM: bytes are the text itself, a string or a path names a file. `org` is the org of agents that name none;
        `default` stands for the key's. `limit` bounds a call of `assemble` in seconds, which then returns the caller's own
        messages; `patience` bounds any other call. After `breaker` calls of `assemble` in a row that hung, none is made for
        `cooldown` seconds; 0 switches that off. Nothing is sent twice, and no redirect is followed.

        Opened with `async with Germane.connect(…) as germane:`. Connects at the first call. Raises `InvalidInput`, and
        `MissingExtra` without aiohttp."""
        from germane.api.remote.http import RemoteGermane as Remote

        return Remote(
            url,
            key=key,
            org=org,
            limit=limit,
            patience=patience,
            breaker=breaker,
            cooldown=cooldown,
            plaintext=plaintext,
            roots=roots,
            certificate=certificate,
            certificate_key=certificate_key,
        )

    def agent(
        self,
        agent: str = "default",
        *,
        org: str = "default",
        user: str | None = None,
        zone: str = "UTC",
        archetype: str | Archetype | None = None,
    ) -> Agent:
        """Returns the handle on one scope (SCOPE-1): what an agent keeps, or an agent with one user. `archetype` is the one
        whose extractors read what it records (default: that of `open`). Raises `InvalidInput`."""
        parts = self._open
        chosen = None if archetype is None else parts.archetypes.find(archetype)
        return Agent(parts, Scope(org=org, agent=agent, user=user, zone=zone), archetype=chosen)

    async def agents(self, org: str = "default", *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        """Returns a page of `limit` (1 to 1,000) agents of the org with what each has stored, in the order of their first
        write. Raises `InvalidInput`."""
        check_page(limit, cursor)
        return await self._open.store.ask(ListAgents(Scope(org=org).org, limit, cursor))

    async def orgs(self, *, limit: int = 50, cursor: str | None = None) -> OrgPage:
        """Returns a page of `limit` (1 to 1,000) orgs of the store with what each has stored, in the order of their first
        write. For the operator, who has the file: no handle on a scope and no key leads here. Raises `InvalidInput`."""
        check_page(limit, cursor)
        return await self._open.store.ask(ListOrgs(limit, cursor))

    async def owner(self, id: str, *, org: str = "default") -> Scope | None:
        """Returns the scope that a memory or message with this id belongs to, or belonged to until it was forgotten; None where
        the org has none. For the operator: a handle on a scope sees only its own. Raises `InvalidInput`."""
        found = await self._open.store.ask(OwnerOf(Scope(org=org).org, check_text("id", id, limits.ID)))
        return None if found is None else Scope(org=org, agent=found[0], user=found[1])

    async def forget(
        self, org: str, *, agent: str | None = None, dry_run: bool = False, by: str = "", reason: str = ""
    ) -> Receipt:
        """Forgets all that an org, or one `agent` of it, has stored: memories, messages, directives, sessions and names of all
        users, and what is agent-wide. API keys stay: revoke them with `keys`. Each user is forgotten by itself; a call that was
        interrupted is completed by the next one. `dry_run` and the receipt are as in `Agent.forget`. Raises `InvalidInput`."""

        check_flags(dry_run=dry_run)
        check_text("by", by, limits.REMARK)
        check_text("reason", reason, limits.REMARK)
        scope = Scope(org=org) if agent is None else Scope(org=org, agent=agent)
        return await forget_org(self._open, scope.org, agent, dry_run=dry_run, by=by, reason=reason)

    @property
    def keys(self) -> Keyring:
        """The key ring: the API keys of every org in the store (RPC-5)."""
        return Keyring(self._open.store, self._open.verifier, self._clock)

    @property
    def state(self) -> State:
        """How this process is doing: circuit breakers, admission queue, caches, abandoned tasks, an embedder that fails. Cheap.
        To be read on the event loop."""
        watched = self._open.watched
        state = self._open.engine.state(read_only=self._open.store.read_only)
        fault = "" if watched is None else watched.fault
        worker = self._open.extraction_worker
        figures = {} if worker is None else extraction_state(worker)
        store = self._open.store
        refused = store.refused_texts if isinstance(store, EmbedsLater) else 0
        return replace(state, embedder_fault=fault, refused_texts=refused, **figures)

    @property
    def strategies(self) -> Strategies:
        """The registry of strategies, to which a caller adds its own."""
        return self._open.strategies

    @property
    def archetypes(self) -> Archetypes:
        """The registry of archetypes: `register`, `create` and `extend` add one, each with a strategy of its name."""
        return self._open.archetypes

    @property
    def prices(self) -> Prices:
        """What input tokens cost, by model: list prices and those of the settings."""
        return self._open.prices

    def pseudonym(self, id: str) -> str:
        """Returns what replaces the id of an org or an agent in the service's log: twelve hex digits, the same in every process
        over this store. They depend on a key in the store, so nobody can find an id from them without the store. Raises
        `InvalidInput`."""
        return pseudonym(self._open.engine.nonce_key, check_text("id", id, limits.ID, valid=False))

    def count(self, text: str, *, model: str) -> int:
        """Returns the tokens that `text` alone costs `model`; an upper bound where the model's tokenizer isn't available.
        Raises `InvalidInput`."""
        engine = self._open.engine
        check_text("text", text, limits.CHARACTERS, valid=False)
        return engine.tokenizer(engine.catalog.find(named_model(model)).tokenizer).count(text)

    async def backup(self, target: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Writes a consistent copy of the store to the file `target`, while the store is in use. `progress(done, total)` counts
        pages. Raises `StoreError`."""
        store = self._open.store
        if not isinstance(store, BacksUp):
            raise StoreError("this store doesn't copy itself: use the backups of its database, or export it")
        await store.backup(Path(target), progress)

    def export(self, org: str | None = None, agent: str | None = None) -> AsyncIterator[Exported]:
        """Yields all that is stored, or with `org` all of that org, or with `org` and `agent` all of that agent and its users,
        as `Agent.export` does for one scope. Raises `InvalidInput`."""
        from germane.api.verbs.transfer import export_lines as exported
        from germane.transfer.contents import Reach

        return exported(self._open.store, Reach(org=org, agent=agent, all_users=True))

    async def restore(self, lines: Iterable[Line] | AsyncIterable[Line], *, skip_conflicts: bool = False) -> Restored:
        """Stores what an export holds as it was, each line in the scope that it came from. Otherwise as `Agent.restore`."""
        from germane.api.verbs.transfer import restore_lines as restored

        check_flags(skip_conflicts=skip_conflicts)
        return await restored(self._open, lines, skip_conflicts=skip_conflicts)

    async def ping(self) -> None:
        """Returns when the store has answered; raises `StoreError` where it can't. For health checks."""
        await self._open.store.ask(NonceKey())

    async def verify(self, *, full: bool = False, progress: Callable[[int, int], None] | None = None) -> Checkup:
        """Reads all that is stored and returns findings about the content: whether each text is the one that was stored (by its
        checksum), whether search rows match their texts (a sample of them, all where `full`), and whether rows are left of what
        is gone. `progress(done, total)` counts texts, on any thread. Raises `StoreError`."""
        check_flags(full=full)
        store = self._open.store
        if not isinstance(store, ExaminesItself):
            raise StoreError("this store doesn't examine itself: use what its database has for that")
        return await store.verify(full=full, progress=progress)

    async def check(self) -> Checkup:
        """Returns findings about the store: whether the file is sound, which embedder made its vectors, whether the
        embedder fails, how many keys it has. Waits at most five seconds for texts that have no vector yet."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLING_SECONDS):
                await self._open.catch_up.settle()
        store = self._open.store
        found = await store.check() if isinstance(store, ExaminesItself) else Checkup(findings=())
        if fault := self.state.embedder_fault:
            found = replace(found, findings=(*found.findings, ("embedder", f"gives no vectors: {fault}", False)))
        with suppress(StoreError):
            report = await self._open.store.ask(QueueState(today(self._clock)))
            said = extraction_findings(report, self._open.extraction_worker)
            found = replace(found, findings=(*found.findings, *said))
        try:
            keys = await self.keys.list()
        except StoreError:
            return replace(found, findings=(*found.findings, ("keys", "can't be read", False)))
        good = sum(key.holds(self._clock.now()) for key in keys)
        return replace(found, findings=(*found.findings, ("keys", f"{good} good, {len(keys) - good} ended", True)))

    async def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Makes vectors of the embedder in use for every text that has none (SEARCH-3). Returns how many it made."""
        store = self._open.store
        if not isinstance(store, EmbedsLater):
            raise StoreError("this store makes no vectors anew: export it, and restore it into a new one")
        return await store.reembed(progress)

    async def upgrade(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Brings what an earlier version stored into the form of this one: its long texts are divided into parts for search,
        and its sessions get their outlines.
        Opening begins that in the background and logs how far it is (logger `germane.store`); `upgrade` returns when it is
        done. `progress(done, total)` counts texts, then sessions. Returns how many were left to do. What is interrupted is
        taken up again when the store is opened next. Raises `StoreError`."""
        parts, store = self._open, self._open.store
        if store.read_only or not isinstance(store, Upgrades):
            return 0
        await parts.catch_up.close()
        try:
            return await store.upgrade(progress)
        finally:
            parts.catch_up.start()

    def __repr__(self) -> str:
        return f"<Germane {str(self._path)!r} {'not open' if self._parts is None else 'open'}>"

    @property
    def _open(self) -> Parts:
        if self._parts is None:
            raise StoreUnavailable(
                "this Germane isn't open: use  async with Germane.open(…) as germane:  or  germane = await Germane.open(…)"
            )
        return self._parts


# Forgetting of an org, or of one agent of it: the users of each agent come first, then what is agent-wide.


async def forget_org(parts: Parts, org: str, agent: str | None, *, dry_run: bool, by: str, reason: str) -> Receipt:
    """See `Germane.forget`. Each owner is forgotten in a commit of its own; a call that was interrupted is completed by the
    next one."""
    receipt = Receipt(dry_run=dry_run)
    if not dry_run:
        whole = parts.store.within(Scope(org=org) if agent is None else Scope(org=org, agent=agent))
        await whole.commit(note_forgotten(parts.clock.now(), whole_org=agent is None))
    for name in [agent] if agent is not None else await _agents(parts, org):
        scope = Scope(org=org, agent=name)
        for user in [*await _users(parts, scope), None]:
            owner = Agent(parts, Scope(org=org, agent=name, user=user))
            receipt = _both_receipts(receipt, await owner.forget(everything=True, dry_run=dry_run, by=by, reason=reason))
    return receipt


def _both_receipts(receipt: Receipt, more: Receipt) -> Receipt:
    """Both receipts as one; it says what was checked in each of them, and what the last one says of the files."""
    checked = more.checked if not receipt else tuple(place for place in receipt.checked if place in more.checked)
    ids: dict[str, Any] = {name: (*before, *getattr(more, name)) for name, before in receipt.by_kind().items()}
    return replace(more, **ids, checked=checked)


async def _agents(parts: Parts, org: str) -> list[str]:
    names, cursor = list[str](), None
    while True:
        page = await parts.store.ask(ListAgents(org, PAGE.maximum, cursor))
        names += [one.agent for one in page.agents]
        if (cursor := page.cursor) is None:
            return names


async def _users(parts: Parts, scope: Scope) -> list[str]:
    names, cursor = list[str](), None
    while True:
        page = await parts.store.within(scope).ask(ListUsers(PAGE.maximum, cursor))
        names += [one.user for one in page.users]
        if (cursor := page.cursor) is None:
            return names


# What the state and `germane doctor` say about the extraction with a language model. No content is in it.


_MAX_REASONS = 3
"""Reasons that `germane doctor` shows."""


def extraction_state(worker: ExtractionWorker) -> dict[str, Any]:
    """Returns the fields of `State` that a worker knows."""
    total, report, budget = worker.total, worker.report, worker.budget
    return {
        "llm_fault": total.stopped,
        "llm_calls": budget.calls,
        "llm_input_tokens": budget.input_tokens,
        "llm_output_tokens": budget.output_tokens,
        "llm_usage": report.usage,
        "extraction_waiting": report.waiting,
        "extraction_parked": report.parked,
        "extracted_memories": total.memories,
    }


def extraction_findings(report: QueueReport, worker: ExtractionWorker | None) -> tuple[tuple[str, str, bool], ...]:
    """Returns what `germane doctor` shows; nothing where no model is configured and nothing was ever parked or spent."""
    if worker is None and not (report.waiting or report.parked or report.usage):
        return ()
    calls = sum(used.calls for used in report.usage)
    said = f"{'no LLM' if worker is None else worker.llm.name}, {report.waiting} runs of messages waiting"
    said += f", {calls} calls and {report.tokens:,} tokens today"
    findings = [("extraction", said, True)]
    if worker is not None and worker.total.stopped:
        findings.append(("extraction waits", worker.total.stopped, False))
    if report.parked:
        reasons = "; ".join(f"{count} × {reason}" for reason, count in report.reasons[:_MAX_REASONS])
        findings.append(("extraction parked", f"{report.parked} runs: {reasons} (germane extract tries again)", False))
    return tuple(findings)
