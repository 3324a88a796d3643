"""Cuts a draft into claims, each small enough to have one source."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from quorra.agent.reading.reader import read
from quorra.agent.reading.words import group, past, stops, words

_PATH = r"[\w./-]+\.md"
_MARK = re.compile(
    r"\s*\[\^?\d+(?:\s*[,;–-]\s*\d+)*\]"
    rf"|\s*[(\[]+(?:(?:source|see|from|cf|note)s?[:.]?\s*)?`?{_PATH}`?(?:[,;:#]\s*[^)\]]*)?[)\]]+",
    re.IGNORECASE,
)
_NOTE = f"(?:{group('note')})"
_OURS = "(?:the|your|my|these|this|our)"
_OPENER = re.compile(
    r"^\s*(?:(?:according to|based on|as (?:stated|mentioned|noted|written) in|from|per|in) "
    rf"(?:{_OURS} (?:\w+ ){{0,2}}{_NOTE}(?: (?:provided|given|above))?|`?{_PATH}`?),?\s+"
    rf"|(?:the|your) {_NOTE} (?:says?|states?|shows?|mentions?)(?: that)?:?\s+"
    r"|(?:sure|certainly|of course|okay|ok|great question|good question)[,.!:]?\s+"
    r"|here(?: is|'s) (?:the|your) answer:?\s+|answer:\s+)",
    re.IGNORECASE,
)
_NOT = r"(?:do|does|did)(?: not|n['’]t)"
_TELLS = "(?:say|mention|contain|answer|specify|state|tell|include)"
_NOTHING = re.compile(
    rf"^\W*not found\b|\b{_NOTE} {_NOT} (?:\w+ )?{_TELLS}\b|\bno information\b"
    rf"|\b(?:is|are) not (?:mentioned|stated|given) in the {_NOTE}\b"
    r"|\bi (?:could not|couldn['’]t|cannot|can['’]t|did not|didn['’]t) find\b",
    re.IGNORECASE,
)
_YES = re.compile(r"^\s*(yes|no)\b(?:\s*[,.!:;–—-]+\s*|\s*$)", re.IGNORECASE)
_JOINT = re.compile(
    r"(?:,\s*|\s+)(?:and|but|while|whereas|although|though|plus|then|so)\s+(?:then\s+|also\s+)?|;\s*|\s+[–—]\s+"
    r"|\s+(?=(?:because|since|due to|so that|in order to|as soon as|except|unless)\b)|,\s+",
    re.IGNORECASE,
)
_PRONOUN = re.compile(rf"^\W*(?:{group('pronoun')}|{group('its')})\b", re.IGNORECASE)
_ORDER = re.compile(
    r"^\W*(?:(?:please|do not|don['’]t|never|always|first|then)\b"
    rf"|(?!(?:{group('determiner')})\b)[A-Z][a-z]+ (?:{group('order')})\b)"
)
_VERB = re.compile(rf"^(?:{group('aux')}|{group('verb')}|not|never|cannot|\w+n['’]t)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Claim:
    """A stretch of a draft; ``subject`` is what it leaves to the claim before it to name."""

    text: str
    subject: frozenset[str] = frozenset()


def clean(sentence: str) -> str:
    """Takes away citation marks that a model wrote itself and phrases that say nothing."""
    text = _MARK.sub("", sentence)
    while (shorter := _OPENER.sub("", text)) != text:
        text = shorter
    return text.strip()


def nothing(sentence: str) -> bool:
    """Tells whether a model says that it found no answer."""
    return bool(_NOTHING.search(sentence))


def hollow(sentence: str) -> bool:
    """Tells whether a sentence says nothing by itself, so that it belongs to the one behind it."""
    reading = read(verdict(clean(f"{sentence} "))[1])
    return not reading.content and not reading.quantities


def unmarked(draft: str) -> str:
    """Takes away citation marks that a model wrote itself."""
    return _MARK.sub("", draft).strip()


def verdict(sentence: str) -> tuple[str, str]:
    """Splits a leading yes or no from the sentence that explains it."""
    match = _YES.match(sentence)
    if not match:
        return "", sentence
    return match[1].lower(), sentence[match.end() :]


def subject(text: str) -> frozenset[str]:
    """Guesses what a sentence is about: its content words before the first common verb, else the first two."""
    found: list[str] = []
    for word in words(text):
        if _VERB.match(word.lower) and found:
            break
        if word.lower not in stops():
            found.append(word.stem)
    stems = read(text).stems
    return frozenset([stem for stem in found if stem in stems][:3])


def orders(text: str) -> bool:
    """Guesses whether a sentence tells someone to do something, so that it names no subject."""
    return bool(_ORDER.match(text))


def leans(text: str) -> bool:
    """Tells whether a claim has no subject of its own."""
    first = next(iter(words(text)), None)
    if first is None or _PRONOUN.match(text) or _VERB.match(first.lower):
        return True
    return first.lower in past() or (first.lower.endswith("ed") and not first.capital)


def splittings(text: str, most: int = 4) -> Iterator[list[str]]:
    """Gives the ways to cut a sentence at its joints into two to four pieces, fewest pieces first."""
    joints = [match.span() for match in _JOINT.finditer(text)]
    for count in range(1, most):
        for chosen in _chosen(len(joints), count):
            yield _pieces(text, [joints[at] for at in chosen])


def _chosen(total: int, count: int, start: int = 0) -> Iterator[list[int]]:
    if count == 0:
        yield []
        return
    for at in range(start, total):
        for rest in _chosen(total, count - 1, at + 1):
            yield [at, *rest]


def _pieces(text: str, cuts: list[tuple[int, int]]) -> list[str]:
    pieces, at = [], 0
    for start, end in cuts:
        pieces.append(text[at:start])
        word = text[start:end].strip(" ,;–—").lower()
        at = (
            start
            if word in {"because", "since", "unless", "except", "while", "but"} or text[start:end].isspace()
            else end
        )
    return [*pieces, text[at:]]
