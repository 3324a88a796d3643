"""Whether two sentences say yes to the same thing: negation, opposites, quantifiers, modality, direction."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from quorra.agent.reading.quantity import Quantity, carries
from quorra.agent.reading.reader import known, read
from quorra.agent.reading.words import Word, contrasts, converses, group, members, past, ranked, siblings, stops, words
from quorra.agent.verifiers import claims, roles

_NEGATOR = re.compile(rf"\b(?:{group('no')})\b", re.IGNORECASE)
_DENYING = re.compile(rf"\b(?:{group('no')})\s+(?:\w+\s+)?$", re.IGNORECASE)
_NOT_ONLY = re.compile(r"\bnot (?:only|just)\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never)\s+(?:\w+\s+)?\w+\W*$|\w+n['’]t\s+(?:\w+\s+)?\w+\W*$", re.IGNORECASE)
_EXCEPTION = re.compile(rf"\b(?:{group('except')})\b", re.IGNORECASE)
_PRONOUN = re.compile(rf"\W*(?:(?:and|but|so|because|since|as|if|when)\s+)?({group('pronoun')})\b", re.IGNORECASE)
_STRONG = re.compile(
    rf"[;()—–]|:\s|\.\s+(?-i:(?=[A-Z]))|\b(?:{group('turn')})\b"
    rf"|,\s+(?=[\w ]{{1,30}}(?:(?:{group('aux')})(?:\s+not)?|\w+n['’]t)\W*$)"
    rf"|,?\s+\b(?:and|then)\b(?=\s+(?:\w+\s+){{0,3}}?(?:{group('aux')}|not|never|no|\w+n['’]t)\b)"
    rf"|,\s+(?=(?:{group('own')}|not|never|no|nothing|nobody|none|and|or|so)\b)",
    re.IGNORECASE,
)
_NONE_BUT = re.compile(r"\b(?:nobody|no one|nothing|none) (?:but|except)\b", re.IGNORECASE)
_ALL_BUT = re.compile(r"\b(every(?:one|body|thing)) but\b", re.IGNORECASE)
_ENDS = re.compile(r"\W*(?:$|[.,;:]|(?!(?:the|an?)\b)[a-z]+\b)")
_CLASS = {name: re.compile(rf"\b(?:{group(name)})\b", re.IGNORECASE) for name in ranked("classes")}
_OPPOSED = [pair.split() for pair in ("he she", "must may", "all some", "future past", "before during", "after during")]
_CONTRADICT = tuple(pair for one, other in _OPPOSED for pair in ((one, other), (other, one)))
_WILL = re.compile(r"\b(?:will|going to)\b|['’]ll\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a sentence within which one negation reaches."""

    text: str
    stems: frozenset[str]
    quantities: tuple[Quantity, ...]
    negative: bool

    def holds(self, mark: str | Quantity) -> bool:
        """Tells whether a word or an exact statement stands in the stretch."""
        if isinstance(mark, str):
            return known(mark, self.stems)
        return any(carries(one, mark) for one in self.quantities)


@cache
def stretches(text: str) -> tuple[Stretch, ...]:
    """Cuts a sentence where a negation stops reaching; a stretch that opens with a pronoun knows what it means."""
    cuts = [0, *(match.start() for match in _STRONG.finditer(text)), len(text)]
    found: list[Stretch] = []
    for part in (text[a:b] for a, b in pairwise(cuts)):
        if part.strip(" ,;:()—–."):
            leaning = _PRONOUN.match(part) if found else None
            lent = _meant(found[-1].text, thing=leaning[1].lower() not in {"he", "she"}) if leaning else frozenset()
            stems = read(part).stems | {word.lower for word in words(part) if word.lower in members("directed")}
            found.append(Stretch(part, stems | lent, read(part).quantities, negative(part)))
    return tuple(found)


def _meant(text: str, *, thing: bool) -> frozenset[str]:
    """Guesses what a pronoun after a stretch stands for: its subject and, for a thing, its last word."""
    last = [word.stem for word in read(text).content][-1:] if thing and not _DENIED.search(text) else []
    return frozenset(last) | (frozenset() if claims.orders(text) else claims.subject(text))


def negative(text: str) -> bool:
    """Tells whether a stretch says no."""
    return bool(_NEGATOR.search(text))


def excepts(text: str) -> bool:
    """Tells whether a sentence makes an exception."""
    return bool(_EXCEPTION.search(text))


def classes(text: str) -> frozenset[str]:
    """Names the kinds of modality, quantity, time and cause that a sentence speaks of outside its exact statements."""
    inside = [(one.start, one.end) for one in read(text).quantities]
    return frozenset(
        name
        for name, pattern in _CLASS.items()
        if any(not any(a <= match.start() < b for a, b in inside) for match in pattern.finditer(text))
    )


def opposites(draft: str, source: str) -> int:
    """Counts the draft's words whose opposite, but not themselves, the source has."""
    ours, theirs = (frozenset(word.stem for word in telling(text)) for text in (draft, source))
    everything = {word.stem for word in words(source)} | theirs
    said = [mark for mark in ours if not known(mark, theirs)]
    return sum(bool((contrasts().get(mark, frozenset()) & everything) - ours) for mark in said)


