"""Unspaced days: rules that find days in Chinese, Japanese and Korean: `上周五`, `三日前`, `지난주 금요일`."""

from __future__ import annotations

import re
from datetime import date, timedelta

from germane.text.days import calendar
from germane.text.days.dates import DIGIT, EAST_ASIAN, Resolve, Rule, rule, shifted
from germane.types.query import Days

_MEANINGS = {
    word: meaning
    for words, meaning in (
        ("昨天 昨日 昨晚 昨夜 昨晩 きのう ゆうべ 어제 어젯밤", ("day", -1)),
        ("前天 前晚 一昨日 おととい 그저께 그제 엊그제", ("day", -2)),
        ("大前天 さきおととい 그끄저께", ("day", -3)),
        ("今天 今日 今早 今晚 今朝 今夜 きょう 오늘", ("day", 0)),
        ("明天 明日 あした 내일", ("day", 1)),
        ("后天 後天 明後日 あさって 모레", ("day", 2)),
        ("上上周 上上週 先々週 지지난주", ("week", -2)),
        ("上周 上週 上星期 上个星期 上個星期 上礼拜 上禮拜 先週 지난주 저번주", ("week", -1)),
        ("这周 這週 本周 本週 这个星期 這個星期 今週 이번주", ("week", 0)),
        ("上周末 上週末 上个周末 上個週末 先週末 지난주말", ("weekend", -1)),
        ("上个月 上個月 上月 先月 지난달 저번달", ("month", -1)),
        ("这个月 這個月 本月 今月 이번달", ("month", 0)),
        ("前年 一昨年 おととし 재작년", ("year", -2)),
        ("去年 昨年 작년 지난해", ("year", -1)),
        ("今年 올해", ("year", 0)),
    )
    for word in words.split()
}
_DIGITS = {"一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
_KOREAN = {"한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "일": 1}
_UNITS = {
    **dict.fromkeys(("天", "日", "일", "하루", "이틀", "사흘", "나흘", "晚"), "day"),
    **dict.fromkeys(("周", "週", "星期", "礼拜", "禮拜", "週間", "주", "주일"), "week"),
    **dict.fromkeys(("月", "か月", "ヶ月", "カ月", "ヵ月", "달", "개월"), "month"),
    **dict.fromkeys(("年", "년"), "year"),
}
_WEEKS = {
    **dict.fromkeys(("上上", "先々週", "지지난주"), -2),
    **dict.fromkeys(("上", "先週", "지난주", "저번주"), -1),
    **dict.fromkeys(("这", "這", "本", "今週", "이번주"), 0),
    **dict.fromkeys(("下", "来週", "다음주"), 1),
}
_WEEKDAYS = {
    letter: number
    for letters in ("一二三四五六日", "月火水木金土日", "월화수목금토일")
    for number, letter in enumerate(letters)
}
_WEEKDAYS["天"] = 6
_COUNT = r"(?P<count>\d{1,4}|[一二两兩三四五六七八九十])"


def _word(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (shifted(*_MEANINGS[match[0].replace(" ", "")], today),)


def _ago(match: re.Match[str], today: date) -> tuple[Days, ...]:
    unit, written = match["unit"], match["count"]
    count = int(written) if written.isdecimal() else _DIGITS.get(written) or _KOREAN[written]
    return (shifted(_UNITS[unit], -count, today),)


def _native_ago(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.day(today - timedelta(days=_KOREAN[match["native"]])),)


def _weekday(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """Of the week that is named; without one, the most recent such day, today included, or before it where the word says so."""
    number, week = _WEEKDAYS[match["weekday"]], (match["which"] or "").replace(" ", "").rstrip("个個")
    if week in _WEEKS:
        return (calendar.weekday(today + timedelta(days=7 * _WEEKS[week]), number),)
    since = (today.weekday() - number) % 7
    return (calendar.day(today - timedelta(days=since or 7 * bool(week))),)


def _weekend(match: re.Match[str], today: date) -> tuple[Days, ...]:
    return (calendar.weekend(today if today.weekday() >= 5 else today - timedelta(days=7)),)


def _day_of_month(match: re.Match[str], today: date) -> tuple[Days, ...]:
    month, day = int(match["m"]), int(match["d"])
    return (calendar.day(date(calendar.last_named(today, month, day), month, day)),)


def _month_in_words(match: re.Match[str], today: date) -> tuple[Days, ...]:
    month = _DIGITS["十"] + _DIGITS[match["m"][1]] if len(match["m"]) == 2 else _DIGITS[match["m"]]
    return (calendar.month(calendar.last_named(today, month), month),)


def _running(match: re.Match[str], today: date) -> tuple[Days, ...]:
    """`这几天`, `最近几天`, `ここ数日`: the last seven days."""
    return (calendar.span(today - timedelta(days=7), today),)


def _rule(pattern: str, resolve: Resolve, *needs: str) -> Rule:
    return rule(pattern, resolve, EAST_ASIAN, *needs)


UNSPACED: tuple[Rule, ...] = (
    _rule(r"(?<![\d年년])(?<![年년] )(?P<m>1[0-2]|0?[1-9])[月월] ?(?P<d>3[01]|[12]\d|0?[1-9])[日号號일]", _day_of_month, DIGIT),
    _rule(
        r"(?P<which>上上|上|这|這|本|下)?(?:个|個)?(?:周|週|星期|礼拜|禮拜)(?P<weekday>[一二三四五六日天])(?!间|間|年)",
        _weekday,
    ),
    _rule(r"(?:(?P<which>先々週|先週|今週|来週|この前|前)の?)?(?P<weekday>[月火水木金土日])曜日?", _weekday),
    _rule(
        r"(?:(?P<which>지지난 ?주|지난 ?주|저번 ?주|이번 ?주|다음 ?주|지난|저번) ?)?(?P<weekday>[월화수목금토일])요일", _weekday
    ),
    _rule(rf"{_COUNT} ?(?:个|個)?(?P<unit>天|日|晚|周|週間|週|星期|礼拜|禮拜|月|[かヶカヵ]月|年)(?:之|以)?前", _ago),
    _rule(r"(?P<count>\d{1,4}|한|두|세|네|다섯|일) ?(?P<unit>일|주일|주|달|개월|년) ?전", _ago),
    _rule(r"(?P<native>하루|이틀|사흘|나흘) ?전", _native_ago),
    _rule(r"(?<![一二三四五六七八九十初])(?P<m>十[一二]|[一二三四五六七八九十])月(?!前|之前|以前)", _month_in_words),
    _rule(r"이번 주|지난 주말|지난 주|지난 달|저번 주|이번 달", _word),
    _rule("|".join(sorted(_MEANINGS, key=len, reverse=True)), _word),
    _rule(r"(?P<weekend>周末|週末|주말)", _weekend),
    _rule(r"(?:这|這|最近|前)(?:几|幾)天|ここ数日|最近", _running),
)
"""The rules in the order in which they are tried; a month with its day comes before the months of `dates.py`."""
