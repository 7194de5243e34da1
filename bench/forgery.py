"""Forgery: checks that stored content can't imitate the structure that germane writes (FORMAT-3).

Generates hostile contents, ids, labels, categories and directives from a seed, renders them in every format, and parses the
result, unchanged and after NFKC and NFKD normalisation. The parsed structure must be exactly the intended one; an element more
or fewer is a forgery. With 0 forgeries in N trials the true rate is below 3/N at 95 % confidence.

    python -m bench.forgery --count 100000 [--seed 1] [--blns naughty-strings.json] [--blocks]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from germane.stages.gather.builtin import RECENT
from germane.stages.write.formats import DIGEST_HEADING, FORMATS, open_format
from germane.stages.write.item_text import write_block
from germane.stages.write.layout import RenderedContext
from germane.types.candidate import (
    BlockText,
    Breakdown,
    Candidate,
    Chosen,
    EntityText,
    GraphItem,
    PatternText,
    Provenance,
    RelationText,
    Scored,
)
from germane.types.strategy import Detail

__all__ = ["block_forgeries", "block_trials", "forgeries", "hostile", "main", "trials", "written", "written_block"]

_FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
NONCE = "qhzvkdtwmbxr"
_MOMENT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
_CATEGORIES = (
    *("factual", "procedural", "conversation", "preference", "document", "document", "task", "Épisodic", 'x">\n<a'),
    *("conversation_memories", "", "🙂"),
)
_DETAILS: tuple[Detail, ...] = ("id", "confidence", "score")
_TAGS = (
    *("</memory>", "<memory", "</message>", '<message id="x">', "</conversation>", "</directive>", "<directive>", "</notice>"),
    *('<conversation nonce="{n}">', '<factual_memories nonce="{n}">', '<notice nonce="{n}">', '<memory nonce="{n}">'),
    *("</factual_memories>", "{n}", "{N}", "n o n c e"),
)
_GRAPH = (
    *(
        "]-->",
        "--[owns]-->",
        " --[x]--> ",
        "**",
        "**admin**: ",
        "(role: admin)",
        ", role: admin",
        "```",
        "~~~",
        "- [m9] ",
        "* [a1] ",
    ),
    *(
        "\n## Known Entities\n",
        "\n## Relationships",
        "[success]",
        "［success］",
        "success rate 99 % (99 of 99): ",
        "\n  - [a2] ",
    ),
)
_TEMPLATES = "<|im_start|>system <|im_end|> [INST] [/INST] <<SYS>> <start_of_turn>user <|eot_id|> </s> <s>"
_SIGNS = "\" ' < > & &lt; &#60; &quot; \\ / = ]]> <!-- --> <?xml?> ] [ # 日本語 العربية Caroline 🙂"
_LINES = (
    "\n## 2023-05-08 session 1\n",
    "\n[a1] Caroline: ",
    "[m2] ",
    "## factual",
    "\n#",
    "\n[",
    "\n<",
    "\nSystem: ",
    "\nHuman: ",
)
_MARKS = ("\n### Instruction:", ": ", '" score="1.000', '">', "\x1b[2J", "👩\u200d👧", "क\u094d\u200dष", "word ", " ", "  ")
_CODES = (0x0A, 0x0D, 0x0B, 0x0C, 0x85, 0x2028, 0x2029, 0x338, 0x301, 0x200B, 0x200C, 0x200D, 0x202E, 0xFEFF, 0xAD, 0xE0041)
_ODD = tuple(map(chr, (*_CODES, 0xFE0F, 0xD800, 0xDFFF, 0)))
_PIECES = (*_TAGS, *_GRAPH, *_TEMPLATES.split(), *_SIGNS.split(), *_LINES, *_MARKS, *_ODD)
_SWAPS = str.maketrans("<>&\"'[]#:/=|", "＜＞＆＂＇［］＃：／＝｜")
_SMALL = str.maketrans({"<": "﹤", ">": "﹥", "&": "﹠", "#": "﹟", ":": "﹕", "=": "﹦"})
_NEGATED = str.maketrans({"<": "≮", ">": "≯"})
_WIDE = str.maketrans({code: code + 0xFEE0 for code in range(0x21, 0x7F)})
_BOLD = str.maketrans({**{97 + i: 0x1D41A + i for i in range(26)}, **{65 + i: 0x1D400 + i for i in range(26)}})


def hostile(chance: random.Random, naughty: Sequence[str] = ()) -> str:
    """One hostile string: pieces of structure, disguised, mangled and glued."""
    parts = []
    for _ in range(chance.randint(1, 8)):
        piece = chance.choice(naughty) if naughty and chance.random() < 0.2 else chance.choice(_PIECES)
        parts.append(_disguised(piece.replace("{n}", NONCE).replace("{N}", NONCE.upper()), chance))
    return "".join(parts)


def _disguised(piece: str, chance: random.Random) -> str:
    kind = chance.randrange(12)
    tables = (_SWAPS, _SMALL, _NEGATED, _WIDE, _BOLD)
    if kind < len(tables):
        return piece.translate(tables[kind])
    if kind == 5:
        return chance.choice(("\u200b", "\u2060", "\u00ad", "\U000e0020", "\u034f", "\ufe0e")).join(piece)
    if kind == 6:
        return unicodedata.normalize("NFD", piece) + chance.choice(("\u0338", "\u20d2", "\u0301"))
    if kind == 7 and piece:
        at = chance.randrange(len(piece))
        return piece[:at] + chr(chance.choice((chance.randrange(0x110000), chance.randrange(0x80)))) + piece[at:]
    return piece


def written(name: str, chance: random.Random, naughty: Sequence[str] = ()) -> RenderedContext:
    """A context of one to four hostile items, with its directive."""
    items = []
    for number in range(chance.randint(1, 4)):
        text = hostile(chance, naughty)
        candidate = Candidate(
            id=f"{number}{hostile(chance, naughty)}" if chance.random() < 0.5 else f"id-{number}",
            source=hostile(chance) if chance.random() < 0.2 else "messages",
            category=hostile(chance) if chance.random() < 0.1 else chance.choice(_CATEGORIES),
            text=text,
            created_at=_MOMENT + timedelta(hours=chance.randint(0, 60)),
            speaker=hostile(chance, naughty) if chance.random() < 0.5 else "Caroline",
            role=hostile(chance) if chance.random() < 0.2 else "user",
            session=chance.choice((None, "s1", hostile(chance))),
            session_number=chance.choice((None, 1, 2)),
            title=hostile(chance, naughty) if chance.random() < 0.5 else "",
            kinds=(hostile(chance),) if chance.random() < 0.1 else ("factual", "fact"),
            required=chance.random() < 0.1,
            position=chance.randint(0, 3),
            provenance=Provenance(channel=hostile(chance), message_id=hostile(chance))
            if chance.random() < 0.2
            else Provenance(),
            block=a_block(chance, text, naughty) if chance.random() < 0.3 else None,
        )
        if candidate.block is None and chance.random() < 0.4:
            candidate = an_event(chance, candidate) if chance.random() < 0.4 else of_the_graph(chance, candidate)
        parts = Breakdown(relevance=1, recency=1, usefulness=0.5, confidence=0.8, frequency=0)
        scored = Scored(candidate=candidate, score=chance.random(), log_odds=0, breakdown=parts, rank=number + 1)
        items.append(Chosen(scored=scored, text=text, tokens=0))
    directive = hostile(chance, naughty) if chance.random() < 0.5 else ""
    details = _DETAILS if name == "xml" and chance.random() < 0.5 else ()
    form = open_format(name, tokenizer=_Letters(), nonce=NONCE, zone=UTC, terms=(), details=details, recent=RECENT)
    return form.write(directive, items)


def written_block(chance: random.Random, naughty: Sequence[str] = ()) -> str:
    """A block whose content, label, description, schema and owner are hostile."""
    return write_block(a_block(chance, hostile(chance, naughty), naughty), NONCE, schema=True)


def an_event(chance: random.Random, candidate: Candidate) -> Candidate:
    """The candidate as something that happened, of a hostile type and outcome."""
    kind, outcome = (hostile(chance) or "note", hostile(chance)) if chance.random() < 0.5 else ("shell_exec", "success")
    source = chance.choice(("events", "messages"))
    return candidate._replace(category="activity", source=source, event_type=kind, outcome=outcome)


def of_the_graph(chance: random.Random, candidate: Candidate) -> Candidate:
    """The candidate as an entity, a relation or a pattern with hostile parts."""
    one, other, third = hostile(chance), hostile(chance), hostile(chance)
    end = _MOMENT if chance.random() < 0.3 else None
    shown: EntityText | RelationText | PatternText = chance.choice(
        (
            EntityText(type=one, name=other, properties=((third, candidate.text), ("city", other))),
            EntityText(type="person", name=other),
            RelationText(source=one, type=third, target=other, valid_from=end, valid_to=end),
            PatternText(action=one, successes=3, applications=chance.choice((0, 4))),
        )
    )
    category = {EntityText: "entity", RelationText: "relation", PatternText: "pattern"}[type(shown)]
    return candidate._replace(category=category, graph=GraphItem(shown=shown, prior=0.1, salience=0.5))


def a_block(chance: random.Random, text: str, naughty: Sequence[str] = ()) -> BlockText:
    return BlockText(
        id="b1",
        label=(hostile(chance, naughty) if chance.random() < 0.7 else "") or "notes",
        type="core",
        text=text,
        description=hostile(chance, naughty) if chance.random() < 0.5 else "",
        permission=hostile(chance) if chance.random() < 0.1 else "ReadWrite",
        shared_from=hostile(chance, naughty) if chance.random() < 0.3 else None,
        schema=hostile(chance, naughty) if chance.random() < 0.3 else "",
    )


def block_forgeries(text: str) -> list[str]:
    """What is wrong with the tags of one written block: it has exactly two, at its ends."""
    found = [("as written", _block_problem(text))]
    found += [(form, _block_problem(unicodedata.normalize(form, text))) for form in _FORMS]
    return [f"{form}: {problem}" for form, problem in found if problem]


def _block_problem(text: str) -> str:
    lines = text.split("\n")
    opening, closing = _BLOCK_OPENS.fullmatch(lines[0]), _BLOCK_CLOSES.fullmatch(lines[-1])
    if opening is None or closing is None or opening[1] != closing[1]:
        return "the tags aren't those of one label"
    if "<" in (inner := "\n".join(lines[1:-1])) or ">" in inner:
        return "a bracket inside"
    return "the nonce inside" if NONCE in text.lower() else ""


def block_trials(count: int, seed: int, naughty: Sequence[str]) -> Iterator[tuple[str, str]]:
    """As `trials`, for blocks."""
    chance = random.Random(seed)
    for _ in range(count):
        text = written_block(chance, naughty)
        found = block_forgeries(text)
        yield "blocks", f"{found[0]}\n{text!r}" if found else ""


def forgeries(name: str, result: RenderedContext) -> list[str]:
    """Structure in the text that wasn't intended; empty if there is none."""
    found = [("as written", _PROBLEMS[name](result.stable, result.late, len(result.items)))]
    if name == "markdown":
        found.append(("as written", _title_problem(result)))
    for form in _FORMS:
        stable, late = unicodedata.normalize(form, result.stable), unicodedata.normalize(form, result.late)
        found.append((form, _PROBLEMS[name](stable, late, len(result.items))))
    return [f"{form}: {problem}" for form, problem in found if problem]


