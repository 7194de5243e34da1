# Made by tools/twins.py from the asynchronous classes. To change it, change those and run "make twins".
"""Blocking client: the client of the service for threads, otherwise the same as `germane.grpc.client`.

    with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = client.assemble(messages, model="gpt-4o", user="caroline")

Thread-safe. A call waits in the caller's own thread (see `germane/grpc/client/blocking_calls.py`). After a fork, a client that
has made calls works in the parent only: make a new client in each process.
"""

from __future__ import annotations

from germane.api.remote.blocking_handles import BlockingVerbs
from germane.grpc.client import rpcs
from germane.grpc.client.assembly import AssembleCall
from germane.grpc.client.blocking_calls import ClientCalls, never_raises


class Client(ClientCalls, BlockingVerbs):
    """A client of the service at `target`, an address such as `127.0.0.1:7411`.

    `org`, `agent` and `user` are the scope of calls that don't name another. `zone` is the time zone of naive datetimes.
    `limit` bounds a call of `assemble` in seconds, with connecting and writing the request; `patience` bounds any other call.
    `key` is an API key. TLS is on with `tls`, `roots`, `certificate` (with `certificate_key`) or `server_name`; without TLS a
    key is sent to this machine only, unless `plaintext` allows other hosts too, for networks that are trusted or encrypt by
    themselves. After `breaker` calls in a row that hung, no call is made for `cooldown` seconds; 0 switches that off.

    Raises `InvalidInput` for an argument that can't be used. A server that can't be reached isn't an error here.
    """

    assemble = never_raises(AssembleCall)

    def check(self, *, model: str = "gpt-4o", strategy: str | None = None) -> None:
        """For the start of a program: returns where the service answers, accepts the key for this org and agent, and knows the
        strategy; injects nothing. Raises what is wrong, and what to do: `StoreUnavailable`, else `InvalidInput`."""
        self.run(rpcs.check(self.scope, model=model, strategy=strategy))

    def directive(self, text: str | None = None) -> str:
        """Returns the agent's standing instructions. A text replaces them first; an empty one removes them."""
        if text is None:
            return super().directive()
        return self.set_directive(text)
