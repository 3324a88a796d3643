"""Real sentences with one word changed: how many are served as an answer.

Every sentence of the starter vault and of the liar's vaults is said as it stands
and with one thing changed: a number, a unit, a name, a date, a “not” put in or
taken out, a word for its opposite or its like. The question is the sentence's own
subject, so that nothing but the change can be held against it. The seed is fixed.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from quorra.agent.reading.quantity import Quantity, units
from quorra.agent.reading.reader import read
from quorra.agent.reading.sentences import Source, sources
from quorra.agent.reading.words import contrasts, siblings, stem, words
from quorra.agent.verifiers.verify import Unbound, Verifier
from quorra.index.found import Hit, Ranks

ROOT = Path(__file__).parents[2]
VAULTS = (ROOT / "vault", *sorted((Path(__file__).parent / "liar_sets").glob("*/vault")))
NAMES = ("Ottoline", "Fenwick", "Zora", "Balthasar")
_NOT = re.compile(r"\b(is|are|was|were|may|must|can|has|have|does|do|will)\b(?! not\b|n?['’]t)")
_NEGATED = re.compile(r"\b(?:not|never|no longer)\b ?")
_MONTHS = ("January", "March", "June", "July", "October", "November")
Change = Callable[[str, random.Random], str | None]


def passages(vault: Path) -> Iterator[Hit]:
    """Gives every note of a vault as one passage, its frontmatter left out."""
    for path in sorted(vault.rglob("*.md")):
        text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        name = path.relative_to(vault).as_posix()
        yield Hit(name, path.stem, (1, 1 + text.count("\n")), None, "b" * 40, text, 1.0, Ranks(1, 1), path.stem)


def _swap(text: str, one: Quantity, instead: str) -> str:
    return text[: one.start] + instead + text[one.end :]


def number(text: str, dice: random.Random) -> str | None:
    """Changes one figure of one number."""
    found = list(re.finditer(r"\d", text))
    if not found:
        return None
    match = dice.choice(found)
    other = dice.choice([figure for figure in "123456789" if figure != match[0]])
    return text[: match.start()] + other + text[match.end() :]


def unit(text: str, dice: random.Random) -> str | None:
    """Gives a number another unit of its kind."""
    found = [one for one in read(text).quantities if one.kind == "number" and one.unit and one.text.split()[1:]]
    if not found:
        return None
    one = dice.choice(found)
    form = one.text.split()[-1]
    if form.lower() not in units():
        return None
    mine = units()[form.lower()]
    others = sorted(
        other
        for other, each in units().items()
        if each.dimension == mine.dimension and each.name != mine.name and other.isalpha() and each.name != "degree"
    )
    return _swap(text, one, one.text[: -len(form)] + dice.choice(others)) if others else None


def date(text: str, dice: random.Random) -> str | None:
    """Names another month or another weekday."""
    found = [
        one for one in read(text).quantities if one.kind in {"date", "weekday"} and re.search(r"[A-Z][a-z]+", one.text)
    ]
    if not found:
        return None
    one = dice.choice(found)
    named = re.search(r"[A-Z][a-z]+", one.text)
    instead = _MONTHS if one.kind == "date" else ("Monday", "Wednesday", "Friday", "Sunday")
    other = dice.choice([each for each in instead if named and each[:3] != named[0][:3]])
    return _swap(text, one, one.text.replace(named[0], other)) if named else None


def name(text: str, dice: random.Random) -> str | None:
    """Invents a name."""
    found = [word for word in words(text) if word.capital and word.start and word.lower in read(text).names]
    if not found:
        return None
    word = dice.choice(found)
    return text[: word.start] + dice.choice(NAMES) + text[word.end :]


def negation(text: str, dice: random.Random) -> str | None:
    """Takes a negation out, or puts one in."""
    found = list(_NEGATED.finditer(text)) or list(_NOT.finditer(text))
    if not found:
        return None
    match = dice.choice(found)
    instead = f"{match[0]} not" if _NOT.match(match[0]) else ""
    return text[: match.start()] + instead + text[match.end() :]


def opposite(text: str, dice: random.Random) -> str | None:
    """Says a word's opposite."""
    return _other(text, dice, contrasts())


def like(text: str, dice: random.Random) -> str | None:
    """Says a word's like: another colour, room or animal."""
    return _other(text, dice, siblings())


def _other(text: str, dice: random.Random, table: dict[str, frozenset[str]]) -> str | None:
    known = {stem(form): form for form in _FORMS}
    found = [
        (word, instead)
        for word in words(text)
        for instead in sorted(table.get(word.stem, frozenset()) & known.keys())
        if not word.capital and word.lower in _FORMS
    ]
    if not found:
        return None
    word, instead = dice.choice(found)
    return f"{text[: word.start]}{known[instead]}{text[word.end :]}"


_FORMS = sorted(
    {
        form
        for kind in ("contrast", "converse", "kinds")
        for form in re.findall(
            r"[a-z]+", (ROOT / f"quorra/agent/reading/lexicon/{kind}.txt").read_text(encoding="utf-8")
        )
    },
    key=len,
    reverse=True,
)
WAYS: dict[str, Change] = {
    "number": number, "unit": unit, "date": date, "name": name,
    "negation": negation, "opposite": opposite, "like": like,
}  # fmt: skip


def question(source: Source) -> str:
    """Asks about what a sentence itself says."""
    return f"What about {' '.join(word.text for word in read(source.plain).content[:3])}?"


def asked(each: int) -> Iterator[tuple[str, str, Verifier, Source, str]]:
    """Gives sentences as they stand and changed, with a verifier that knows the passages of their own vault."""
    dice = random.Random(11)
    for vault in VAULTS:
        known = sources(list(passages(vault)))
        said = {one.plain for one in known}
        whole = [one for one in known if not one.heading and len(one.plain.split()) > 4 and one.plain[-1:] == "."]
        for source in dice.sample(whole, min(each, len(whole))):
            near = [one for one in known if one.hit == source.hit]
            verifier = Verifier(question(source), near)
            yield "as it stands", vault.parent.name, verifier, source, source.plain
            for way, change in WAYS.items():
                text = change(source.plain, dice)
                if text and text not in said and text != source.plain:
                    yield way, vault.parent.name, verifier, source, text


def main() -> int:
    """Runs the figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer sentences of each vault")
    parser.add_argument("--verbose", action="store_true", help="print what was served though it was changed")
    options = parser.parse_args()
    tried: Counter[str] = Counter()
    through: Counter[str] = Counter()
    for way, vault, verifier, source, text in asked(12 if options.quick else 80):
        tried[way] += 1
        served = not isinstance(verifier.check(text), Unbound)
        through[way] += served
        if options.verbose and served != (way == "as it stands"):
            print(way, "|", vault, "|", text, "|", source.plain)
    for way in tried:
        print(f"  {way}: {through[way]} of {tried[way]} served")
    stood, lies = through.pop("as it stands") / tried["as it stands"], sum(through.values())
    changed = sum(tried.values()) - tried["as it stands"]
    row = {"figure": "oneword", "changed": changed, "served": lies, "served as it stands": round(stood, 3)}
    print(json.dumps({**row, "holds": lies == 0}))
    return 0 if lies == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
