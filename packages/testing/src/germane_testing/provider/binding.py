"""Binding: thinking that the provider signed for the conversation in front of it, and what becomes of it elsewhere.

A signature holds a digest of what stood before the block (tools, system, messages, earlier blocks of its own message) and an
authentication code of both, so that it is checked without keeping anything. Not part of what stood before are the marks of the
prompt cache, other thinking, and a system message that is cleared after its turn; consecutive messages of a role are one, and a
text is the same as a block of that text.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias

from germane_testing.provider.fields import Body, listed
from germane_testing.provider.prompt_cache import canonical, unmarked
from germane_testing.provider.received import Refused

__all__ = ["Binding", "BoundPrefix", "Transformation", "binding_of", "checked_thinking", "opened", "signed"]

Binding: TypeAlias = Literal["enforced", "reported", "off"]
"""Whether a block whose prefix has changed is refused (or dropped, if the request says so), only reported, or taken."""
Transformation: TypeAlias = dict[str, str]
_MODELS: tuple[tuple[str, Binding], ...] = (
    ("claude-mythos-5-1", "off"),
    ("claude-fable-5", "enforced"),
    ("claude-opus-5-5", "enforced"),
    ("claude-", "reported"),
)
_KEY = b"germane-testing: a local provider"
_KINDS = ("thinking", "redacted_thinking")


def binding_of(model: str) -> Binding:
    """How a model's provider binds thinking: by the start of its name. OpenAI leaves out reasoning that is bound elsewhere."""
    return next((binding for start, binding in _MODELS if model.startswith(start)), "enforced")


class BoundPrefix:
    """The digest of a conversation as it grows, block by block."""

    __slots__ = ("_hash",)

    def __init__(self, tools: object, system: object) -> None:
        self._hash = sha256(canonical([unmarked(tools or []), unmarked(list(_blocks(system)))]))

    def add(self, role: object, block: Body) -> None:
        self._hash.update(b"\n" + canonical([role, unmarked(block)]))

    def digest(self) -> bytes:
        return self._hash.digest()


@dataclass(frozen=True, slots=True)
class Checked:
    """A body whose mismatched thinking is gone, what is told of it, and the prefix of the answer."""

    body: Body
    transformations: tuple[Transformation, ...]
    prefix: BoundPrefix


def signed(prefix: BoundPrefix, text: str) -> str:
    """Returns the signature of a block of thinking with this text behind this prefix."""
    digest = prefix.digest()
    return base64.b64encode(digest + _code(digest, text)).decode()


def opened(signature: object, text: str) -> bytes | None:
    """Returns the digest that a block of thinking was signed for; None where the signature isn't this provider's, or the text
    has changed."""
    try:
        raw = base64.b64decode(str(signature), validate=True)
    except ValueError:
        return None
    return raw[:32] if hmac.compare_digest(raw[32:], _code(raw[:32], text)) else None


def _code(digest: bytes, text: str) -> bytes:
    return hmac.digest(_KEY, digest + text.encode("utf-8", "surrogatepass"), "sha256")


def checked_thinking(body: Body, binding: Binding, *, drops: bool, held: int = 0) -> Checked:
    """Checks each block of thinking of a Messages request.

    With `drops` the blocks that are bound to another conversation go, each with the thinking that follows it in its message.
    Otherwise they raise `Refused` where the binding is enforced. `held` messages in front are the provider's own: the paths of
    what is told count from the first that was sent. Raises `Refused` for a changed block, and for one that isn't this
    provider's.
    """
    prefix = BoundPrefix(body.get("tools"), body.get("system"))
    told: list[Transformation] = []
    messages: list[Body] = []
    for index, message in enumerate(listed(body.get("messages"))):
        where = f"messages.{index - held}.content"
        messages.append(_passed(message, where, prefix, told.append, binding))
    if told and binding == "enforced" and not drops:
        path = told[0]["path"]
        said = "this thinking block is bound to a different conversation: system, tools or messages before it have changed"
        raise Refused(400, (f"{path}: {said}",))
    return Checked({**body, "messages": messages}, tuple(told), prefix)


def _passed(message: Body, where: str, prefix: BoundPrefix, tell: Callable[[Transformation], None], binding: Binding) -> Body:
    """Adds a message to the prefix, and returns it without the thinking that goes."""
    role, content = message.get("role"), message.get("content")
    if role == "system" and message.get("clear_at") == "next_user_message":
        return message
    kept: list[object] = []
    dropping = False
    for number, block in enumerate(_blocks(content)):
        if block.get("type") not in _KINDS:
            dropping = False
            prefix.add(role, block)
            kept.append(block)
            continue
        if binding != "off":
            text = str(block.get("thinking", ""))
            digest = opened(block.get("signature", block.get("data")), text)
            if digest is None:
                raise Refused(400, (f"{where}.{number}: Invalid `signature` in `thinking` block",))
            if digest != prefix.digest() or dropping:
                kind = "thinking_dropped" if binding == "enforced" else "thinking_mismatch_allowed"
                tell({"type": kind, "path": f"{where}.{number}", "reason": "prefix_binding_mismatch"})
                dropping = binding == "enforced"
                if dropping:
                    continue
        kept.append(block)
    return message if len(kept) == len(list(_blocks(content))) else {**message, "content": kept}


def _blocks(content: object) -> Iterator[Body]:
    """The blocks of a content, or of a system; a text is one block."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    yield from listed(content)
