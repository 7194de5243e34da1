"""Outline line: one exchange in one line: what was asked, what was done, and how it ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from germane.compaction.notes import Artifact, canonical_name
from germane.compaction.placeholders import masked_facts
from germane.compaction.reading.results import error_of_outcome
from germane.compaction.reading.statements import changes_in, may_tell_changes, paths_in
from germane.compaction.reading.tool_actions import command_in, file_changes, tool_arguments
from germane.text.clauses import sentences
from germane.text.normal import in_lower_case
from germane.text.own_words.own_words import MAX_READ, OwnSentence, own_sentences, unquoted_sentences
from germane.text.own_words.quotations import without_fences
from germane.types.message import Message, Opaque, Part, Role, Text, ToolCall, ToolResult

MAX_LINE = 180
"""Characters of a line."""
_MAX_TOOLS = 4
_MAX_SHOWN = 38
"""Characters of a document's beginning."""
_MAX_READ = 4_000
_MAX_BEGINNING = 200
"""Characters of a text without sentences of its own."""
_MARK = "…"
_ARROW = " → "
_SHARES = (0.42, 0.2, 0.38)
"""Of the line's characters, for what was asked, done, and said in the end."""
_MAX_TOPICS, _MAX_TOPIC = 40, 80
"""Characters of the topics of an answer in sections, and of one of them."""
_TELLING = re.compile(r"\d[\d.,:/-]*+|(?<![\w-])[\w-]++[./][\w./-]++|(?<=[\w,] )[A-ZÀ-ÞА-Я][\w-]++")
"""Numbers, dates, paths, identifiers, and names inside a sentence."""
_JOINED = re.compile(r"[./](?=[\w./-])")
"""What every path has."""
_TELLING_UNJOINED = re.compile(r"[\dA-ZÀ-ÞА-Я](?:(?<=\d)[\d.,:/-]*+|(?<=[\w,] .)[\w-]++)")
"""The same without paths, which is searched five times as fast: each match begins with one of few characters."""
_ASKS = re.compile(
    r"\b(?:please|can you|could you|fix|add|write|find|make|implement|why|how|what|bitte|kannst|peux|pouvez|puedes|puoi"
    r"|você pode|пожалуйста|можешь|need|want|help|should)\b"
)
"""What asks for something, in lower case, as `_ENDED` is: a search that ignores case takes twice as long."""
_ENDED = re.compile(
    r"\b(?:done|fixed|added|passes|passed|now|works|created|updated|finished|completed|failed|result|total|found|fertig|behoben|"
    r"terminé|listo|fatto|pronto|готово|decided)\b"
)
_SMALL_TALK = re.compile(
    r"(?:ok(?:ay)?|sure|thanks|thank you|hi|hello|hey|great|danke|merci|gracias|grazie|obrigad\w|спасибо|let me)\b",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"(?:(?:sure|ok(?:ay)?|great|perfect|thanks|thank you|hi|hey|hello|yes|yeah|well|so|also|and|hm+|but|danke|ja|also|hallo"
    r"|merci|bonjour|oui|gracias|hola|grazie|ciao|obrigad[oa]|olá|спасибо|привет|да)\b[,.! ]{1,3}"
    r"|i['’]m (?:kinda |kind of |a bit |really |still |also ){0,2}(?:trying|looking|hoping|planning|wanting) to "
    r"|i (?:also )?(?:want|need|have|would like|wanted) to |i['’]d (?:also )?like to "
    r"|(?:can|could|would|will) you (?:please )?(?:also )?(?:help me )?(?:to |with |by )?|please "
    r"|how (?:can|do|should|would) i "
    r"|ich (?:versuche|möchte|will|würde gerne?) |(?:kannst|könntest) du (?:mir )?(?:bitte )?(?:dabei helfen, )?|bitte "
    r"|j['’]essaie de |je (?:voudrais|veux|souhaite) |(?:peux|pourrais)-tu (?:m['’]aider à )?|pouvez-vous (?:m['’]aider à )?"
    r"|(?:estoy intentando|quiero|quisiera|necesito|me gustaría) |¿?(?:puedes|podrías) (?:ayudarme a )?|por favor,? "
    r"|(?:sto cercando di|voglio|vorrei) |(?:puoi|potresti) (?:aiutarmi a )?|per favore,? "
    r"|(?:estou tentando|quero|gostaria de|preciso) |(?:você pode|pode) (?:me ajudar a )?"
    r"|я (?:пытаюсь|хочу|хотел бы) |(?:можешь|можете) (?:помочь мне )?|пожалуйста,? ){1,4}",
    re.IGNORECASE,
)
"""What a wish begins with that says nothing of it."""
_HEADING = re.compile(
    r"^(?:#{1,6} +|\*\*)(?:(?:step|schritt|étape|paso|passo|шаг) )?(?:\d{1,2}[.):]? *)?([^\n]{3,90})$",
    re.IGNORECASE | re.MULTILINE,
)
_BOLD_END = re.compile(r":?\*\*:?$|:$")
_MAX_TALK = 600
"""Characters of an answer up to which an exchange is talk."""
_COURTESY = 60
"""Characters of a sentence of thanks or greeting, which a line leaves out."""
_SPACE_REACH = 24
_MAX_TELLING = 12
_SIGN_WORTH = 2
"""What a word that asks or ends something counts, as much as 80 characters."""


