"""Asks day: whether a request asks what was said, done or known on a past day or span that it names (PERSON-5).

It asks so where a word that asks is followed, in the same clause, by a form of the past ("what did I", "was hatte ich") or by
days that can only be past ("anything from last Tuesday"). It speaks of the user or to the assistant, unless it names nothing
but the days: who won the match yesterday isn't known from all that was said yesterday. A day that is named for the future, or
to tell something, isn't asked about: "remind me on Friday", "dinner on Saturday?", "yesterday I burnt the pan, how do I clean
it".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from germane.pipeline.signals.past_forms import TONGUES, UNSPACED, Tongue
from germane.text.analyse import query_terms
from germane.text.days.beside import Beside, besides
from germane.text.days.times import NamedDays
from germane.text.days.vocabulary import unaccented
from germane.types.query import Anchor, DayAsked, Days, Term

__all__ = ["asked_day"]

_MAX_WORDS = 80
"""A longer request brings its own text."""
_MAX_SPAN = 92
"""Days of the longest span whose messages are asked for as such; in a longer one the words must find them."""
_MAX_DAYS = 3
_MAX_BETWEEN = 12
"""Words between one that asks and the past that it asks for."""
_WEEK = timedelta(days=7)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CLAUSE = re.compile(r"[^.!?;:\n,]+")
_OTHERS = frozenset(["he", "she", "it", "they", "there", "the", "anyone", "anything", "er", "es", "man", "il", "elle", "on"])
_ANSWERS = re.compile(
    r"\b(?:did|had|have) you (?:say|said|tell|told|suggest|recommend|explain|write|give|given|advise|answer)"
    r"|\byou (?:said|told|suggested|recommended|gave|explained|wrote|answered|advised|listed|proposed|came up)\b"
    r"|\byour (?:answer|advice|suggestion|list|recommendation|reply)\b"
    r"|\b(?:hast|hattest) du|\bhatten sie mir|\bhaben sie mir|\bas-tu|\bavez-vous|\bm'(?:as|avais|avez)|\bdijiste"
    r"|\brecomendaste|\bme diste|\bsugeriste|\bhai (?:detto|consigliato)|\bmi (?:hai|avevi)|\bvoce (?:disse|me)"
    r"|\b(?:heb|had|zei) je"
    r"|\bpowiedzial[ea]s|\bdoradzil[ea]s|\bты (?:мне )?(?:сказал|советовал|посоветовал|написал|предлагал)|\bsade du|\bsoyledin"
    r"|\bonerdin|你(?:给我|給我)?(?:说|說|告诉|告訴|推荐|推薦|建议|建議)|教えてくれ|勧めてくれ|추천해|말해 ?줬|알려 ?줬"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNSPACED_ASK = re.compile(
    r"什么|什麼|甚麼|啥|哪|谁|誰|怎么|怎麼|几|多少|吗|嗎|回顾|回顧|总结|總結|何|なに|どこ|どんな|だれ|ですか|ましたか|たっけ|まとめ"
    r"|뭐|뭘|무엇|무슨|어디|누구|어떤|정리|요약|까\?|나\?"
)
_UNSPACED_PAST = re.compile(
    r"了|过|過|说的|說的|让你|讓你|叫你|请你|請你|问你|問你|聊|那天|那晚|来着|た|っけ|었|았|였|했|던|난|낸|간 "
)
_UNSPACED_OWN = re.compile(r"我|你|咱|私|僕|俺|ました|たっけ|나|내|우리|저|제|했지|었지|았지")
_UNSPACED_GENERAL = re.compile(
    r"什么|什麼|啥|哪些|哪|谁|怎么|几件?|多少|吗|嗎|总结|一下|我们|我們|我|你|咱们|咱|让|讓|叫|请|跟|和|对|說|说|聊|讲|講|问|問|做|弄|干"
    r"|查|东西|東西|事情|事|话|話|都|有|的|了|过|過|是|在|那个|那些|那|这|个|要|想|来着|记得|晚上|早上|下午|天|，|。|？"
    r"|何|なに|どんな|を|に|は|が|で|と|も|の|こと|話し|話|言い|言っ|頼ん|頼み|聞い|し|まし|た|っけ|か|私|僕|俺|あなた|だ|です|って|い"
    r"|뭐|뭘|무엇|무슨|어떤|했|말|얘기|이야기|한|하|물어|부탁|었|았|지|어|요|나|내|가|는|은|를|을|우리|너|에|게|달라|고|더라|라"
)
_GENERAL_WORDS = """
    say said tell told talk talked talking speak spoke chat discuss discussed mention mentioned ask asked asking want wanted
    look looked find do did done doing happen happened thing things stuff everything anything something list need needed get
    got go went come came job jobs task tasks remember remind recap summarise summarize summary know again write wrote leave
    left cover covered all up about sagen gesagt erzählen erzählt sprechen gesprochen besprochen geredet machen gemacht fragen
    gefragt passiert los lassen aufgetragen erledigen gebeten sachen dinge dire dit parler parlé raconter raconté demander
    demandé faire fait passé choses chose decir dije dijiste hablar hablamos pedir pedí pedido encargar encargué contar conté
    hacer hice pasar pasó cosas cosa pendiente pendientes dire detto parlare parlato raccontato chiesto fare fatto successo
    cose dizer disse falar falei falamos pedi fazer fiz aconteceu coisas zeggen gezegd verteld besproken gevraagd gedaan doen
    gebeurd dingen gehad mówiłem mówiłam powiedziałem powiedziałam rozmawialiśmy robiłem robiłam prosiłem prosiłam rzeczy
    stało сказал сказала говорил говорила говорили рассказывал рассказывала обсуждали делал делала просил просила случилось
    происходило dedim söyledim konuştuk yaptım sordum istedim oldu säga sa pratade berättade frågade gjorde hände saker gjort
    sagt pratat day days night evening morning afternoon tag jour día giorno dia dag dzień день gün
