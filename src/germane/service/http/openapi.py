"""OpenAPI: the document (3.1) of every operation under `/v1`, made from the table of operations and their annotations, and the
page to try them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from inspect import Parameter
from types import MappingProxyType
from typing import Any

from germane.api.operations import Operation, listed_hint, operations
from germane.service.http.answers import EVENTS, LINES
from germane.service.http.examples import AGENT, USER, example_of
from germane.service.http.routes import ROOT, methods_of, path_of
from germane.types.codec import encode
from germane.types.json_schema import Schema, Schemas
from germane.types.json_text import write_json

_SCHEMAS = "#/components/schemas/"
_JSON = "application/json"
_PROBLEM = "application/problem+json"
_AGENT_IN_PATH = {"$ref": "#/components/parameters/agent"}
_SCOPE: tuple[Mapping[str, str], ...] = tuple({"$ref": f"#/components/parameters/{name}"} for name in ("user", "zone", "org"))
_STATUSES: Mapping[str, str] = {
    "400": "A value can't be used; `path` names it.",
    "401": "No API key that holds.",
    "403": "The key doesn't allow it, or it needs a permission or a consent.",
    "404": "No such thing in this scope.",
    "409": "Something else is stored there.",
    "412": "It was changed since it was read (`If-Match`).",
    "429": "Too many calls are under way.",
    "503": "The store can't be reached now.",
}


@cache
def document() -> bytes:
    """Returns the document as JSON."""
    results = Schemas(_SCHEMAS, written=True)
    for operation in operations().values():
        if not operation.streams:
            results.of(operation.result)
    inputs = Schemas(_SCHEMAS, taken=results.definitions)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations().values():
        paths[path_of(operation)] = _path(operation, inputs, results)
    return write_json(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "germane",
                "version": version("germane"),
                "summary": "A context assembly engine for LLM agents",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "security": [{"bearer": []}, {"key": []}, {}],
            "tags": [{"name": tag} for tag in sorted({_tag(one) for one in operations().values()})],
            "paths": paths,
            "components": {
                "securitySchemes": {
                    "bearer": {"type": "http", "scheme": "bearer"},
                    "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                },
                "parameters": _parameters(),
                "responses": {
                    f"Problem{code}": {
                        "description": said,
                        "content": {_PROBLEM: {"schema": {"$ref": f"{_SCHEMAS}Problem"}}},
                    }
                    for code, said in _STATUSES.items()
                },
                "schemas": {"Problem": _problem(), **results.definitions, **inputs.definitions},
            },
        }
    )


def _path(operation: Operation, inputs: Schemas, results: Schemas) -> dict[str, Any]:
    scope = [*([] if operation.declared.of_org else [_AGENT_IN_PATH]), *_SCOPE]
    summary, described = _said(operation)
    shared = {
        "tags": [_tag(operation)],
        "summary": summary,
        "description": described,
        "responses": {
            "200": _result(operation, results),
            **{code: {"$ref": f"#/components/responses/Problem{code}"} for code in _STATUSES},
        },
    }
    body = _body(operation, inputs)
    name = operation.name.replace(".", "_")
    found: dict[str, Any] = {"parameters": scope}
    if "GET" in methods_of(operation):
        found["get"] = {"operationId": f"{name}_get", **shared, "parameters": _in_query(operation, body)}
    conditional = [{"$ref": "#/components/parameters/if_match"}] if "if_hash" in operation.parameters else []
    required = bool(body.get("required"))
    example = {"example": example_of(operation)}
    found["post"] = {
        "operationId": name,
        **shared,
        **({"parameters": conditional} if conditional else {}),
        "requestBody": {"required": required, "content": {_JSON: {"schema": body, **example}}},
    }
    return found


def _result(operation: Operation, results: Schemas) -> dict[str, Any]:
    if operation.streams:
        line = {"schema": {"type": "object"}}
        return {"description": "One JSON object after the other.", "content": {LINES: line, EVENTS: line}}
    return {
        "description": "The result.",
        "content": {_JSON: {"schema": results.of(operation.result)}},
        "headers": {"etag": {"schema": {"type": "string"}}},
    }


def _body(operation: Operation, inputs: Schemas) -> Schema:
    """The schema of the arguments as one object."""
    properties, required = dict[str, Schema](), list[str]()
    for name, parameter in operation.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            properties[name] = {"type": "object", "description": "Fields by name."}
            continue
        schema = inputs.of(listed_hint(parameter, operation.hints[name]))
        if parameter.default is Parameter.empty:
            if parameter.kind is not Parameter.VAR_POSITIONAL:
                required.append(name)
        elif parameter.default is not None:
            schema = {**schema, "default": encode(parameter.default)}
        properties[name] = schema
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _in_query(operation: Operation, body: Schema) -> list[dict[str, Any]]:
    """The arguments as fields of the query: what isn't text or a list of texts is written as JSON."""
    example = example_of(operation)
    found = []
    for name, schema in body["properties"].items():
        one: dict[str, Any] = {"name": name, "in": "query", "required": name in body.get("required", ())}
        simple = "$ref" not in str(schema) and "object" not in str(schema)
        shown = {"schema": schema, **({"example": example[name]} if name in example else {})}
        one |= shown if simple else {"content": {_JSON: shown}}
        found.append(one)
    return found


def _said(operation: Operation) -> tuple[str, str]:
    """The first sentence of the method's docstring, and the whole of it."""
    text = " ".join(inspect.cleandoc(operation.method.__doc__ or operation.name).split())
    return text.partition(". ")[0].rstrip(".") + ".", text


def _tag(operation: Operation) -> str:
    return operation.attribute or "agent"


def _parameters() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "agent": {"name": "agent", "in": "path", "required": True, "schema": text, "example": AGENT},
        "user": {
            "name": "user",
            "in": "query",
            "schema": text,
            "example": USER,
            "description": "The user whose data the call is about; without it, what belongs to the agent.",
        },
        "zone": {
            "name": "zone",
            "in": "query",
            "schema": text,
            "example": "Europe/Berlin",
            "description": "The user's time zone, by which times without one are read. UTC by default.",
        },
        "org": {
            "name": "org",
            "in": "query",
            "schema": text,
            "description": "The org; the key's by default, and `default` where the service asks for no keys.",
        },
        "if_match": {
            "name": "If-Match",
            "in": "header",
            "schema": text,
            "description": "The ETag of what was read: the edit fails with 412 where the content is another by now.",
        },
    }


def _problem() -> Schema:
    text = {"type": "string"}
    return {
        "type": "object",
        "description": "Why a request was refused (RFC 9457).",
        "properties": {
            "type": text,
            "title": text,
            "status": {"type": "integer"},
            "detail": text,
            "path": {**text, "description": "The argument's place, such as `messages[3].role`."},
            "advice": {**text, "description": "What to do."},
        },
        "required": ["type", "title", "status", "detail"],
    }


# The document and the page to try it. They need no key and hold nothing that is stored.


_FILES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        f"{ROOT}/docs": ("docs.html", "text/html; charset=utf-8"),
        f"{ROOT}/docs/docs.css": ("docs.css", "text/css; charset=utf-8"),
        f"{ROOT}/docs/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    }
)
_DOCUMENT = f"{ROOT}/openapi.json"
_GUARD = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    " frame-ancestors 'none'"
)


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
