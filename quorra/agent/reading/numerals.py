"""Every exact statement of a text, in order: numbers, identifiers and moments."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from quorra.agent.reading.moments import moments
from quorra.agent.reading.quantity import DIGITS, NUMERALS, Quantity, number, spelt, units
from quorra.agent.reading.words import group, members, ranked

_CODE = re.compile(
    r"https?://\S+[\w/]"
    r"|[\w.+-]+@[\w-]+\.[\w.]+\w"
    r"|(?<![\w-])--?[A-Za-z][\w-]*"
    r"|\+\d[\d ()/-]{5,}\d|\b0\d[\d ()/-]{4,}\d\b"
    r"|(?<!\w)[~.]?/?(?:[\w.-]+/)+[\w.-]*\w|(?<!\w)/[\w./-]*\w|(?<![\w.])\.[A-Za-z][\w.-]*\w"
    r"|\b\d+(?:\.\d+){2,}\b|\b\d{2,5}(?:[ -]\d{2,5})*[ -]\d{4,}\b|\b[A-Za-z]+@\d+\b"
    r"|\b[A-Za-z][\w-]*\.(?:md|toml|py|json|jsonl|yaml|txt|pdf|db|gguf|lock)\b"
    r"|\b[A-Za-z]+_\w+\b"
    r"|\b\d+[A-Za-z]+-\d+\b|\b[A-Za-z]+-?\d[\w-]*\b|\b\d+-?[A-Za-z]+\d[\w-]*\b|\b\d+[A-Zb-fi-koqrtuwxyz]\b"
    r"|\b\d+(?:-\d+)+\b|\b\d+(?::\d+)+\b"
)
_RANGE = re.compile(rf"(?P<low>{DIGITS})\s*(?:–|-|to|and|or)\s*(?P<high>{DIGITS})", re.IGNORECASE)
_CHANGE = re.compile(rf"\b(?:{group('change')})\s+$", re.IGNORECASE)
_PLAIN = re.compile(DIGITS)
_SPELT = "|".join(sorted(NUMERALS, key=len, reverse=True))
_LARGE = (
    rf"(?:(?:{_SPELT}|an?)[\s-]+)?(?:dozen|hundred|thousand|million)"
    rf"(?:\s+(?:and\s+)?(?:{_SPELT}))?(?:[\s-](?:{_SPELT}))?"
)
_WORDS = re.compile(
    rf"\b(?:(?:an?\s+)?half\b|a\s+couple\s+of\b|twice\b|{_LARGE}"
    rf"|(?:{_SPELT})(?:[\s-](?:{_SPELT}))?(?:\s+and\s+a\s+half)?)\b",
    re.IGNORECASE,
)
_HALVES = re.compile(
    r"\b(?P<share>half\s+an?|half|(?:a\s+)?quarter\s+of\s+an?|three\s+quarters\s+of\s+an?)"
    rf"\s+(?P<unit>{group('span')})\b|\b(?:an?|one)\s+(?P<whole>{group('span')})\s+and\s+a\s+half\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(
    r"\b(?P<over>an?|one|two|three|four|\d)[\s-](?P<under>third|quarter|fifth|sixth|eighth|tenth)s?\b(?=\s+of\b|\W*$|\s+(?:is|are|was|were)\b)",
    re.IGNORECASE,
)
_UNDER = {"third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_FIXED = {"twice": 2.0, "a couple of": 2.0, "half": 0.5, "a half": 0.5}
_UNIT = re.compile(r"\s*-?\s*(?P<unit>(?:(?:working|business)\s)?[°%€£$]?\s?[A-Za-z²/°]*)")
_MONEY = re.compile(r"[€£$]\s?$")
_ORDINAL = re.compile(
    rf"\b(?P<spelt>{group('ordinal')})\b(?!\s+hand)|\b(?P<digits>\d{{1,2}})(?:st|nd|rd|th)\b", re.IGNORECASE
)
_LISTED = re.compile(r"[^\d.;]{0,20}(?:,|/|\band\b|\bor\b|\bto\b)[^\d.;]{0,12}")
_ELLIPTIC = re.compile(r"[^\d.;]{0,12}(?:,|\band\b)[^\d.;]{1,30}")
_OVER = re.compile(r"\s*(?:[,.;:)]|and\b|or\b|but\b|$)")
_ORDINALS = ranked("ordinal")
_BOUND = re.compile(rf"\b(?:(?P<least>{group('least')})|(?P<most>{group('most')}))\s*$", re.IGNORECASE)
_TAIL = re.compile(
    r"\W*(?:(?P<least>or (?:more|newer|later|older)|at least|minimum|and up)"
    r"|(?P<most>or (?:less|fewer)|at most|maximum))\b",
    re.IGNORECASE,
)
_HYPHENATED = re.compile(r"\d{1,4}-\d{1,4}")


@cache
def quantities(text: str) -> tuple[Quantity, ...]:
    """Reads all exact statements of a text, sorted by place."""
    found = list(moments(text))
    taken = [(one.start, one.end) for one in found]
    for reader in (_codes, _halves, _fractions, _ranges, _digits, _spelt, _ordinals):
        for one in reader(text):
            if not any(start < one.end and one.start < end for start, end in taken):
                found.append(one)
                taken.append((one.start, one.end))
    return tuple(sorted(found, key=lambda one: (one.start, one.end)))


def _codes(text: str) -> Iterator[Quantity]:
    for match in _CODE.finditer(text):
        if _HYPHENATED.fullmatch(match[0]) and _rises(match[0]) and _unit(text, match.end())[0]:
            continue
        if match[0].lstrip("0123456789").lower() in units():
            continue
        folded = re.sub(r"[\s()]", "", match[0]).lower()
        yield Quantity("code", folded, match.start(), match.end(), match[0])


def _rises(text: str) -> bool:
    low, high = text.split("-")
    return int(low) < int(high)


def _ranges(text: str) -> Iterator[Quantity]:
    for match in _RANGE.finditer(text):
        between = re.search(r"\b(between|from)\s+$", text[: match.start()], re.IGNORECASE)
        joiner = text[match.end("low") : match.start("high")].strip().lower()
        low, high = number(match["low"]), number(match["high"])
        if low is None or high is None or low >= high or (joiner == "and" and not between):
            continue
        if between and _CHANGE.search(text[: between.start()]):
            continue
        unit, end = _unit(text, match.end())
        yield Quantity("number", (low, high), match.start(), end, text[match.start() : end], unit)


def _halves(text: str) -> Iterator[Quantity]:
    for match in _HALVES.finditer(text):
        share = (match["share"] or "").lower()
        value = 1.5 if match["whole"] else 0.75 if share.startswith("three") else 0.25 if "quarter" in share else 0.5
        name = (match["whole"] or match["unit"]).lower()
        unit = units()[name].name if name in units() else ""
        yield Quantity("number", (value,), match.start(), match.end(), match[0], unit)


def _fractions(text: str) -> Iterator[Quantity]:
    for match in _FRACTION.finditer(text):
        value = (number(match["over"].lower().replace("an", "a").replace("a", "one")) or 1) / _UNDER[
            match["under"].lower()
        ]
        yield Quantity("number", (value,), match.start(), match.end(), match[0])


def _digits(text: str) -> Iterator[Quantity]:
    for match in _PLAIN.finditer(text):
        value = number(match[0])
        if value is not None:
            yield _number(text, match.start(), match.end(), value)


def _spelt(text: str) -> Iterator[Quantity]:
    for match in _WORDS.finditer(text):
        name = re.sub(r"\s+", " ", match[0].lower())
        value = _FIXED.get(name)
        if value is None:
            value = spelt([part for part in re.split(r"[\s-]+", name) if part])
        if value is not None and not (name == "one" and _pronoun(text, match.start(), match.end())):
            yield _number(text, match.start(), match.end(), value, "times" if name == "twice" else "")


def _pronoun(text: str, start: int, end: int) -> bool:
    """Tells ``the blue one`` and ``one of them`` from ``one key``."""
    following = re.match(r"\s+([a-z]+)", text[end:], re.IGNORECASE)
    before = re.search(r"([a-z]+)\s+$", text[:start], re.IGNORECASE)
    if not following or following[1].lower() in members("one before"):
        return True
    return bool(before and before[1].lower() in members("one after"))


def _number(text: str, start: int, end: int, value: float, unit: str = "") -> Quantity:
    money = _MONEY.search(text[:start])
    if money:
        unit, start = units()[money[0].strip()].name, money.start()
    elif not unit:
        unit, end = _unit(text, end)
    return Quantity("number", (value,), start, end, text[start:end], unit, _bound(text, start, end))


def _bound(text: str, start: int, end: int) -> str:
    for match in (_BOUND.search(text[:start]), _TAIL.match(text[end:])):
        if match:
            return "least" if match["least"] else "most"
    return ""


def _unit(text: str, end: int) -> tuple[str, int]:
    match = _UNIT.match(text, end)
    form = re.sub(r"\s", "", match["unit"]).lower() if match else ""
    unit = units().get(form)
    if match and unit is None and form.startswith(("°", "%", "€", "£", "$")):
        unit = units().get(form[0])
        return (unit.name, text.index(form[0], end) + 1) if unit else ("", end)
    if unit is None or match is None:
        return "", end
    if form in {"degrees", "degree", "°"}:
        scale = re.match(r"\s*(celsius|fahrenheit|c|f)\b", text[match.end() :], re.IGNORECASE)
        if scale:
            name = "celsius" if scale[1].lower().startswith("c") else "fahrenheit"
            return name, match.end() + scale.end()
    return unit.name, match.end("unit")


def _ordinals(text: str) -> Iterator[Quantity]:
    for match in _ORDINAL.finditer(text):
        at = _ORDINALS.index(match["spelt"].lower()) + 1 if match["spelt"] else int(match["digits"])
        yield Quantity("ordinal", (at,), match.start(), match.end(), match[0])


def shared_units(text: str, found: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """Gives a number without a unit that of its neighbour in a list.

    So ``2.4 front, 2.7 bar rear`` are two pressures, ``bread three days, fish two`` two durations.
    """
    given = list(found)
    for at in range(len(given) - 2, -1, -1):
        one, other = given[at], given[at + 1]
        if _bare(one) and other.unit and one.text[:1].isdigit() and _LISTED.fullmatch(text[one.end : other.start]):
            given[at] = replace(one, unit=other.unit)
    for at in range(1, len(given)):
        before, one = given[at - 1], given[at]
        if (
            _bare(one)
            and before.unit
            and _ELLIPTIC.fullmatch(text[before.end : one.start])
            and _OVER.match(text, one.end)
        ):
            given[at] = replace(one, unit=before.unit)
    return tuple(given)


def _bare(one: Quantity) -> bool:
    return one.kind == "number" and not one.unit