def line_of(asked: Sequence[str], tools: Sequence[str], files: Sequence[str], ended: str) -> str:
    """Returns the line: at most 180 characters, on one line; '' where there is nothing. `asked` are the user's own sentences,
    `tools` the names of the tools called, `files` what was changed, `ended` the assistant's last text."""
    did = _did(tools, files) if tools or files else ""
    topics = _topics(ended)
    worked = tools or topics or len(ended) > _MAX_TALK
    wish = _wish(asked) if worked else _best(asked, _ASKS, first=True)
    end = topics or (_best(_said(ended), _ENDED, first=False) if ended else "")
    if not did and not end:
        return _cut(wish, MAX_LINE)
    room = MAX_LINE - sum(len(_ARROW) for part in (did, end) if part)
    widths = [min(len(part), int(room * share)) for part, share in zip((wish, did, end), _SHARES, strict=True)]
    spare = room - sum(widths)
    for index, part in enumerate((wish, did, end)):
        more = min(spare, len(part) - widths[index])
        widths[index] += more
        spare -= more
    parts = (_cut(part, width) for part, width in zip((wish, did, end), widths, strict=True))
    return _ARROW.join(part for part in parts if part)


def asked_in(text: str, said: Sequence[OwnSentence]) -> list[str]:
    """Returns what a user's text asks: its own sentences, or its beginning where it has none."""
    return [sentence for sentence, _ in said] if said else [one_line(text, _MAX_BEGINNING)]


def spoken_in(part: Opaque) -> str:
    """Returns what the assistant says in a part: the transcript of its speech; '' for any other part."""
    return part.text if part.kind == "openai:audio" else ""


def shown_in(part: Opaque) -> str:
    """Returns the name by which a line shows a document, or what a provider's tool did: the beginning of its text. It stands
    among the tools, as it is nobody's own words."""
    return f"[{one_line(part.text, _MAX_SHOWN)}]"


def one_line(text: str, limit: int) -> str:
    """Returns the text's beginning on one line, at most `limit` characters. Reads four times as many."""
    plain = " ".join(text[: 4 * limit].split())
    return _cut(plain, limit)


def telling(text: str) -> int:
    """Returns how many numbers, paths, identifiers and names a text has, at most 12. Linear."""
    found = _TELLING if _JOINED.search(text) else _TELLING_UNJOINED
    return min(len(found.findall(text)), _MAX_TELLING)


