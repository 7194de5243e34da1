"""The document of the API: valid OpenAPI, true of every operation, with examples that can be sent."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from germane.api.operations import operations
from germane.service.http.examples import example_of
from germane.service.http.openapi import document
from germane.service.http.routes import path_of
from support.http_api import HttpApi, serving_api
from support.listening import opened

pytestmark = pytest.mark.requirement("HTTP-1")


@pytest.fixture(scope="module")
def whole() -> Any:
    return json.loads(document())


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[HttpApi]:
    async with opened(tmp_path) as germane, serving_api(germane) as served:
        yield served


def test_the_document_is_openapi(whole: Any) -> None:
    """3.1, by its own schema; every reference leads somewhere."""
    OpenAPIV31SpecValidator(whole).validate()
    named = set(re.findall(r"#/components/schemas/(\w+)", document().decode()))
    assert named == set(whole["components"]["schemas"]) & named
    assert {*whole["paths"]} == {path_of(operation) for operation in operations().values()}
    assert all(("get" in methods) == (operation.right == "read") for methods, operation in _with_operations(whole))


def _with_operations(whole: Any) -> list[tuple[Any, Any]]:
    return [(whole["paths"][path_of(operation)], operation) for operation in operations().values()]


@pytest.mark.parametrize("name", operations())
def test_an_example_is_what_the_operation_takes(whole: Any, name: str) -> None:
    """By the table, and by the document's own schema."""
    operation = operations()[name]
    example = example_of(operation)
    operation.arguments(example)
    body = whole["paths"][path_of(operation)]["post"]["requestBody"]["content"]["application/json"]
    assert body["example"] == example
    _valid(whole, body["schema"], example)


async def test_what_is_answered_is_what_the_document_says(whole: Any, api: HttpApi) -> None:
    """Every operation's example, one after the other on one store: the answer fits its schema, or is a problem."""
    answered = 0
    for name, operation in operations().items():
        found = await api.raw("POST", path_of(operation).replace("{agent}", "support") + "?org=acme", example_of(operation))
        described = whole["paths"][path_of(operation)]["post"]["responses"]
        assert str(found.status) in described, (name, found.json)
        if found.status == 200:
            answered += 1
        if found.status == 200 and not operation.streams:
            _valid(whole, described["200"]["content"]["application/json"]["schema"], found.json)
        elif found.status != 200:
            assert found.status in (404, 409) or name in _REFUSED, (name, found.json)
            _valid(whole, {"$ref": "#/components/schemas/Problem"}, found.json)
    assert answered > len(operations()) // 2


_REFUSED = {
    "extract": "no language model is configured",
    "tasks.fail": "the task was finished before",
    "tasks.block": "the task was finished before",
    "tasks.resume": "the task was finished before",
    "tasks.inject": "the branch is the running one",
}
"""Operations whose example the store refuses in this order, and why."""


def _valid(whole: Any, schema: Any, value: Any) -> None:
    resolved = {**schema, "components": whole["components"]}
    Draft202012Validator(resolved).validate(value)


async def test_the_page_needs_nothing_from_elsewhere(api: HttpApi) -> None:
    """Its files come from the service, and it may load from nowhere else."""
    shown = await api.raw("GET", "/v1/docs")
    assert (shown.status, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    for path in re.findall(r'(?:src|href)="([^":]+)"', shown.body.decode()):
        assert (await api.raw("GET", f"/v1/{path}")).status == 200
    assert b"http" not in shown.body.replace(b"http-equiv", b"")
    told = await api.raw("GET", "/v1/openapi.json")
    assert told.json["openapi"] == "3.1.0"
    assert (await api.raw("HEAD", "/v1/openapi.json")).headers["content-length"] == str(len(told.body))
    assert (await api.raw("POST", "/v1/docs")).status == 404
