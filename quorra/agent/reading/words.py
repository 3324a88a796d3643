"""Words of a sentence as a reader weighs them: stems, and which of them say anything.

The lexicon is English. A word in another language is one that no passage has, so an
answer in it is not served as composed; it falls back to quotation.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_LEXICON = Path(__file__).parent / "lexicon"
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_ENDINGS = (
    "isations", "izations", "isation", "ization", "ations", "ation", "ments", "ment", "ingly", "ings", "ing",
    "edly", "ied", "ies", "ed", "nesses", "ness", "ions", "ion", "ances", "ance", "ences", "ence",
    "ally", "ly", "als", "al", "es", "s", "e", "y",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its place in the text; ``stem`` is what is compared."""

    text: str
    lower: str
    stem: str
    start: int
    end: int

    @property
    def capital(self) -> bool:
        """Tells whether it is written like a name."""
        return self.text[:1].isupper()


def lines(name: str) -> list[str]:
    """Reads one list of the lexicon, a line an entry."""
    return (_LEXICON / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1]


@cache
def group(name: str) -> str:
    """Gives a group of words and phrases as the alternatives of a regular expression."""
    rows = (line.split(" = ", 1) for line in lines("groups"))
    return "|".join(word for key, row in rows if key == name for word in row.split(" | "))


def ranked(name: str) -> list[str]:
    """Gives a group of plain words in the order in which it is written."""
    return group(name).split("|")


@cache
def members(name: str) -> frozenset[str]:
    """Gives a group of plain words as a set."""
    return frozenset(group(name).split("|"))


@cache
def _irregular() -> dict[str, str]:
    return {form: line.split()[0] for line in lines("irregular") for form in line.split()[1:]}


@cache
def past() -> frozenset[str]:
    """Irregular verbs in the past tense."""
    return frozenset(line.split()[1] for line in lines("irregular") if len(line.split()) > 1)


@cache
def participles() -> frozenset[str]:
    """Irregular past participles."""
    return frozenset(line.split()[-1] for line in lines("irregular") if len(line.split()) > 1)


@cache
def stem(word: str) -> str:
    """Cuts an English word to a stem that its inflections share."""
    word = word.lower().replace("’", "'").removesuffix("'s").rstrip("'")
    word = _irregular().get(word, word)
    mute = word.endswith(("e", "es"))
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= (4 if ending == "ly" else 3) and word[-2:] != "ss":
            word = word[: -len(ending)]
            if ending in {"ies", "ied"}:
                word += "y"
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeious" and not mute:
        word = word[:-1]
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    return word


def words(text: str) -> list[Word]:
    """Cuts a text into words; numbers are not words."""
    found = []
    for match in _WORD.finditer(text):
        whole = match[0]
        if "-" in whole:
            start = match.start()
            for part in whole.split("-"):
                found.append(_word(part, start))
                start += len(part) + 1
        else:
            found.append(_word(whole, match.start()))
    return [word for word in found if word.text]


def _word(text: str, start: int) -> Word:
    return Word(text, text.lower().replace("’", "'"), stem(text), start, start + len(text))


@cache
def stops() -> frozenset[str]:
    """Words that only hold a sentence together, in lower case."""
    return frozenset(" ".join(lines("stop")).split())


@cache
def light() -> frozenset[str]:
    """Stems that a paraphrase may add without saying anything new."""
    return frozenset(stem(word) for word in " ".join(lines("light")).split())


@cache
def empty() -> frozenset[str]:
    """Stems that a question may hold without asking about them."""
    return frozenset(stem(word) for word in " ".join(lines("empty")).split())


@cache
def synonyms() -> dict[str, frozenset[str]]:
    """Maps a stem to the stems that may stand for it in a sentence without changing what it says."""
    return _groups("same")


@cache
def kin() -> dict[str, frozenset[str]]:
    """Maps a stem to the stems that a question may mean by it: wider than synonyms."""
    return _groups("kin")


def _groups(name: str) -> dict[str, frozenset[str]]:
    near: dict[str, set[str]] = {}
    for line in lines(name):
        stems = {stem(word) for word in line.split()}
        for one in stems:
            near.setdefault(one, set()).update(stems - {one})
    return {one: frozenset(group) for one, group in near.items()}


@cache
def contrasts() -> dict[str, frozenset[str]]:
    """Maps a word and its stem to the stems that say the opposite."""
    return _sides("contrast", "converse")


@cache
def converses() -> dict[str, frozenset[str]]:
    """Maps a stem to those that say the same from the other side: lend and borrow, before and after."""
    return _sides("converse")


def _sides(*names: str) -> dict[str, frozenset[str]]:
    against: dict[str, set[str]] = {}
    for line in (line for name in names for line in lines(name)):
        left, right = ({stem(word) for word in side.split()} for side in line.split("|"))
        for some, others in ((left, right), (right, left)):
            for one in some:
                against.setdefault(one, set()).update(others - some)
    return {one: frozenset(group) for one, group in against.items()}


@cache
def siblings() -> dict[str, frozenset[str]]:
    """Maps a stem to the other members of its kinds: colours, rooms, animals and the like."""
    return _groups("kinds")


def content(text: str) -> list[Word]:
    """Gives the words of a text that say something: no stop words, light ones included."""
    return [word for word in words(text) if not hollow(word)]


def hollow(word: Word) -> bool:
    """Tells whether a word only holds the sentence together, contracted or not."""
    return word.lower in stops() or word.lower.endswith("n't") or word.lower.split("'")[0] in stops()