def relabelled(draft: str, source: str) -> bool:
    """Tells whether a thing is called the opposite of what the source calls it, where neither denies it."""
    theirs, held = _labels(source), {word.stem for word in words(source)}
    return any(
        (other, thing) in theirs
        for label, thing in _labels(draft)
        if label not in held
        for other in contrasts().get(label, frozenset()) - converses().get(label, frozenset())
    )


def _labels(text: str) -> frozenset[tuple[str, str]]:
    """Gives each word that is not denied with the one behind it."""
    pairs = pairwise(words(text))
    return frozenset((word.stem, after.stem) for word, after in pairs if not _DENYING.search(text[: word.start]))


def _doubled(draft: str, source: str) -> bool:
    """Tells whether a draft says a word again where the source has its opposite or its like."""
    ours, theirs = (Counter(word.stem for word in words(text)) for text in (draft, source))
    return any(
        ours[mark] > theirs[mark] > 0 and any(theirs[other] > ours[other] for other in against)
        for mark in ours
        if (against := contrasts().get(mark, frozenset()) | siblings().get(mark, frozenset()))
    )


def _denial_dropped(draft: str, source: str) -> bool:
    """Tells whether a draft that leaves out none of the source's words has one denial more or less."""
    whole = read(source).stems <= read(draft).stems and not opposites(draft, source)
    return whole and (_nays(draft) - _nays(source)) % 2 == 1


def limited(text: str) -> bool:
    """Tells whether a sentence says yes to some and no to the rest."""
    return "only" in classes(text) or excepts(text)


def telling(text: str) -> list[Word]:
    """Gives what may have an opposite: content words, words of direction, and “on” or “off” behind a verb."""
    found, before = [], ""
    for word in words(text):
        behind = _ENDS.match(text, word.end)
        if word.lower in members("particle"):
            if (before in members("phrasal") and behind) or word.lower in members("directed"):
                found.append(replace(word, stem=word.lower))
        elif word.lower not in stops() or word.lower in members("directed"):
            found.append(word)
        before = word.stem
    return found


def _straight(text: str) -> str:
    """Says “only” for “nobody but” and “except” for “everyone but”."""
    return _ALL_BUT.sub(r"\1 except", _NONE_BUT.sub("only", text))


def disagrees(draft: str, source: str) -> str | None:
    """Says in a few words how a draft's yes and no differ from its source's; None where they agree."""
    draft, source = _straight(draft), _straight(source)
    if excepts(source) != excepts(draft):
        return "an exception is dropped or added"
    if bool(_NOT_ONLY.search(draft)) != bool(_NOT_ONLY.search(source)):
        return "it says the opposite"
    if relabelled(draft, source) or _doubled(draft, source) or _denial_dropped(draft, source):
        return "it says the opposite"
    turned = roles.converse(draft, source)
    theirs = stretches(source)
    for stretch in stretches(draft):
        if _against(stretch, theirs, turned=turned):
            return "it says the opposite"
    return _force(draft, source, _nearest(draft, theirs))


def _against(stretch: Stretch, theirs: tuple[Stretch, ...], *, turned: bool) -> bool:
    """Tells whether a stretch says yes to words that the source only says no to, or the other way round."""
    marks: list[str | Quantity] = [*stretch.stems, *stretch.quantities]
    said = [mark for mark in marks if any(other.holds(mark) for other in theirs)]
    near = [_nearest(stretch.text, theirs)] if said else theirs
    if opposites(stretch.text, near[0].text) % 2 and not turned:
        return stretch.negative == near[0].negative
    if opposites(stretch.text, " ".join(other.text for other in theirs)) % 2 and not turned:
        holding = next((other for other in theirs if opposites(stretch.text, other.text) % 2), near[0])
        return stretch.negative == holding.negative
    denied = [mark for mark in said if not any(other.holds(mark) for other in theirs if not other.negative)]
    if not said:
        return stretch.negative and not any(other.negative for other in theirs)
    if not stretch.negative:
        return bool(denied)
    return not denied or (near[0].negative and (_nays(stretch.text) - _nays(near[0].text)) % 2 == 1)


def _nays(text: str) -> int:
    return len(_NEGATOR.findall(text))


def _nearest(draft: str, theirs: tuple[Stretch, ...]) -> Stretch:
    reading = read(draft)
    marks: list[str | Quantity] = [*reading.stems, *reading.quantities]
    return max(
        theirs,
        key=lambda stretch: sum(stretch.holds(mark) for mark in marks),
        default=Stretch("", frozenset(), (), False),
    )


def _force(draft: str, source: str, stretch: Stretch) -> str | None:
    ours, theirs, near = classes(draft), classes(source), classes(stretch.text)
    for mine, other in _CONTRADICT:
        if mine in ours and other in near and mine not in near and other not in ours:
            return f"it is stated as {mine}, the source says {other}"
    if _WILL.search(draft) and "future" not in theirs and _happened(source):
        return "it is still to come, the source says it has happened"
    if "doubt" in near and "doubt" not in ours:
        return "a doubt is dropped"
    for name in ("only", "cause", "all", "some"):
        if name in ours and name not in theirs and not (name == "all" and excepts(source)):
            return f"“{name}” is added"
    return None


def _happened(text: str) -> bool:
    """Tells whether a sentence has a verb in the past that is no part of a passive."""
    before = ""
    for word in words(text):
        if (word.lower.endswith("ed") or word.lower in past()) and before not in members("passive"):
            return True
        before = word.lower
    return False