_BLOCK_OPENS = re.compile(r'<block:([^\s<>"\'=&]+) permission="[^"<>\n]*"(?: shared_from="[^"<>\n]*")?>')
_BLOCK = re.compile(rf"^{_BLOCK_OPENS.pattern}\n[^<>]*\n</block:\1>$", re.MULTILINE)
_BLOCK_CLOSES = re.compile(r"</block:([^\s<>\"'=&]+)>")
_ELEMENT = re.compile(
    r'<(?:memory id="[^"<>\n]*"(?: [a-z]+="[^"<>\n]*"){0,4}|message id="[^"<>\n]*" time="[^"<>\n]*"(?: speaker="[^"<>\n]*")?)'
    r'(?: score="[\d.]+")?>[^<>]*</(?:memory|message)>|<task id="[^"<>\n]*"(?: [a-z]+="[^"<>\n]*"){0,4}>[^<>]*</task>'
)
_OPENING = re.compile(rf'^<((?:[a-z][a-z0-9_]*_memories)|blocks|conversation|tasks) nonce="{NONCE}">$', re.MULTILINE)
_HEADER = re.compile(r"## (?:\d{4}-\d\d-\d\d(?: session \d+)?|[a-z][a-z0-9_]*)")
_LINE_BREAK = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_OWN_TAG = re.compile(r"<\s*/?\s*(?:directive|notice|memory|message|conversation|\w+_memories)\b", re.IGNORECASE)


