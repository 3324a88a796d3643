"""Which kind of sentence a question waits for: a name, a place, a reason, something to type, an exact statement."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from quorra.agent.reading.quantity import NUMERALS
from quorra.agent.reading.reader import Reading, implied, known, read
from quorra.agent.reading.sentences import Source, plain, split
from quorra.agent.reading.words import Word, content, empty, members, siblings, words
from quorra.agent.verifiers import about
from quorra.agent.verifiers.about import Question

_PERSON = re.compile(
    r"\b(?:person|owner|member|someone|people|everyone|nobody|neighbour|doctor|company)\b", re.IGNORECASE
)
_REASON = re.compile(r"\b(?:because|since|so that|otherwise|therefore|as it|for this reason)\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|on|under|behind|beside|above|below|next to|at|inside|between)\b", re.IGNORECASE)
_HOW = re.compile(r"\bhow (?:do|can|should|may|would|to)\b", re.IGNORECASE)
_COMMAND = re.compile(r"\bwhich command\b|\bwhat do i (?:type|run|enter)\b", re.IGNORECASE)
_DOES = re.compile(
    r"^To \w|\b(?:run|use|type|press|set|add|copy|delete|click|select|open|call|choose|install|put|turn|close|write"
    r"|give|name|start|stop)\b",
    re.IGNORECASE,
)
_TYPED = re.compile(r"`|(?:^|\s)--?[a-z]|(?:^|\s)\.[a-z]")


def _named(source: Source, reading: Reading) -> bool:
    return bool(reading.names) or bool(_PERSON.search(source.plain))


def _typed(source: Source, reading: Reading) -> bool:
    return bool(_TYPED.search(source.text)) or any(one.kind == "code" for one in reading.quantities)


_WHO = r"\bwho(?:m|se)?\b|\bwhich \w+(?:ian|ist|er)\b(?=.*\b(?:put|did|made|built|fixed|came)\b)"
_CUES: tuple[tuple[str, Callable[[Source, Reading], bool]], ...] = (
    (_WHO, _named),
    (r"\bwhy\b", lambda source, reading: bool(_REASON.search(source.plain))),
    (
        r"\b(?:command|option|flag|file|folder|directory|path|variable|endpoint|key|code|type)\b",
        _typed,
    ),
    (
        r"\bhow (?:do|can|should|may|would) (?:i|we|you|one)\b",
        lambda source, reading: _typed(source, reading) or bool(_DOES.search(source.plain)),
    ),
    (
        r"\bwhere\b|\bin which\b|\bwhich (?:room|drawer|shelf|place)\b",
        lambda source, reading: bool(_PLACE.search(source.plain)),
    ),
)
_COUNTED = re.compile(r"\bhow many (?:\w+ly )?([a-z]+)", re.IGNORECASE)
_COMPOUND = re.compile(r"(?P<thing>\b[a-z]+-[a-z]+\b)")
_THING = re.compile(
    r"\b(?:which|how many|what(?: is| are|'s)?(?: the)?(?: (?:number|name|colour|kind|type|amount|cost|price) of)?)"
    r"(?: (?:the|our|my|your|a))?(?: \w+'s)? (?P<thing>[a-z]+(?: [a-z]+)?)\b",
    re.IGNORECASE,
)
_DEFINED = re.compile(r"(?:what|who)(?:['’]s| is| are)(?: an?| the)? (?P<thing>[\w'’ -]+?)\s*\?*", re.IGNORECASE)
_ASKING = re.compile(r"\?|\b(?:what|which|who|whom|whose|where|when|how|why)\b", re.IGNORECASE)
_CODE = re.compile(r"`[^`]*`")
_WHEN = re.compile(r"\bwhen\b", re.IGNORECASE)
_UNDER = re.compile(r"\b(?:if|when|whenever|while|unless|above|below|weekdays|weekends)\b", re.IGNORECASE)
_OFTEN = 2
_OWNED = re.compile(r"\b(?P<owner>[A-Z]\w+)['’]s (?P<thing>[a-z]+)")
_META = re.compile(r"^This (?:note|page|file)\b|^(?:See|More)\b.{0,60}$|^For more\b")


def cued(question: str, source: Source) -> bool | None:
    """Tells whether a sentence is of the kind that the question waits for; None where it waits for none."""
    lowered = question.lower()
    for pattern, holds in _CUES:
        if re.search(pattern, lowered):
            return holds(source, read(source.plain))
    return None


def defines(question: str, source: Source) -> bool:
    """Tells whether a sentence begins by saying what the very thing is that a question asks for."""
    match = _DEFINED.fullmatch(question.strip())
    if not match:
        return False
    says = rf"(?:an? |the )?{re.escape(match['thing'])} (?:is|are|means|stands for) (?!(?:not|in|on|at|\w+ed)\b)"
    return re.match(says, source.plain, re.IGNORECASE) is not None


def personal(question: str) -> bool:
    """Tells whether a question asks for a person."""
    return bool(re.search(_WHO, question.lower()))


def person(question: str, source: Source) -> bool:
    """Tells whether a sentence holds a person or a name that the question does not name itself."""
    asked = frozenset(word.stem for word in words(question))
    said = plain(_CODE.sub("", source.text))
    names = [word for word in content(said) if word.lower in read(said).names or (word.capital and not word.start)]
    return any(word.stem not in asked for word in names) or bool(_PERSON.search(source.plain))


def asking(question: str) -> str:
    """Gives the sentence of a question that asks; the whole where none is told apart."""
    return next((text for text in reversed(split(question)) if _ASKING.search(text)), question)


def typed(question: str) -> bool:
    """Tells whether a question asks how something is done, so that code may be the answer."""
    return bool(_HOW.search(question) or _COMMAND.search(question))


def does(question: str, source: Source) -> bool:
    """Tells whether a sentence says what to do, where a question asks how."""
    return bool(_HOW.search(question)) and bool(_DOES.search(source.plain))


def owned(question: str, source: Source) -> bool:
    """Tells whether a thing is the one of whom the question names: Tom's birthday, and not hers."""
    for match in _OWNED.finditer(question):
        owner, thing = match["owner"], match["thing"]
        theirs = re.compile(rf"\b(?:(?P<whose>\w+)['’]s|her|his|their|its|my|our|your) (?:\w+ )?{thing}", re.IGNORECASE)
        mine = re.search(rf"\b{owner}\b", source.about, re.IGNORECASE)
        others = [found for found in theirs.finditer(source.plain) if (found["whose"] or "").lower() != owner.lower()]
        if others and not mine:
            return False
    return True


