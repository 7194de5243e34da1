"""Own readers: the functions that tell whose words a message has, for `bench/readers.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from germane.text.own_words.introductions import (
    begins_prompt,
    foreign_from,
    handed_at,
    marked_lines_hidden,
    names_text,
    opens_text,
    shown_hidden,
)
from germane.text.own_words.own_words import level_text, own_sentences, unquoted_sentences
from germane.text.own_words.own_words import own_words as own_part
from germane.text.own_words.pastes import pastes_hidden
from germane.text.own_words.quotations import (
    is_table,
    kind_of,
    persons_in,
    quotes_hidden,
    regions,
    without_elements,
    without_fences,
)

__all__ = ["OWN_READERS"]

OWN_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "text.own_words.quotations.regions": lambda text: (
            regions(text, for_task=True),
            regions(f"<a>{text}</a> <task>{text}", for_task=False),
        ),
        "text.own_words.quotations.without_elements": lambda text: without_elements(f"<a>{text}<a>"),
        "text.own_words.own_words.level_text": lambda text: (
            level_text(text),
            level_text(f"I live in {text} I work {text} full stop"),
        ),
        "text.own_words.quotations.kind_of": lambda text: [
            kind_of(one, one.lower()) for one in (text, f"On {text}", f"Dear {text}", f"1. {text}")
        ],
        "text.own_words.quotations.is_table": lambda text: is_table(text, f"a,{text}"),
        "text.own_words.quotations.persons_in": persons_in,
        "text.own_words.own_words.own_words": lambda text: [
            own_part(one) for one in (text, f"Translate {text}: a", f"{text}\n\nIs this ok?")
        ],
        "text.own_words.own_words.own_sentences": lambda text: [own_sentences(one) for one in (text, f"I {text}.\n{text}")],
        "text.own_words.own_words.unquoted_sentences": unquoted_sentences,
        "text.own_words.introductions.begins_prompt": lambda text: begins_prompt(f"you are a {text}"),
        "text.own_words.introductions.handed_at": lambda text: handed_at(f"translate {text}: {text}"),
        "text.own_words.introductions.names_text": lambda text: names_text(f"my {text}"),
        "text.own_words.introductions.opens_text": lambda text: opens_text(f"is this {text}"[:200]) or opens_text(text),
        "text.own_words.introductions.foreign_from": lambda text: [
            foreign_from(one, one.lower(), opens=True, for_task=False)
            for one in (text, f"Is this review {text}? {text}", f"Hi Ann, {text}. Best, Jo", f"A: {text} B: {text} A: b")
        ],
        "text.own_words.introductions.shown_hidden": lambda text: shown_hidden(
            f"{text}. what is wrong with this {text}?", for_task=False
        ),
        "text.own_words.introductions.marked_lines_hidden": lambda text: marked_lines_hidden(f"a\n{text}: a"),
        "text.own_words.pastes.pastes_hidden": lambda text: [
            pastes_hidden(one, for_task=strict)
            for one in (text, f"Hi Ann,\n{text}\n\nBest,\n{text}", f"I {text}: {text}\n\n{text}?")
            for strict in (False, True)
        ],
        "text.own_words.quotations.quotes_hidden": quotes_hidden,
        "text.own_words.quotations.without_fences": without_fences,
    }
)