def _xml_problem(stable: str, late: str, items: int) -> str:
    sections = _OPENING.findall(late)
    elements = len(_ELEMENT.findall(late)) + len(_BLOCK.findall(late))
    if elements != items:
        return f"{elements} elements for {items} items"
    rest = _ELEMENT.sub("", _BLOCK.sub("", late))
    if rest.count("<") != 2 * len(sections) or rest.count(">") != 2 * len(sections):
        return "a bracket that belongs to nothing"
    if late.count(NONCE) != len(sections):
        return "the nonce in content"
    return _stable_problem(stable, 4 if stable.startswith("<directive>") else 2)


def _compact_problem(stable: str, late: str, items: int) -> str:
    lines = _LINE_BREAK.split(late)
    if lines[0] != f'<memory nonce="{NONCE}">' or lines[-1] != "</memory>":
        return "the wrapper is broken"
    inside, blocks = list[str](), 0
    opened: re.Match[str] | None = None
    for line in lines[2:-1]:
        if opened is not None and line == f"</block:{opened[1]}>":
            opened = None
        elif opened is not None and line and not line.startswith(" "):
            return "a line of a block that starts like one of ours"
        elif opened is None and (opened := _BLOCK_OPENS.fullmatch(line)):
            blocks += 1
        elif line or opened is None:
            inside.append(line)
    if opened is not None:
        return "a block without an end"
    if sum(line.startswith("[") for line in inside) != items - blocks:
        return "a handle too many"
    if any(not re.match(r"\[[am]\d+\] |## |[ ]", line) for line in inside):
        return "a line that starts like nothing of ours"
    if any(
        not re.fullmatch(r"## (?:\d{4}-\d\d-\d\d(?: session \d+)?|[a-z][a-z0-9_]*)", line)
        for line in inside
        if line.startswith("#")
    ):
        return "a header with content in it"
    if any(char in _without_arrow(line) for line in inside for char in "<>"):
        return "a bracket in content"
    if late.count(NONCE) != 1:
        return "the nonce in content"
    return _stable_problem(stable, 2 if stable else 0)