def _wish(asked: Sequence[str]) -> str:
    """The user's sentences, as many as a line can hold, without what they begin with that says nothing."""
    kept, size = list[str](), 0
    for sentence in asked:
        bare = sentence[lead.end() :] if (lead := _LEAD_IN.match(sentence)) else sentence
        if bare and not (len(sentence) < _COURTESY and len(asked) > 1 and _SMALL_TALK.match(sentence)):
            kept.append(bare)
            size += len(bare) + 1
        if size >= MAX_LINE:
            break
    return " ".join(kept)


def _prose(text: str) -> str:
    """The end of a text, of a long one with its beginning, without blocks of code."""
    if len(text) > _MAX_READ:
        text = f"{text[: _MAX_READ // 4]}\n{text[-(_MAX_READ - _MAX_READ // 4) :]}"
    return without_fences(text)


def _topics(text: str) -> str:
    """The headings of an answer in sections; '' for any other."""
    if "#" not in text and "**" not in text:
        return ""
    found, size = list[str](), 0
    for heading in _HEADING.finditer(without_fences(text[:_MAX_READ])):
        topic = _BOLD_END.sub("", heading[1].strip("*# ")).strip("* ")
        if topic and topic not in found:
            found.append(topic[:_MAX_TOPIC])
            size += len(topic) + 2
        if size >= _MAX_TOPICS:
            break
    return _cut("; ".join(found), _MAX_TOPICS) if len(found) > 1 else ""


def _said(text: str) -> list[str]:
    """The sentences of a text."""
    plain = _prose(text)
    return [" ".join(plain[start:end].split()) for start, end in sentences(plain)]


def _did(tools: Sequence[str], files: Sequence[str]) -> str:
    counted = Counter(tools).most_common()
    shown = [f"{_cut(name, 40)} ×{times}" if times > 1 else _cut(name, 40) for name, times in counted[:_MAX_TOOLS]]
    if len(counted) > _MAX_TOOLS:
        shown.append(f"{len(counted) - _MAX_TOOLS} more tools")
    done = ", ".join(shown)
    changed = ", ".join(files[:3]) + (f" and {len(files) - 3} more files" if len(files) > 3 else "")
    return f"{done} ({changed})" if done and changed else done or changed


def _best(said: Sequence[str], signs: re.Pattern[str], *, first: bool) -> str:
    """The sentence that says most; of equal ones the first or the last; '' where none says more than hello."""
    if len(said) == 1 and not _SMALL_TALK.match(said[0]):
        return said[0]
    best, score, count = "", -1.0, len(said)
    for place, sentence in enumerate(said):
        size, known = len(sentence), 1.5 * telling(sentence)
        words, behind = min(size, 120) / 40, (1.0 if place == 0 else 0.0) if first else place / count
        if words + known + behind + _SIGN_WORTH + 0.01 < score:
            continue  # a sign wouldn't make it the best
        now = (
            words
            + known
            + _SIGN_WORTH * bool(signs.search(in_lower_case(sentence)))
            - 3 * bool(_SMALL_TALK.match(sentence))
            + behind
        )
        if now > score:
            best, score = sentence, now
    return best


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    if limit < 2:
        return ""
    end = limit - len(_MARK)
    space = text.rfind(" ", max(1, end - _SPACE_REACH), end + 1)
    return f"{text[: space if space > 0 else end].rstrip(' ,;:–—-')}{_MARK}"


# The line of an exchange alone takes a fraction of the time that all its notes take. A line names the tools that were
# called and the files that changed. Ids, errors, tasks and constraints aren't in it, so nothing looks for them; what a
# text says of files is read only where it names a file and has a word for a change.


MAX_ANSWER = 8_000
"""Characters of an assistant's text that are read for what it states: its beginning and its end."""
MAX_MENTIONED = 8
"""Paths, ids and addresses that are taken from one text."""


