"""Client: the asyncio client of the service, whose `assemble` answers in time and never raises.

    async with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = await client.assemble(messages, model="gpt-4o", user="caroline")

Whatever goes wrong in `assemble`, the answer holds the caller's own messages and a reason: `grpc_error:<CODE>` for a gRPC
status, `client_error:<what>` for a failure inside the client, `client_breaker_open` while calls are stopped because the
server hangs. Only the cancellation of the caller's own task and the interpreter's exit exceptions pass through. The client
never retries. The other methods raise germane's errors.

One client serves one event loop and any number of tasks; `germane.grpc.blocking` has the same client for threads. Neither
loads the engine, a store, or numpy.
"""

from __future__ import annotations

from germane.api.remote.handles import ClientVerbs
from germane.grpc.client import rpcs
from germane.grpc.client.assembly import AssembleCall
from germane.grpc.client.asyncio_calls import ClientCalls, never_raises


class Client(ClientCalls, ClientVerbs):
    """A client of the service at `target`, an address such as `127.0.0.1:7411`.

    `org`, `agent` and `user` are the scope of calls that don't name another. `zone` is the time zone of naive datetimes.
    `limit` bounds a call of `assemble` in seconds, with connecting and writing the request; `patience` bounds any other call.
    `key` is an API key. TLS is on with `tls`, `roots`, `certificate` (with `certificate_key`) or `server_name`; without TLS a
    key is sent to this machine only, unless `plaintext` allows other hosts too, for networks that are trusted or encrypt by
    themselves. After `breaker` calls in a row that hung, no call is made for `cooldown` seconds; 0 switches that off.

    Raises `InvalidInput` for an argument that can't be used. A server that can't be reached isn't an error here.
    """

    assemble = never_raises(AssembleCall)

    async def check(self, *, model: str = "gpt-4o", strategy: str | None = None) -> None:
        """For the start of a program: returns where the service answers, accepts the key for this org and agent, and knows the
        strategy; injects nothing. Raises what is wrong, and what to do: `StoreUnavailable`, else `InvalidInput`."""
        await self.run(rpcs.check(self.scope, model=model, strategy=strategy))

    async def directive(self, text: str | None = None) -> str:
        """Returns the agent's standing instructions. A text replaces them first; an empty one removes them."""
        if text is None:
            return await super().directive()
        return await self.set_directive(text)