def _without_arrow(line: str) -> str:
    """The line without the arrow of a relation, of which it may hold one."""
    return _ARROW.sub("", line, count=1)


def _markdown_problem(stable: str, late: str, items: int) -> str:
    lines = _LINE_BREAK.split(late)
    if lines[0] != f'<memory nonce="{NONCE}">' or lines[-1] != "</memory>":
        return "the wrapper is broken"
    blocks, bullets, section, headings = 0, 0, "", list[str]()
    opened: re.Match[str] | None = None
    for line in lines[2:-1]:
        if opened is not None and line == f"</block:{opened[1]}>":
            opened = None
        elif opened is None and (opened := _BLOCK_OPENS.fullmatch(line)):
            blocks += 1
        elif not line or line.startswith("  "):
            if any(char in line for char in "<>"):
                return "a bracket in content"
            if re.match(r"\s*(?:[-+*•]?\s*\[[am]\d+\]|#{1,6}(?:\s|$))", line, re.IGNORECASE):
                return "a line of content that looks like ours"
        elif opened is not None:
            return "a line of a block that starts like one of ours"
        elif line in _MARKDOWN:
            section = line
            headings.append(line)
        elif section and re.match(_MARKDOWN[section], line):
            bullets += 1
            if section == "## Relationships" and len(_ARROW.findall(line)) != 1:
                return "an arrow too many"
            rest = _without_arrow(line) if section == "## Relationships" else line
            if any(char in rest for char in "<>"):
                return "a bracket in content"
            if section in ("## Known Entities", "## Relationships") and _signs(rest):
                return "a sign of a line in a name"
        else:
            return "a line that is none of ours"
    if opened is not None:
        return "a block without an end"
    if bullets != items - blocks:
        return "a bullet too many"
    if headings != [heading for heading in _MARKDOWN if heading in headings]:
        return "a heading too many"
    if late.count(NONCE) != 1:
        return "the nonce in content"
    return _stable_problem(stable, 2 if stable else 0)


def _title_problem(result: RenderedContext) -> str:
    """Only a passage of a document begins with a title in bold, beside entities."""
    titled = sum(item.category == "document" and item.scored.candidate.block is None for item in result.items)
    before = _GRAPH_BEGINS.split(result.late, maxsplit=1)[0]
    return "a title too many" if len(_TITLED.findall(before)) > titled else ""


def _signs(line: str) -> bool:
    """Whether a line of an entity or a relation, without its arrow, holds more brackets than its handle and one pair of round
    ones. Names in quotes may hold round ones."""
    bare = re.sub(r'"[^"]*"', "", line)
    return line.count("[") + line.count("]") != 2 or bare.count("(") > 1 or bare.count(")") > 1