"""
_GENERAL = frozenset(map(unaccented, _GENERAL_WORDS.split()))
"""Words that say nothing of what a talk was about."""


def asked_day(text: str, named: Sequence[NamedDays], today: date, words: int) -> DayAsked | None:
    """What the request asks about the past days among those that it names, or about days named by an event; None where it asks
    no such thing. `named` are the days that `text` names."""
    if words > _MAX_WORDS:
        return None
    past = [one for one in named if one.days.first <= today and (one.days.last - one.days.first).days < _MAX_SPAN]
    beside = [one for one in besides(text) if not any(_overlap(one, other) for other in named)][:1]
    if not (past or beside):
        return None
    rest = _blanked(text, [*((one.start, one.end) for one in named), *((one.start, one.end) for one in beside)])
    tongues = _asking_of_the_past(_without_events(text, beside) if _UNSPACED.search(text) else rest)
    if tongues is None:
        before = [(one, asking) for one in past if one.sure and one.days.last < today and (asking := _asking_before(text, one))]
        past, beside = [one for one, _ in before], []
        tongues = [tongue for _, asking in before for tongue in asking]
    if not (past or beside):
        return None
    topic = _topic(rest)
    if topic and not _own(rest, tongues):
        return None
    return DayAsked(
        days=tuple(dict.fromkeys(_until(today, days) for one in past for days in _meant(one, today)))[:_MAX_DAYS],
        anchors=tuple(_anchor(one) for one in beside),
        topic=topic,
        answers=_ANSWERS.search(unaccented(text)) is not None,
    )


def _without_events(text: str, beside: Sequence[Beside]) -> str:
    """The text without what names days by an event: in a script without forms of verbs, `那天` with a date says that it is
    past, and with an event doesn't."""
    return _blanked(text, [(one.start, one.end) for one in beside])


