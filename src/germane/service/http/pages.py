"""Pages: the document of the API and the page to try it, which need no key and hold nothing that is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from types import MappingProxyType

from germane.service.http.openapi import document
from germane.service.http.routes import ROOT

_FILES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        f"{ROOT}/docs": ("docs.html", "text/html; charset=utf-8"),
        f"{ROOT}/docs/docs.css": ("docs.css", "text/css; charset=utf-8"),
        f"{ROOT}/docs/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    }
)
_DOCUMENT = f"{ROOT}/openapi.json"
_GUARD = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"


async def page(method: str, path: bytes) -> tuple[dict[str, str], bytes] | None:
    """Returns headers and body of the page with this path; None where none has it."""
    name = path.decode("ascii", "replace")
    if method not in ("GET", "HEAD"):
        return None
    if name == _DOCUMENT:
        body, kind = await asyncio.to_thread(document), "application/json"
    elif name in _FILES:
        body, kind = await asyncio.to_thread(_read, _FILES[name][0]), _FILES[name][1]
    else:
        return None
    headers = {"content-type": kind, "etag": f'"{blake2b(body, digest_size=8).hexdigest()}"', "cache-control": "no-cache"}
    return headers | {"content-security-policy": _GUARD, "x-content-type-options": "nosniff"}, body


@cache
def _read(name: str) -> bytes:
    return (files("germane.service.http") / "page" / name).read_bytes()
