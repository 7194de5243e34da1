"""Stored responses: what the provider holds for the Responses API, responses and conversations, by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from germane_testing.provider.answering import Ids
from germane_testing.provider.delivery import Event
from germane_testing.provider.fields import Body, listed, mapping
from germane_testing.provider.received import Refused

__all__ = ["Conversation", "StoredResponse", "StoredResponses", "input_items"]

_STAGES = {"queued": "in_progress", "in_progress": "completed"}


@dataclass(slots=True)
class StoredResponse:
    """A response, the items that stand in front of it and its own input; `events` are those of its stream."""

    body: Body
    before: list[Body]
    input: list[Body]
    events: Sequence[Event] = ()
    background: bool = False
    stage: str = "completed"

    @property
    def items(self) -> list[Body]:
        """The conversation up to the end of the response."""
        return [*self.before, *self.input, *listed(self.body.get("output"))]

    def shown(self) -> Body:
        """The response as it is read: one that runs in the background is queued, in progress, and completed in turn."""
        shown = self.body if self.stage == "completed" else {**self.body, "status": self.stage, "output": [], "usage": None}
        if self.stage == "cancelled":
            return {**shown, "status": "cancelled"}
        self.stage = _STAGES.get(self.stage, self.stage)
        return shown


@dataclass(slots=True)
class Conversation:
    body: Body
    items: list[Body]


@dataclass(slots=True)
class StoredResponses:
    """The responses and conversations that the provider holds. `forget` makes it lose a response."""

    ids: Ids
    responses: dict[str, StoredResponse] = field(default_factory=dict)
    conversations: dict[str, Conversation] = field(default_factory=dict)
    item_ids: set[str] = field(default_factory=set)
    """The ids of all items that were ever stored."""

    def forget(self, id: str | None = None) -> None:
        """Loses the response, or all: `previous_response_id` of it is answered `previous_response_not_found`."""
        if id is None:
            self.responses.clear()
        else:
            self.responses.pop(id, None)

    def before(self, body: Body, own: Iterable[tuple[str, StoredResponse]] = ()) -> list[Body]:
        """The items that the provider has in front of a request. `own` are the responses of a WebSocket that weren't stored.
        Raises `Refused`."""
        previous = body.get("previous_response_id")
        if previous is not None:
            found = self.responses.get(str(previous)) or dict(own).get(str(previous))
            if found is None:
                said = f"Previous response with id '{previous}' not found."
                raise Refused(400, (said,), "previous_response_not_found")
            return found.items
        asked = body.get("conversation")
        if asked is not None:
            return self.conversation(mapping(asked).get("id") if isinstance(asked, dict) else asked).items
        return []

    def conversation(self, id: object) -> Conversation:
        """Raises `Refused`."""
        found = self.conversations.get(str(id))
        if found is None:
            raise Refused(404, (f"Conversation with id '{id}' not found.",), "conversation_not_found")
        return found

    def response(self, id: str) -> StoredResponse:
        """Raises `Refused`."""
        found = self.responses.get(id)
        if found is None:
            raise Refused(404, (f"Response with id '{id}' not found.",))
        return found

    def keep(self, asked: Body, response: StoredResponse) -> None:
        """Keeps a response where the request says so, which is the default, and adds it to its conversation."""
        if asked.get("store") is not False:
            self.responses[str(response.body["id"])] = response
            self.item_ids.update(str(item.get("id")) for item in (*response.input, *listed(response.body.get("output"))))
        if response.body.get("conversation") is not None:
            held = self.conversation(mapping(response.body["conversation"]).get("id"))
            held.items += [*response.input, *listed(response.body.get("output"))]

    def route(self, method: str, parts: Sequence[str], body: Body) -> Body | None:
        """The answers of `/responses/{id}…` and `/conversations…`, but for the stream of a response. None for any other path.
        Raises `Refused`."""
        match method, *parts:
            case "GET", "responses", id:
                return self.response(id).shown()
            case "DELETE", "responses", id:
                self.response(id)
                self.forget(id)
                return {"id": id, "object": "response", "deleted": True}
            case "POST", "responses", id, "cancel":
                found = self.response(id)
                if not found.background:
                    raise Refused(400, ("Only responses created with background: true can be cancelled.",))
                found.stage = found.stage if found.stage == "completed" else "cancelled"
                return found.shown()
            case "GET", "responses", id, "input_items":
                return _list([*self.response(id).before, *self.response(id).input][::-1])
            case "POST", "conversations":
                id = self.ids("conv_")
                made = {"id": id, "object": "conversation", "created_at": 1_700_000_000, "metadata": body.get("metadata") or {}}
                self.conversations[id] = Conversation(made, self.with_ids(listed(body.get("items"))))
                return made
            case "GET", "conversations", id:
                return self.conversation(id).body
            case "DELETE", "conversations", id:
                self.conversation(id)
                del self.conversations[id]
                return {"id": id, "object": "conversation.deleted", "deleted": True}
            case "GET", "conversations", id, "items":
                return _list(self.conversation(id).items[::-1])
            case "POST", "conversations", id, "items":
                added = self.with_ids(listed(body.get("items")))
                self.conversation(id).items += added
                return _list(added)
            case _:
                return None

    def with_ids(self, items: Sequence[Body]) -> list[Body]:
        """The items as the provider holds them, each with an id and its type."""
        prefixes = {"message": "msg_", "function_call": "fc_", "reasoning": "rs_"}
        kept = []
        for item in items:
            kind = str(item.get("type", "message"))
            item = {"type": kind, **item}
            if kind == "message" and isinstance(item.get("content"), str):
                spoken = "output_text" if item.get("role") == "assistant" else "input_text"
                item["content"] = [{"type": spoken, "text": item["content"]}]
            kept.append({"id": self.ids(prefixes.get(kind, "item_")), **item})
        return kept


def input_items(body: Body) -> list[Body]:
    """The items of a request's `input`; a text is a message of the user."""
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else listed(given)


def _list(items: Sequence[Body]) -> Body:
    first, last = (str(items[0]["id"]), str(items[-1]["id"])) if items else ("", "")
    return {"object": "list", "data": list(items), "first_id": first, "last_id": last, "has_more": False}
