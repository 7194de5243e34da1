"""Graph readers: the functions of the graph that read untrusted text, for `bench/readers.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from germane.extraction.entities.days import date_key, hide_dates
from germane.extraction.entities.entities import extract_entities, has_unspaced, unspaced_names
from germane.extraction.entities.relations import extract_relations
from germane.extraction.entities.shapes import hide_phrases
from germane.extraction.entities.tokens import is_tool, without_ending
from germane.extraction.llm.entities import UnusableGraph, accepted_graph, graph_question, sent_text
from germane.kinds.graph.aliases import index_keys, lookup_keys, name_key, resolve
from germane.kinds.graph.name_forms import (
    first_forms,
    fits_organisation,
    fits_person,
    http_status,
    place_alias,
    tool_alias,
    without_legal_form,
    without_titles,
)
from germane.kinds.graph.value import ENTITY_TYPES

__all__ = ["GRAPH_READERS", "GRAPH_UNREAD"]


def _accepted(answer: str, said: str) -> object:
    try:
        return accepted_graph(answer, said, speaker="Ana")
    except UnusableGraph:
        return None


def _listed(text: str) -> str:
    """A language model's answer that is made of this text."""
    relation = {"source": text, "type": "knows", "target": "speaker", "quote": text, "confidence": 1}
    return json.dumps({"entities": [{"type": "person", "names": [text]}], "relations": [relation]})


def _related(text: str) -> object:
    said = f"Anna's {text} and `a.py` in {text} my sister Anna {text} works at Siemens since {text}"
    return extract_relations(said, extract_entities(said, speaker=text[:80]), speaker="Ana")


GRAPH_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "kinds.graph.aliases.name_key": lambda text: [name_key(text, type) for type in ("", *ENTITY_TYPES)],
        "kinds.graph.aliases.index_keys": lambda text: [index_keys(text, type) for type in ENTITY_TYPES],
        "kinds.graph.aliases.lookup_keys": lambda text: [lookup_keys(text, type) for type in ENTITY_TYPES],
        "kinds.graph.aliases.resolve": lambda text: [resolve(text, type, {}) for type in ENTITY_TYPES],
        "kinds.graph.name_forms.first_forms": first_forms,
        "kinds.graph.name_forms.fits_organisation": lambda text: (
            fits_organisation(text, "a b"),
            fits_organisation(text, text),
        ),
        "kinds.graph.name_forms.fits_person": lambda text: (fits_person(text, [text]), fits_person("anna", [text])),
        "kinds.graph.name_forms.http_status": http_status,
        "kinds.graph.name_forms.place_alias": place_alias,
        "kinds.graph.name_forms.tool_alias": tool_alias,
        "kinds.graph.name_forms.without_legal_form": without_legal_form,
        "kinds.graph.name_forms.without_titles": without_titles,
        "extraction.entities.days.date_key": date_key,
        "extraction.entities.days.hide_dates": lambda text: hide_dates(f"7 May 2023 {text}", []),
        "extraction.entities.entities.extract_entities": lambda text: (
            extract_entities(text, speaker=text[:99]),
            extract_entities(f"$ git\n`{text}` 2023 http://{text} Dear Anna {text} works at {text}"),
        ),
        "extraction.entities.tokens.is_tool": is_tool,
        "extraction.entities.tokens.without_ending": without_ending,
        "extraction.entities.relations.extract_relations": _related,
        "extraction.entities.shapes.hide_phrases": lambda text: hide_phrases(f"http://{text} a@{text} HTTP 4{text}", []),
        "extraction.entities.entities.has_unspaced": has_unspaced,
        "extraction.entities.entities.unspaced_names": lambda text: list(unspaced_names(f"東京{text}さん")),
        "extraction.llm.entities.graph_question": lambda text: graph_question(text, speaker=text, nonce="n"),
        "extraction.llm.entities.sent_text": sent_text,
        "extraction.llm.entities.accepted_graph": lambda text: (_accepted(text, "a"), _accepted(_listed(text), text)),
    }
)

_OF_CODE = "given by germane's own code"
_PROTOCOL = "a protocol"
GRAPH_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "extraction.entities.tokens.cue": _OF_CODE,
        "extraction.entities.tokens.folded": _OF_CODE,
        "extraction.entities.tokens.stemmed": _OF_CODE,
        "extraction.entities.tokens.words": _OF_CODE,
    }
)
