"""Dates, times of day and recurring periods, read from a text whatever their form."""

import re
from collections.abc import Iterator

from quorra.agent.reading.quantity import PERIODS, Kind, Quantity, Value, number, units
from quorra.agent.reading.words import ranked

_FULL = ranked("months")
_MONTHS = (
    {name: at for at, name in enumerate(_FULL, 1)} | {name[:3]: at for at, name in enumerate(_FULL, 1)} | {"sept": 9}
)
_DAYS = ranked("days")
_NAMES = "|".join(sorted(_MONTHS, key=len, reverse=True))
_M = rf"(?P<m>{_NAMES})\b\.?"
_D = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th)?"
_Y = r"(?P<y>(?:1[89]|20)\d\d)"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_Y}-(?P<n>\d\d)(?:-{_D})?\b(?!-)",
        rf"\b(?:the\s+)?{_D}\s+(?:of\s+)?{_M}(?:,?\s+{_Y}\b)?",
        rf"\b{_M}\s+(?:the\s+)?{_D}\b(?![.:]\d|\s*%)(?:,?\s+{_Y}\b)?",
        rf"\b{_M},?\s+(?:of\s+)?{_Y}\b",
        rf"\b{_D}\.\s?(?P<n>[01]?\d)\.\s?{_Y}\b",
    )
]
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(_FULL)})\b", re.IGNORECASE)
_BEFORE_MAY = re.compile(
    r"\b(?:in|each|every|of|by|last|next|since|until|till|early|late|mid|this|from|to|through|before|after|between|is|was|for|and|or)\s+$",
    re.IGNORECASE,
)
_YEAR = re.compile(rf"(?<![\w.,:/€£$-]){_Y}\b(?!\s*(?:%|[-–/]\s?\d|[.,:]\d))")
_NEXT = re.compile(r"[\s-]?([A-Za-z²]{2,}|[mglkwMGLKW])\b")
_WEEKDAY = re.compile(r"\b(mon|tues|wednes|thurs|fri|satur|sun)day(s?)\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"\b(?P<h>[01]?\d|2[0-4])(?:[:.](?P<min>[0-5]\d))?\s*(?P<half>[ap])\.?m\b\.?|\b(?P<h24>[01]?\d|2[0-4]):(?P<min24>[0-5]\d)\b"
    r"|\b(?P<spoken>\d{1,2}|[a-z]+)\s+o['’]clock",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?P<share>half|(?:a\s+)?quarter|five|ten|twenty|twenty-five)\s+(?P<way>past|to)\s+(?P<h>\d{1,2}|[a-z]+)\b",
    re.IGNORECASE,
)
_SHARE = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_NOON = re.compile(r"\b(noon|midday|midnight)\b", re.IGNORECASE)
_HALF = re.compile(r"\s*,?\s*(?:in the\s+|at\s+)(morning|afternoon|evening|night)\b", re.IGNORECASE)
_PARTS = "morning|afternoon|evening|night"
_SPANS = "day|week|fortnight|month|quarter|year|hour|minute"
_MARKS = "|".join([*_DAYS, *_FULL])
_PERIOD = re.compile(
    r"\b(?P<adverb>daily|nightly|weekly|fortnightly|bi-?weekly|monthly|quarterly|half-yearly|annually|annual|yearly|hourly)\b"
    rf"|\b(?:every|each|per|once\s+(?:an?|every|per)|an?|of\s+the|one)\s+(?P<unit>{_SPANS})\b(?!-)"
    rf"|\b(?:every|each)\s+(?P<skip>other|second|third|fourth|2nd|3rd)\s+(?P<of>{_SPANS}|{_MARKS})\b"
    rf"|\b(?:every|each)\s+(?P<mark>{_MARKS})\b"
    rf"|\b(?P<part>every|each)(?=\s+(?:{_PARTS})\b)"
    rf"|\bevery\s+(?P<count>\d+|[a-z]+(?:-[a-z]+)?)\s+(?P<many>{_SPANS})s\b",
    re.IGNORECASE,
)
_HALVED = re.compile(r"\b(?:half|quarter of|quarters of)\s+$", re.IGNORECASE)
_AND_HALF = re.compile(r"\s+and\s+a\s+half\b", re.IGNORECASE)
_ADVERB = {
    "hourly": (1, 2), "daily": (1, 3), "nightly": (1, 3), "weekly": (7, 3), "fortnightly": (14, 3), "biweekly": (14, 3),
    "monthly": (1, 4), "quarterly": (3, 4), "half-yearly": (6, 4), "annual": (12, 4), "annually": (12, 4),
    "yearly": (12, 4),
}  # fmt: skip
_SKIP = {"other": 2, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4}


def moments(text: str) -> Iterator[Quantity]:
    """Finds what a text says about time; spans may overlap only for a period and its weekday or month."""
    taken: list[tuple[int, int]] = []
    for found in (*_dates(text), *_times(text)):
        if not _overlaps(taken, found):
            taken.append((found.start, found.end))
            yield found
    for found in (*_months(text), *_weekdays(text)):
        if not _overlaps(taken, found):
            yield found
    for found in _periods(text):
        if not _overlaps(taken, found):
            yield found