def _overlap(one: Beside, other: NamedDays) -> bool:
    return one.start < other.end and other.start < one.end


def _meant(named: NamedDays, today: date) -> Iterator[Days]:
    """The days, and for a weekday that is today's also the one before: who says "on Friday" on a Friday may mean either."""
    yield named.days
    if named.weekday and not named.sure and named.days.first == today:
        yield Days(first=today - _WEEK, last=today - _WEEK)


def _until(today: date, days: Days) -> Days:
    return days if days.last <= today else Days(first=days.first, last=today, grain=days.grain)


def _anchor(beside: Beside) -> Anchor:
    return Anchor(
        event=beside.event,
        terms=query_terms(beside.event),
        first=beside.first,
        last=beside.last,
        weekday=beside.weekday,
    )


def _asking_of_the_past(text: str) -> list[Tongue] | None:
    """The languages in which a clause has a word that asks and behind it a form of the past; None where there is none."""
    if _UNSPACED.search(text):
        return [UNSPACED] if _UNSPACED_ASK.search(text) and _UNSPACED_PAST.search(text) else None
    clauses = [[word.lower().replace("’", "'") for word in _WORD.findall(clause[0])] for clause in _CLAUSE.finditer(text)]
    return [tongue for tongue in TONGUES if any(_asks_past(clause, tongue) for clause in clauses)] or None


def _asks_past(words: Sequence[str], tongue: Tongue) -> bool:
    asked = next((index for index, word in enumerate(words) if unaccented(word) in tongue.asks), None)
    if asked is None:
        return False
    behind = words[asked : asked + _MAX_BETWEEN]
    if len(behind) > 1 and (unaccented(behind[1]) in tongue.own or behind[1] in _OTHERS):  # "did I", "hatte ich"
        if tongue.is_past(behind[0]):
            return True
    elif unaccented(behind[0]) in tongue.past:
        behind = behind[1:]
    if any(tongue.is_past(word) for word in behind[1:]):
        return True
    have = next((index for index, word in enumerate(behind) if unaccented(word) in tongue.have), None)
    pattern = tongue.participles
    return have is not None and pattern is not None and any(pattern.fullmatch(word) for word in behind[have + 1 :])


def _asking_before(text: str, named: NamedDays) -> list[Tongue]:
    """The languages in which the clause of the days, as far as they, asks something that isn't about what to do."""
    if _UNSPACED.search(text):
        return [UNSPACED] if _UNSPACED_ASK.search(text) else []
    clause = next((one for one in _CLAUSE.finditer(text) if one.start() <= named.start < one.end()), None)
    if clause is None:
        return []
    words = [unaccented(word) for word in _WORD.findall(text[clause.start() : named.start])][-_MAX_BETWEEN:]
    return [one for one in TONGUES if not (one.asks - one.past).isdisjoint(words) and one.modal.isdisjoint(words)]


def _own(text: str, tongues: Sequence[Tongue]) -> bool:
    """Whether the text speaks of the user or to the assistant, in one of these languages."""
    if UNSPACED in tongues and _UNSPACED_OWN.search(text):
        return True
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    return any(tongue.is_own(word) for tongue in tongues for word in words)


def _topic(rest: str) -> tuple[Term, ...]:
    """The terms that aren't of the days, nor of the asking."""
    if _UNSPACED.search(rest):
        rest = _UNSPACED_GENERAL.sub(" ", rest)
    return tuple(term for term in query_terms(rest) if not _says_nothing(term.word))


def _says_nothing(word: str) -> bool:
    plain = unaccented(word)
    return plain in _GENERAL or any(
        plain in part for tongue in TONGUES for part in (tongue.asks, tongue.past, tongue.own, tongue.have)
    )


def _blanked(text: str, places: Sequence[tuple[int, int]]) -> str:
    for start, end in places:
        text = text[:start] + " " * (end - start) + text[end:]
    return text
