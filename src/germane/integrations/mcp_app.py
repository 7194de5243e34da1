"""MCP App: the page inside an MCP client that shows why `recall` answered as it did.

It shows what was used and left out, with the reasons, the parts of each score, where a thing comes from, and what can be done
with it. The page is one document without any address of elsewhere. A client that shows such pages asks for it by its URI; the
figures come in the metadata of an answer of `recall`, which models don't read. Other clients get none.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from mcp.server.apps import Apps

from germane.kinds.remote_values import ConsideredThing, RemoteContext
from germane.text.normal import visible
from germane.types.codec import encode

WHY_URI = "ui://germane/why"
"""The URI of the page."""
WHY_KEY = "germane/why"
"""The key in the metadata of an answer."""
_QUERY_CHARACTERS = 300
_GUARD = "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'"


def why_app() -> Apps:
    """Returns the extension that offers the page."""
    apps = Apps()
    apps.add_html_resource(WHY_URI, page(), name="why", title="Why these memories", prefers_border=True)
    return apps


def told(query: str, max_tokens: int, context: RemoteContext) -> dict[str, Any]:
    """Returns what the page shows of a context that was built for `query`, as JSON. No text in it has characters that can't be
    seen or that change the order of others."""
    return {
        "query": visible(query[:_QUERY_CHARACTERS]),
        "max_tokens": max_tokens,
        "token_count": context.token_count,
        "fallback_reason": context.fallback_reason,
        "considered": [encode(_visible(one)) for one in context.considered],
        "unlisted": context.unlisted,
    }


def _visible(one: ConsideredThing) -> ConsideredThing:
    session = None if one.session is None else visible(one.session)
    return replace(one, text=visible(one.text), speaker=visible(one.speaker), role=visible(one.role), session=session)


@cache
def page() -> str:
    """Returns the page. Its policy allows its own script and style by their hashes, and nothing else."""
    html, style, script = (_read(f"why.{kind}") for kind in ("html", "css", "js"))
    guard = _GUARD.format(script=_hash(script), style=_hash(style))
    for mark, text in (("GUARD", guard), ("STYLE", style), ("SCRIPT", script)):
        html = html.replace(mark, text, 1)
    return html


def _read(name: str) -> str:
    return (files("germane.integrations") / "page" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