def rival(key: Word, there: frozenset[str]) -> bool:
    """Tells whether a key word is missing where another of its kind is: a dog where there is a cat."""
    return key.stem not in there and not known(key.stem, there) and bool(siblings().get(key.stem, frozenset()) & there)


def exact(asked: Question, source: Source) -> bool | None:
    """Tells whether a sentence holds the kind of number, date or time that is asked for; None where none is."""
    parts = [part for part in asked.parts if part.wants]
    if not parts:
        return None
    if _WHEN.search(asked.reading.text) and _UNDER.search(source.plain):
        return True
    return any(about.answers(part, read(source.plain)) for part in parts)


def counted(question: str, source: Source) -> bool:
    """Tells whether a sentence speaks of the things that are to be counted, if any are."""
    match = _COUNTED.search(question)
    if not match:
        return True
    stems = frozenset(word.stem for word in words(source.plain))
    return all(known(word.stem, stems) for word in words(match[1])[:1])


def meta(source: Source) -> bool:
    """Tells whether a sentence only says what its note is about."""
    return bool(_META.match(source.plain))


def strangers(question: str, sources: Sequence[Source]) -> list[str]:
    """Gives what a question names and no passage knows: names, compounds, and the very thing that it asks for."""
    texts = [text for source in sources for text in (source.plain, source.about)]
    measured = implied(one for source in sources for one in read(source.plain).quantities)
    there = frozenset(word.stem for text in texts for word in words(text)) | measured
    first = {match.start() for match in re.finditer(r"(?<=[.?!] )\w|^\w", question.strip())}
    found = [word.text for word in read(question).content if _name(word, first) and not known(word.stem, there)]
    for thing in things(question):
        if not any(known(word.stem, there) for word in thing):
            found.append(" ".join(word.text for word in thing))
    return found


def things(question: str) -> list[list[Word]]:
    """Gives the very things that a question asks for, a compound or a noun after “which”, as words."""
    found = []
    for match in (*_COMPOUND.finditer(question), *_THING.finditer(question)):
        parts = [word for word in content(match["thing"]) if word.stem not in empty() and word.lower not in NUMERALS]
        if parts and not any(word.lower in members("type") for word in words(match["thing"])):
            found.append(parts)
    return found


def bare(question: str, sources: Sequence[Source]) -> str:
    """Leaves out of a question the names that most sentences hold, which tell none of them apart, but not all of it."""
    whole = question
    stems = [frozenset(word.stem for word in words(source.plain)) for source in sources]
    for word in reversed(read(question).content):
        if word.capital and word.start and sum(word.stem in one for one in stems) * _OFTEN >= len(stems):
            question = question[: word.start] + question[word.end :].lstrip()
    return question if read(question).content else whole


def spelt(question: str, sources: Sequence[Source]) -> str:
    """Writes two words of a question as the one that the passages write: back up, backup."""
    there = {word.lower for source in sources for word in words(f"{source.plain} {source.about}")}
    for first, second in pairwise(words(question)):
        whole = first.lower + second.lower
        if whole in there and question[first.end : second.start] in {" ", "-"}:
            return question[: first.end] + question[second.start :]
    return question


def _name(word: Word, first: set[int]) -> bool:
    inside = any(letter.isupper() for letter in word.text[1:])
    return inside or (word.capital and len(word.text) > 1 and word.start not in first)
