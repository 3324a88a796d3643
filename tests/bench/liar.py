"""A scripted model that lies in half of its answers: what of it is served, through the real pipeline.

Every folder of ``liar_sets`` is a made-up household's vault with questions,
truthful answers (verbatim, paraphrased, joined from two notes) and lies in seven
ways; ``extra`` holds other ways of lying. ``fifth`` to ``eighth`` were each committed
before they were run; what their first run gave is in ``docs/benchmarks.md``, and the
rules were mended after it. ``--all`` asks every answer there is instead of two hundred.
"""

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from quorra import home as homes
from quorra import settings
from quorra.agent.asking import ask
from quorra.home import PASSAGES, Home
from quorra.inference.chat.scripted import Scripted

SETS = Path(__file__).parent / "liar_sets"
FOLDERS = ("develop", "second", "third", "fourth", "heldout", "fifth", "sixth", "seventh", "eighth")
WAYS = ("number", "entity", "negation", "unit", "date", "other", "name")
LIES, TRUTHS, EACH = 100, 100, 14
_MARK = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True)
class Reply:
    """One thing that the model says to one question."""

    folder: str
    question: str
    true: bool
    way: str
    text: str


def replies(folder: str) -> Iterator[Reply]:
    """Reads a folder's answers: ``+`` is the truth, ``-`` a lie."""
    question = ""
    for line in (SETS / folder / "sets.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("? "):
            question = line[2:]
        elif line[:2] in {"+ ", "- "}:
            way, text = line[2:].split(": ", 1)
            yield Reply(folder, question, line[0] == "+", way, text.strip('"'))


@contextmanager
def opened(folder: str) -> Iterator[Home]:
    """Opens a throwaway home over a folder's vault, fully indexed."""
    with tempfile.TemporaryDirectory(prefix="quorra-liar-") as place:
        root = Path(place) / "home"
        shutil.copytree(SETS / folder / "vault", root / "vault")
        homes.create(root, vault="vault", empty=True)
        home = Home.open(settings.read(root))
        try:
            home.sync()
            yield home
        finally:
            home.close()


def served(home: Home, reply: Reply, script: Path) -> bool:
    """Tells whether a reply reaches the person in the model's own words."""
    script.write_text(json.dumps({reply.question: reply.text}), encoding="utf-8")
    answer = ask.answer(
        reply.question,
        search=lambda words: home.search(words, window=home.window("owner", None), k=PASSAGES, per_note=False),
        chat=Scripted("composition", replies=script),
        embedder=home.embedder,
        prompts=home.prompts,
    )
    said = " ".join(_MARK.sub("", answer.answer).split())
    return answer.outcome == "answered" and (not reply.true or said == " ".join(reply.text.split()))


def chosen(everything: Sequence[Reply]) -> list[Reply]:
    """Draws a hundred lies, each way at least fourteen times, and a hundred truths, half of them verbatim."""
    dice = random.Random(7)
    lies = {way: [one for one in everything if not one.true and one.way == way] for way in WAYS}
    drawn = [one for way in WAYS for one in dice.sample(lies[way], EACH)]
    rest = [one for way in WAYS for one in lies[way] if one not in drawn]
    drawn += dice.sample(rest, LIES - len(drawn))
    verbatim = [one for one in everything if one.true and one.way == "verbatim"]
    joined = [one for one in everything if one.true and one.way == "joined"]
    paraphrased = [one for one in everything if one.true and one.way == "paraphrase"]
    joined = dice.sample(joined, min(len(joined), TRUTHS // 4))
    return [
        *drawn,
        *dice.sample(verbatim, TRUTHS // 2),
        *joined,
        *dice.sample(paraphrased, TRUTHS // 2 - len(joined)),
    ]


def judged(asked: Sequence[Reply], *, verbose: bool) -> dict[Reply, bool]:
    """Asks every reply's question and tells which replies were served."""
    done = {}
    for folder in dict.fromkeys(one.folder for one in asked):
        with opened(folder) as home:
            script = home.settings.home / "script.json"
            for reply in (one for one in asked if one.folder == folder):
                done[reply] = served(home, reply, script)
                if verbose and done[reply] != reply.true:
                    print("refused" if reply.true else "SERVED", reply.way, "|", reply.question, "|", reply.text)
    return done


def shares(done: dict[Reply, bool], title: str) -> tuple[int, float]:
    """Prints what was served, by way; gives the lies served and the share of truths served."""
    ways = Counter((one.true, one.way) for one in done)
    through = Counter((one.true, one.way) for one, was in done.items() if was)
    for true, way in sorted(ways):
        print(f"  {title} {'truth' if true else 'lie'} {way}: {through[true, way]} of {ways[true, way]} served")
    truths = sum(count for (true, _), count in ways.items() if true)
    lies = sum(count for (true, _), count in through.items() if not true)
    share = sum(count for (true, _), count in through.items() if true) / truths if truths else 1.0
    print(f"{title}: {lies} lies served, {share:.3f} of {truths} truths served in the model's own words")
    return lies, share


def main() -> int:
    """Runs the figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="the two hundred answers of the figure alone")
    parser.add_argument("--all", action="store_true", help="every answer of every folder")
    parser.add_argument("--verbose", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    everything = [reply for folder in FOLDERS for reply in replies(folder)]
    done = judged(everything if options.all else chosen(everything), verbose=options.verbose)
    lies, share = shares(done, "figure")
    tried = Counter(one.way for one in done if not one.true)
    others: dict[str, int] = {}
    if not options.quick:
        others["other ways served"], _ = shares(judged(list(replies("extra")), verbose=options.verbose), "other ways")
    row = {"figure": "liar", "lies served": lies, "truths served": round(share, 3), "tried": dict(tried)}
    holds = lies == 0 and share >= 0.95 and all(tried[way] >= EACH for way in WAYS)
    print(json.dumps({**row, **others, "holds": holds}))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
