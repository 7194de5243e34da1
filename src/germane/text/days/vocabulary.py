"""Day vocabulary: weekdays, months, units, counts and words such as "last", of languages with spaces.

These are German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Turkish and Swedish; `dates.py` has the
English words, `unspaced.py` the Chinese, Japanese and Korean ones. Every word is also known without its accents, as people
type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from germane.text.normal import bare


def _plain(code: int) -> str:
    """The letter in lower case without its accent, as one character."""
    low = {"İ": "i", "Ё": "е", "ё": "е", "’": "'"}.get(chr(code), chr(code).lower())
    plain = bare(low)
    return plain if len(plain) == 1 else low


_PLAIN = {code: _plain(code) for code in (*range(0x41, 0x5B), *range(0xC0, 0x250), *range(0x400, 0x460), 0x2019)}


def unaccented(text: str) -> str:
    """The text in lower case without accents; every character remains one character."""
    return text.lower() if text.isascii() else text.translate(_PLAIN)


def _numbered(*groups: str, first: int = 0) -> Mapping[str, int]:
    """Each word of each group, unaccented, with the group's number."""
    return MappingProxyType({unaccented(word): number for number, words in enumerate(groups, first) for word in words.split()})


def _named(groups: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({unaccented(word): name for name, words in groups.items() for word in words.split()})


def alternatives(words: Iterable[str]) -> str:
    """The words as alternatives of a pattern, the longest first; a space stands for a space."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


WEEKDAY_NAMES = _numbered(
    "montag lundi lunes lunedì segunda-feira maandag poniedziałek poniedziałku понедельник понедельника pazartesi måndag "
    "måndagen måndags",
    "dienstag mardi martes martedì terça-feira dinsdag wtorek wtorku вторник вторника salı tisdag tisdagen tisdags",
    "mittwoch mercredi miércoles mercoledì quarta-feira woensdag środa środę środy среда среду среды çarşamba onsdag onsdagen "
    "onsdags",
    "donnerstag jeudi jueves giovedì quinta-feira donderdag czwartek czwartku четверг четверга perşembe torsdag torsdagen "
    "torsdags",
    "freitag vendredi viernes venerdì sexta-feira vrijdag piątek piątku пятница пятницу пятницы cuma fredag fredagen fredags",
    "samstag sonnabend samedi sábado sabato zaterdag sobota sobotę soboty суббота субботу субботы cumartesi lördag lördagen "
    "lördags",
    "sonntag dimanche domingo domenica zondag niedziela niedzielę niedzieli воскресенье воскресенья söndag söndagen söndags",
)
MONTH_NAMES = _numbered(
    "januar jänner janvier enero gennaio janeiro januari stycznia styczniu styczeń января январе январь ocak",
    "februar février febrero febbraio fevereiro februari lutego lutym luty февраля феврале февраль şubat",
    "märz mars marzo março maart marca marcu marzec марта марте март mart",
    "april avril abril aprile kwietnia kwietniu kwiecień апреля апреле апрель nisan",
    "mai mayo maggio maio mei maja maju мая мае май mayıs maj",
    "juni juin junio giugno junho czerwca czerwcu czerwiec июня июне июнь haziran",
    "juli juillet julio luglio julho lipca lipcu lipiec июля июле июль temmuz",
    "august août agosto augustus sierpnia sierpniu sierpień августа августе август ağustos augusti",
    "september septembre septiembre settembre setembro września wrześniu wrzesień сентября сентябре сентябрь eylül",
    "oktober octobre octubre ottobre outubro października październiku październik октября октябре октябрь ekim",
    "november novembre noviembre novembro listopada listopadzie listopad ноября ноябре ноябрь kasım",
    "dezember décembre diciembre dicembre dezembro december grudnia grudniu grudzień декабря декабре декабрь aralık",
    first=1,
)
UNITS = _named(
    {
        "day": "tag tage tagen jour jours día días giorno giorni dia dias dag dagen dagar dzień dni день дня дней gün",
        "week": "woche wochen semaine semaines semana semanas settimana settimane week weken tydzień tygodnie tygodni "
        "tygodniu tygodnia неделя неделю недели недель неделе hafta vecka veckan veckor",
        "month": "monat monate monaten monats mois mes meses mese mesi mês maand maanden miesiąc miesiące miesięcy miesiącu "
        "месяц месяца месяцев месяце ay månad månaden månader",
        "year": "jahr jahre jahren jahres an ans année années año años anno anni ano anos jaar jahr rok lat lata roku год года "
        "лет году yıl sene år året",
        "weekend": "wochenende wochenenden weekend week-end week-ends helgen helg",
    }
)
COUNTS = _numbered(
    "",
    "ein einem einer einen eine un une una uno um uma een jeden один одну bir en ett",
    "zwei deux dos due dois duas twee dwa dwie два две iki två",
    "drei trois tres tre três drie trzy три üç",
    "vier quatre cuatro quattro quatro cztery четыре dört fyra",
    "fünf cinq cinco cinque vijf pięć пять beş fem",
    "sechs six seis sei zes sześć шесть altı sex",
    "sieben sept siete sette sete zeven siedem семь yedi sju",
    "acht huit ocho otto oito osiem восемь sekiz åtta",
    "neun neuf nueve nove negen dziewięć девять dokuz nio",
    "zehn dix diez dieci dez tien dziesięć десять tio",
)
_LAST_BEFORE = """
    letzten letzte letzter letztes letztem vergangenen vergangene vergangener vergangenes vorigen vorige voriges voriger
    afgelopen vorig laatste zeszły zeszłą zeszłym zeszłego zeszłej ubiegły ubiegłą ubiegłym ubiegłego ubiegłej ostatni
    ostatnią ostatnim poprzedni poprzednią прошлый прошлую прошлое прошлой прошлом прошлого прошлая geçen geçtiğimiz förra
    scorso scorsa última último pasado ultimo
"""
LAST_BEFORE = frozenset(map(unaccented, _LAST_BEFORE.split()))
"""Words for "last" that stand before their day."""
_LAST_BEHIND = """
    dernier dernière passé passée pasado pasada scorso scorsa passato passata passado passada
"""
LAST_BEHIND = frozenset(map(unaccented, _LAST_BEHIND.split()))
_THIS = """
    diese dieser dieses diesen diesem ce cet cette este esta questo questa quest' neste nesta deze dit ten tym tego этой этот
    эту этом bu den här
"""
THIS = frozenset(map(unaccented, _THIS.split()))
LAST_WEEK = (
    r"(?:(?:in |aus )?(?:der )?(?:letzten?|letzter|vergangenen?|vergangener|vorigen?|voriger) woche|(?:de )?la semaine "
    r"(?:derniere|passee)|(?:de |en )?la semana pasada|(?:della |la )?settimana (?:scorsa|passata)|(?:della )?scorsa settimana"
    r"|(?:da |na )?semana passada|(?:van |in )?(?:de )?(?:vorige|afgelopen) week|(?:w |z )?(?:zeszlym|zeszlego|ubieglym"
    r"|ubieglego) tygodni[ua]|(?:на |с )?прошлой недел[еи]|gecen hafta|(?:i )?forra veckan)"
)
"""A pattern for "last week", unaccented."""
PARTS_OF_DAY = (
    r"(?:abend|fruh|mittag|morgen|nachmittag|nacht|vormittag|avond|middag|nacht|ochtend|kvall|morgon|natt|soir|matin|apres-midi"
    r"|noche|tarde|sera|mattina|noite|manha|wieczorem|rano|вечером|утром|ночью|aksam|gece|sabah)"
)
"""A pattern for a part of the day behind a weekday, unaccented; in German it is joined to the weekday."""