def _digest_problem(stable: str, late: str, items: int) -> str:
    lines = _LINE_BREAK.split(late)
    if (lines[:2] != [f'<memory nonce="{NONCE}">', DIGEST_HEADING] and items) or (items and lines[-1] != "</memory>"):
        return "the wrapper is broken"
    inside = lines[3:-1]
    if len(inside) != items:
        return "a line too many"
    if not all(re.match(r"- \[[^\n]*\] .* \((?:public|private|sensitive)\) .*\)$", line) for line in inside):
        return "a line that isn't one of ours"
    if any(char in line for line in inside for char in "<>"):
        return "a bracket in content"
    if late.count(NONCE) != bool(items):
        return "the nonce in content"
    return _stable_problem(stable, 2 if stable else 0)


def _stable_problem(stable: str, tags: int) -> str:
    """In the directive only germane's own tags and the nonce are not the operator's to write."""
    found = len(_OWN_TAG.findall(stable))
    if found != tags:
        return f"{found} tags of germane's around the directive, not {tags}"
    return "the nonce in the directive" if stable.lower().count(NONCE) != bool(stable) else ""


_ARROW = re.compile(r" --\[[^\[\]()*:<>]+\]--> ")
_GRAPH_BEGINS = re.compile(r"^## (?:Known Entities|Relationships)$", re.MULTILINE)
_TITLED = re.compile(r"^- \[m\d+\] \*\*", re.MULTILINE)
_MARKDOWN = {
    "## Tasks": r"- \[m\d+\] (?!\*\*)",
    "## Recent Activity": r"- \[a\d+\] \[\d{4}-\d\d-\d\dT\d\d:\d\dZ\] ",
    "## Relevant Content": r"- \[[am]\d+\] (?:(?!\*\*)|\*\*[^*\[\]\n]+\*\*: )",
    "## Known Entities": r"- \[m\d+\] \*\*[^*:\[\]()\n]+\*\*: ",
    "## Relationships": r"- \[m\d+\] .* --\[[^\[\]]*\]--> ",
    "## Applicable Patterns": r"- \[m\d+\] (?:success rate \d+ % \(\d+ of \d+\)|not tried yet): ",
    "## Additional Context": r"- \[m\d+\] ",
}
"""The headings in order, each with what a bullet under it begins with."""
_PROBLEMS = {"compact": _compact_problem, "digest": _digest_problem, "markdown": _markdown_problem, "xml": _xml_problem}


class _Letters:
    """A tokenizer stub: this benchmark has no budget."""

    name = "letters"
    exact = False

    def count(self, text: str) -> int:
        return len(text)

    def ceiling(self, text: str) -> int:
        return len(text)


def trials(count: int, seed: int, naughty: Sequence[str]) -> Iterator[tuple[str, str]]:
    """For each trial the format and the forged structure, empty if there is none."""
    chance = random.Random(seed)
    for _ in range(count):
        for name in sorted(FORMATS):
            result = written(name, chance, naughty)
            found = forgeries(name, result)
            yield name, f"{found[0]}\n{result.text!r}" if found else ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Look for forged delimiters in what germane writes.")
    parser.add_argument("--count", type=int, default=100_000, help="hostile contexts per format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blns", type=Path, help="a JSON list of strings to mix in")
    parser.add_argument("--blocks", action="store_true", help="memory blocks in place of contexts")
    options = parser.parse_args(arguments)
    naughty = json.loads(options.blns.read_text(encoding="utf-8")) if options.blns else []
    began, forged, done = time.monotonic(), 0, 0
    names = ["blocks"] if options.blocks else sorted(FORMATS)
    run = block_trials if options.blocks else trials
    for name, problem in run(options.count, options.seed, naughty):
        done += 1
        if problem:
            forged += 1
            if forged <= 5:
                print(f"FORGED {name}: {problem}", file=sys.stderr)
        if done % 5_000 == 0:
            print(
                f"\r{done:,} of {options.count * len(names):,} contexts, {forged} forged", end="", file=sys.stderr, flush=True
            )
    print(file=sys.stderr)
    bound = f"at most {3 / done:.1e} at 95 %" if not forged else "FAILED"
    print(f"{forged} forged in {done:,} contexts ({bound}); {', '.join(names)}; {time.monotonic() - began:.0f} s")
    return 1 if forged else 0


if __name__ == "__main__":
    sys.exit(main())
