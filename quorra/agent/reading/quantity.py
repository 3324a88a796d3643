"""What a sentence states exactly: numbers with units, dates, times, periods and identifiers."""

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, cast

from quorra.agent.reading.words import lines, ranked

Kind = Literal["number", "date", "time", "weekday", "period", "ordinal", "code", "name"]
Value = tuple[float | None, ...] | str

NUMERALS: dict[str, int] = {name: at for at, name in enumerate(ranked("ones"))} | {
    name: 10 * at for at, name in enumerate(ranked("tens"), 2)
}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
DIGITS = r"\d{1,3}(?:[,  ’']\d{3})+(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?"
"""A number in digits, its thousands grouped or not."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit's canonical name; ``factor`` turns it into its dimension's base, 0 where it has none."""

    name: str
    dimension: str
    factor: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """One exact statement at ``start:end`` of its text.

    ``value`` is (number,) or (low, high) for numbers, (year, month, day) with
    None for what is not said, (minutes, marked) for times, (count, unit's rank)
    for periods, the folded text for identifiers. ``bound`` tells "at least" and
    "at most" from a plain number.
    """

    kind: Kind
    value: Value
    start: int
    end: int
    text: str
    unit: str = ""
    bound: str = ""

    @property
    def dimension(self) -> str:
        """Names what kind of thing is measured: two of one dimension compete for one question."""
        if self.kind == "number":
            return unit_of(self.unit).dimension if self.unit else "count"
        if self.kind == "period" and self.text[:2].lower() in {"a ", "an"}:
            return "months" if self.value[1] == PERIODS["month"][1] else "duration"
        return self.kind

    @property
    def ends(self) -> "tuple[Quantity, ...]":
        """Gives the two ends of a range, as “at least” and “at most”; none for what is no range."""
        if self.kind != "number" or isinstance(self.value, str) or len(self.value) != 2:
            return ()
        low, high = self.value
        return replace(self, value=(low,), bound="least"), replace(self, value=(high,), bound="most")

    @property
    def mark(self) -> str:
        """Writes kind and value so that equal statements are equal texts."""
        if isinstance(self.value, str):
            return f"{self.kind}:{self.value}"
        return f"{self.kind}:{'/'.join('' if part is None else f'{part:g}' for part in self.value)}{self.unit}"


@cache
def units() -> dict[str, Unit]:
    """Maps every written form of a unit to the unit."""
    table = {}
    for line in lines("units"):
        name, dimension, factor, *forms = line.split()
        for form in forms:
            table[form] = Unit(name, dimension, float(factor))
    return table


@cache
def unit_of(name: str) -> Unit:
    """Gives a unit by its canonical name; a name of no unit is a count of that thing."""
    return next((unit for unit in units().values() if unit.name == name), Unit(name, "count", 0.0))


def number(text: str) -> float | None:
    """Reads a number in digits or English words; None where it is neither."""
    text = text.strip().lower()
    if re.fullmatch(DIGITS, text):
        return _digits(text)
    return spelt(re.split(r"[\s-]+", text))


def _digits(text: str) -> float:
    grouped = re.fullmatch(r"\d{1,3}(?:[,  ’']\d{3})+(?:\.\d+)?", text)
    return float(re.sub(r"[,  ’']", "", text) if grouped else text.replace(",", "."))


def spelt(names: list[str]) -> float | None:
    """Reads number words such as ``one hundred and twenty`` or ``two and a half``."""
    total, part, seen = 0.0, 0.0, False
    names = ["one" if name in {"a", "an"} and at + 1 < len(names) else name for at, name in enumerate(names)]
    joined = " ".join(names)
    if joined.endswith(" and one half") or joined.endswith(" and half"):
        whole = spelt(names[: names.index("and", -3)] if "and" in names[-3:] else names)
        return None if whole is None else whole + 0.5
    for name in names:
        if name == "and" and seen:
            continue
        if name in NUMERALS:
            part += NUMERALS[name]
        elif name in _SCALES:
            part = (part or 1) * _SCALES[name]
            if name not in {"hundred", "dozen"}:
                total, part = total + part, 0.0
        else:
            return None
        seen = True
    return total + part if seen else None


def carries(source: Quantity, draft: Quantity) -> bool:
    """Tells whether a source's statement holds all that a draft's says."""
    if source.kind != draft.kind:
        return _crosses(source, draft)
    if draft.kind == "date":
        return all(wanted is None or wanted == given for wanted, given in zip(draft.value, source.value, strict=True))
    if draft.kind == "time":
        return _same_time(source, draft)
    if draft.kind != "number":
        return source.value == draft.value
    return _same_number(source, draft)


def _same_time(source: Quantity, draft: Quantity) -> bool:
    at, marked = cast(tuple[float, float], draft.value)
    given, _ = cast(tuple[float, float], source.value)
    return at == given or (not marked and at % 720 == given % 720)


def _same_number(source: Quantity, draft: Quantity) -> bool:
    if len(source.value) != len(draft.value) or (draft.bound and draft.bound != source.bound):
        return False
    if draft.unit == source.unit or not draft.unit:
        return source.value == draft.value
    if not source.unit:
        return False
    ours, theirs = unit_of(draft.unit), unit_of(source.unit)
    if not ours.factor or not theirs.factor or ours.dimension != theirs.dimension:
        return False
    pairs = zip(draft.value, source.value, strict=True)
    return all(
        abs(float(a or 0) * ours.factor - float(b or 0) * theirs.factor) < 1e-9 * theirs.factor for a, b in pairs
    )


def _crosses(source: Quantity, draft: Quantity) -> bool:
    """Lets ``a week`` stand for ``7 days``."""
    lengths = [_length(one) for one in (source, draft)]
    alike = {source.kind, draft.kind} == {"number", "period"} and source.dimension == draft.dimension
    return alike and lengths[0] is not None and lengths[0] == lengths[1]


def _length(one: Quantity) -> tuple[str, float] | None:
    """Gives how long a period or a duration is, in seconds or in months; None where it is neither."""
    if one.kind == "period":
        count, base = cast(tuple[float, float], one.value)
        return ("months", count) if base == 4 else ("duration", count * _SECONDS[int(base)])
    unit = unit_of(one.unit)
    if unit.dimension not in {"months", "duration"} or len(one.value) != 1:
        return None
    return unit.dimension, float(one.value[0] or 0) * unit.factor


_SECONDS = (1, 60, 3600, 86400)
"""How many seconds a second, a minute, an hour and a day have: the bases of a period but the month."""
PERIODS: dict[str, tuple[float, float]] = {
    "second": (1, 0), "minute": (1, 1), "hour": (1, 2), "day": (1, 3), "week": (7, 3), "fortnight": (14, 3),
    "month": (1, 4), "quarter": (3, 4), "year": (12, 4),
}  # fmt: skip
"""A period as (count, base): seconds, minutes, hours, days or months."""