def read_line(messages: Sequence[Message]) -> str:
    """Returns the line of `read_exchange` for these messages. Linear; reads a bounded part of each."""
    if not any(_does(part) for message in messages for part in message.parts):
        parts = ((message.role, part.text) for message in messages for part in message.parts if isinstance(part, Text))
        return read_talk(parts)
    reader = _LineReader()
    for message in messages:
        for part in message.parts:
            reader.read(message.role, part)
    return reader.line()


def _does(part: Part) -> bool:
    return isinstance(part, ToolCall) or (isinstance(part, Opaque) and bool(part.text))


def read_talk(said: Iterable[tuple[Role, str]]) -> str:
    """Returns the line of an exchange without tool calls: of texts, each with the role of who said it."""
    asked, ended = list[str](), ""
    for role, text in said:
        if role == "user" and text.strip():
            asked += asked_in(text, own_sentences(text, for_task=True))
        elif role == "assistant" and text.strip():
            ended = text
    return line_of(asked, (), (), ended)


def read_answer(text: str) -> str:
    """Returns the part of an assistant's text that is read for what it states."""
    return text if len(text) <= MAX_ANSWER else f"{text[: MAX_ANSWER // 2]}\n{text[-MAX_ANSWER // 2 :]}"


class _LineReader:
    __slots__ = ("_asked", "_calls", "_ended", "_noted", "_tools")

    def __init__(self) -> None:
        self._asked = list[str]()
        self._ended = ""
        self._tools = list[str]()
        self._calls: dict[str, tuple[list[Artifact], bool]] = {}
        """Calls that wait for their results, by id: what each did to files if it succeeds, and whether it runs a command."""
        self._noted = list[Artifact | str]()
        """What became of files, and texts that may name some, in their order."""

    def read(self, role: Role, part: object) -> None:
        match part:
            case Text(text) if role == "user" and text.strip():
                said = own_sentences(text, for_task=True)
                self._asked += asked_in(text, said)
                self._state(text[:MAX_READ], said)
            case Text(text) if role == "assistant" and text.strip():
                self._ended = text
                self._state(read_answer(text))
            case ToolCall():
                self._tools.append(part.name or "tool")
                arguments = tool_arguments(part)
                changes = [Artifact(kind="file", name=path, change=change) for path, change in file_changes(part, arguments)]
                self._calls[part.id] = (changes, bool(command_in(part, arguments)))
            case Opaque() if role == "assistant" and (text := spoken_in(part)).strip():
                self._ended = text
                self._state(read_answer(text))
            case Opaque(text=text) if text.strip():
                self._tools.append(shown_in(part))
            case ToolResult():
                changes, ran = self._calls.pop(part.call_id, ([], False))
                if changes and not error_of_outcome(part, masked_facts(part.text), ran=ran):
                    self._noted += changes

    def line(self) -> str:
        for changes, _ in self._calls.values():
            self._noted += changes
        return line_of(self._asked, self._tools, self._changed(), self._ended)

    def _state(self, text: str, said: Sequence[OwnSentence] | None = None) -> None:
        """Notes the files that a text names and what it says of them. `said` are its sentences, where they are known."""
        self._noted.append(text)
        if may_tell_changes(text) and next(paths_in(text), None) is not None:
            self._noted += changes_in(unquoted_sentences(text) if said is None else said)

    def _changed(self) -> list[str]:
        """The files that changed, the one that was named last standing last, as in a `Ledger`. Where there is but one, no text
        has to be read for names."""
        told = [one for one in self._noted if isinstance(one, Artifact) and one.change not in ("", "read")]
        changed = dict.fromkeys(filter(None, map(canonical_name, told)), 0)
        if len(changed) < 2:
            return list(changed)
        place = 0
        for one in self._noted:
            for name in map(canonical_name, (one,) if isinstance(one, Artifact) else _mentioned(one)):
                if name in changed:
                    changed[name] = place = place + 1
        return sorted(changed, key=lambda name: changed[name])


def _mentioned(text: str) -> Iterator[Artifact]:
    return (Artifact(kind="file", name=found.path) for found in islice(paths_in(text), MAX_MENTIONED))