def _overlaps(taken: list[tuple[int, int]], found: Quantity) -> bool:
    return any(start < found.end and found.start < end for start, end in taken)


def _made(kind: Kind, value: Value, text: str, start: int, end: int) -> Quantity:
    return Quantity(kind, value, start, end, text[start:end])


def _dates(text: str) -> Iterator[Quantity]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = int(parts["n"]) if parts.get("n") else _MONTHS[parts["m"].lower()]
            year, day = parts.get("y"), parts.get("d")
            value = (int(year) if year else None, month, int(day) if day else None)
            yield _made("date", value, text, match.start(), match.end())
    for match in _SLASHED.finditer(text):
        first, second, year = int(match[1]), int(match[2]), int(match[3]) + (2000 if len(match[3]) == 2 else 0)
        if first > 12 or second > 12:
            value = (year, min(first, second), max(first, second))
            yield _made("date", value, text, match.start(), match.end())
        else:  # day and month can't be told apart, so only the same characters carry it
            yield _made("code", match[0], text, match.start(), match.end())
    for match in _YEAR.finditer(text):
        unit = _NEXT.match(text, match.end())
        if not unit or unit[1].lower() not in units():
            yield _made("date", (int(match["y"]), None, None), text, match.start(), match.end())


def _months(text: str) -> Iterator[Quantity]:
    for match in _MONTH.finditer(text):
        word = match[0]
        if word.lower() in {"may", "march"} and (word.islower() or not _BEFORE_MAY.search(text[: match.start()])):
            following = text[match.end() :].lstrip()
            if word.islower() or following[:1].isalpha():
                continue
        yield _made("date", (None, _MONTHS[word.lower()], None), text, match.start(), match.end())


def _weekdays(text: str) -> Iterator[Quantity]:
    for match in _WEEKDAY.finditer(text):
        day = _DAYS.index(match[0].lower().removesuffix("s") if match[2] else match[0].lower())
        yield _made("weekday", (day,), text, match.start(), match.end())


def _times(text: str) -> Iterator[Quantity]:
    for match in _PAST.finditer(text):
        hour = number(match["h"])
        if hour is not None and 0 < hour <= 24:
            share = _SHARE[match["share"].lower().removeprefix("a").strip()]
            at = hour * 60 + (share if match["way"].lower() == "past" else -share)
            yield _spoken(text, match.start(), match.end(), at)
    for match in _CLOCK.finditer(text):
        if match["half"]:
            hour = int(match["h"]) % 12 + (12 if match["half"].lower() == "p" else 0)
            yield _made("time", (hour * 60 + int(match["min"] or 0), 1), text, match.start(), match.end())
        elif match["h24"]:
            at, plain = int(match["h24"]) * 60 + int(match["min24"]), int(match["h24"]) <= 12
            if plain:
                yield _spoken(text, match.start(), match.end(), at)
            else:
                yield _made("time", (at, 1), text, match.start(), match.end())
        elif (hour_ := number(match["spoken"])) is not None:
            yield _spoken(text, match.start(), match.end(), hour_ * 60)
    for match in _NOON.finditer(text):
        at = 0 if match[0].lower() == "midnight" else 720
        yield _made("time", (at, 1), text, match.start(), match.end())


def _spoken(text: str, start: int, end: int, at: float) -> Quantity:
    """A time without am or pm, unless a part of the day follows it."""
    half = _HALF.match(text, end)
    if not half:
        return _made("time", (at, 0), text, start, end)
    late = half[1].lower() != "morning" and at < 720
    return _made("time", (at + 720 if late else at, 1), text, start, half.end())


def _periods(text: str) -> Iterator[Quantity]:
    for match in _PERIOD.finditer(text):
        if _HALVED.search(text[: match.start()]) or _AND_HALF.match(text, match.end()):
            continue
        value = _period({name: part.lower() for name, part in match.groupdict().items() if part})
        if value is not None:
            yield _made("period", value, text, match.start(), match.end())
    for match in _WEEKDAY.finditer(text):
        before = text[: match.start()].split()[-2:]
        if match[2] and not {"every", "each"} & {word.lower() for word in before}:
            yield _made("period", (7, 3), text, match.start(), match.end())


def _period(parts: dict[str, str]) -> tuple[float, float] | None:
    if "adverb" in parts:
        return _ADVERB[parts["adverb"].replace("bi-", "bi")]
    if "part" in parts:
        return (1, 3)
    if "mark" in parts:
        return _span(parts["mark"])
    if "skip" in parts:
        count, base = _span(parts["of"])
        return count * _SKIP[parts["skip"]], base
    if "many" in parts:
        times = number(parts["count"])
        count, base = _span(parts["many"])
        return None if times is None else (count * times, base)
    return _span(parts["unit"])


def _span(word: str) -> tuple[float, float]:
    if word in _DAYS:
        return (7, 3)
    if word in _MONTHS:
        return (12, 4)
    return PERIODS.get(word, (1, 3))
