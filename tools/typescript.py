"""Typescript: the made files of the TypeScript client, from the service's OpenAPI document.

    python -m tools.typescript

`types.d.ts` has the types of what is sent and answered, and the operations as methods; `operations.js` has their names. A test
compares both with what this module makes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from germane.api.operations import operations
from germane.service.http.openapi import document
from germane.service.http.routes import path_of

FOLDER = Path(__file__).parents[1] / "packages" / "typescript" / "src"
_HEAD = '// Made by tools/typescript.py from the OpenAPI document. To change it, run "make twins".\n'
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
Schema = Mapping[str, Any]


def made() -> dict[str, str]:
    """Returns the text of each made file, by its name."""
    found = json.loads(document())
    return {"types.d.ts": _types(found), "operations.js": _operations()}


def _operations() -> str:
    of_org = [name for name, one in operations().items() if one.declared.of_org]
    others = [name for name in operations() if name not in (*of_org, "assemble", "export")]
    return (
        f"{_HEAD}\n/** The operations of an agent, but for `assemble` and `export`. */\n"
        f"export const OPERATIONS = {json.dumps(others, indent=2)};\n\n"
        f"/** The operations on a whole org. */\nexport const OF_ORG = {json.dumps(of_org, indent=2)};\n"
    )


def _types(found: Schema) -> str:
    parts = [_HEAD]
    for name, schema in found["components"]["schemas"].items():
        parts.append(f"{_comment(schema.get('description', ''))}export interface {name} {_object(schema, '')}\n")
    methods: dict[str, Any] = {}
    of_org: dict[str, Any] = {}
    for name, one in operations().items():
        described = found["paths"][path_of(one)]["post"]
        holder = of_org if one.declared.of_org else methods
        *rooms, last = name.split(".")
        for room in rooms:
            holder = holder.setdefault(room, {})
        holder[last] = _method(described, streams=one.streams)
    parts.append(f"/** The operations of an agent. */\nexport interface AgentOperations {_tree(methods, '')}\n")
    parts.append(f"/** The operations on a whole org. */\nexport interface OrgOperations {_tree(of_org, '')}\n")
    names = " | ".join(json.dumps(name) for name in operations())
    parts.append(f"/** The names of all operations. */\nexport type Operations = {names};\n")
    return "\n".join(parts)


def _method(described: Schema, *, streams: bool) -> tuple[str, str]:
    """The comment and the signature of an operation, without its name."""
    body = described["requestBody"]["content"]["application/json"]["schema"]
    needed = "" if body.get("required") else "?"
    arguments = f"args{needed}: {_type(body, '    ')}" if body["properties"] else ""
    answer = described["responses"]["200"]["content"]
    if streams:
        return described["description"], f"({arguments}): AsyncGenerator<Record<string, unknown>>;"
    result = _type(answer["application/json"]["schema"], "")
    return described["description"], f"({arguments}): Promise<{result}>;"


def _tree(methods: Mapping[str, Any], indent: str) -> str:
    lines = ["{"]
    for name, one in methods.items():
        if isinstance(one, Mapping):
            lines.append(f"{indent}  {name}: {_tree(one, f'{indent}  ')};")
        else:
            comment, signature = one
            lines.append(f"{_comment(comment, f'{indent}  ')}{indent}  {name}{signature}")
    return "\n".join([*lines, f"{indent}}}"])


def _object(schema: Schema, indent: str) -> str:
    lines = ["{"]
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        comment = _comment(one.get("description", ""), f"{indent}  ") if isinstance(one, Mapping) else ""
        key = name if name.isidentifier() else json.dumps(name)
        lines.append(f"{comment}{indent}  {key}{'' if name in required else '?'}: {_type(one, f'{indent}  ')};")
    return "\n".join([*lines, f"{indent}}}"])


def _type(schema: Schema, indent: str) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one, indent) for one in schema["anyOf"]))
    if "allOf" in schema:
        return f"({_type(schema['allOf'][0], indent)} & {_object(schema, indent)})"
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_type(one, indent) for one in schema['prefixItems'])}]"
        return f"Array<{_type(schema.get('items', {}), indent)}>"
    if kind == "object":
        if "properties" in schema:
            return _object(schema, indent)
        return f"Record<string, {_type(schema.get('additionalProperties', {}), indent)}>"
    return _PLAIN.get(str(kind), "unknown")


def _comment(text: str, indent: str = "") -> str:
    return f"{indent}/** {text.replace('*/', '* /')} */\n" if text else ""


def main() -> None:
    """Writes the made files."""
    for name, text in made().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
