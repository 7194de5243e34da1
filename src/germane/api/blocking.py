"""Blocking: the bases of the classes of `germane.sync`, and those of their methods that no signature tells.

`tools/twins.py` makes the other methods from the asynchronous classes. What a base below defines, it leaves out.
"""

from __future__ import annotations

from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from germane.api.agent import Agent
from germane.api.builder.builder import BuilderSteps
from germane.api.germane import Germane
from germane.api.workers.threads import Loop
from germane.errors import StoreUnavailable
from germane.types.scope import Scope

if TYPE_CHECKING:
    from germane.api.builder.builder import BuiltRequest
    from germane.api.remote.blocking_http import RemoteGermane
    from germane.api.remote.operation_call import Pem
    from germane.engine.engine import State
    from germane.kinds.tasks.handle import Delegation


class BlockingTwin:
    """Forwards its calls to `awaited` on the event loop of `loop`."""

    def __init__(self, awaited: Any, loop: Loop) -> None:
        self._awaited, self._loop = awaited, loop

    def __repr__(self) -> str:
        return repr(self._awaited)


class BlockingGermane:
    """The part of the blocking `Germane` that opens and closes it. `_awaited` and `_loop` open it where it isn't open yet, so
    that each made method does so by itself."""

    def __init__(self, awaited: Germane) -> None:
        if not isinstance(awaited, Germane):
            raise TypeError("a Germane is opened, not called: use  germane = Germane.open(path)")
        self._germane = awaited
        self._running: Loop | None = None
        self._closed, self._lock = False, Lock()

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

        Opened with `with Germane.connect(…) as germane:`. Connects at the first call. Raises `InvalidInput`, and
        `MissingExtra` without aiohttp."""
        from germane.api.remote.blocking_http import RemoteGermane as Remote

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

    def __enter__(self) -> Self:
        with self._lock:
            self._closed = False
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Writes the counts and records that still wait, and closes everything that was opened here. A caller's embedder isn't
        closed. Idempotent."""
        with self._lock:
            loop, self._running, self._closed = self._running, None, True
        if loop is not None:
            loop.close()

    @property
    def state(self) -> State:
        """How this process is doing: circuit breakers, admission queue, caches, abandoned tasks, an embedder that fails.
        Cheap."""
        return self._loop.call(self._state)

    def __repr__(self) -> str:
        return repr(self._germane)

    async def _state(self) -> State:
        return self._germane.state

    @property
    def _awaited(self) -> Germane:
        self._open()
        return self._germane

    @property
    def _loop(self) -> Loop:
        return self._open()

    def _open(self) -> Loop:
        """Returns the loop, which the first call starts. Raises what opening raises."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable("this Germane is closed: open it anew, with  Germane.open(…)")
            if self._running is None:
                self._running = Loop(self._germane)
            return self._running


class BlockingAgent(BlockingTwin):
    """The part of the blocking `Agent` that has no method to forward to."""

    _awaited: Agent

    def __init__(self, awaited: Agent, loop: Loop) -> None:
        super().__init__(awaited, loop)
        self.scope: Scope = awaited.scope

    def within(self, *, user: str | None) -> Self:
        """Returns the handle on the same agent with another user, or with none. Costs next to nothing. Raises
        `InvalidInput`."""
        return type(self)(self._awaited.within(user=user), self._loop)

    def builder(self) -> Builder:
        """Returns a builder of whole requests: instructions, blocks, tools and their rules, history, what is remembered."""
        build, loop = self._awaited.builder().carry_out, self._loop
        return Builder(lambda plan: loop.call(build, plan), zone=self.scope.zone)


class Builder(BuilderSteps):
    """As `germane.api.builder.builder.Builder`; `build` blocks."""

    __slots__ = ()

    def build(self) -> BuiltRequest:
        built: BuiltRequest = self.carry_out(self._plan)
        return built


class BlockingDelegation(BlockingTwin):
    """The part of the blocking `Delegation` with its values."""

    _awaited: Delegation

    def __init__(self, awaited: Delegation, loop: Loop) -> None:
        super().__init__(awaited, loop)
        self.frame, self.scope, self.context = awaited.frame, awaited.scope, awaited.context
        self.messages, self.system = awaited.messages, awaited.system
