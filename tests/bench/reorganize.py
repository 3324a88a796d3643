"""Random plans on two real vaults, their links counted by a second reader that shares no code with the first.

Beside the real notes lie some with odd names, and some that are empty or dead,
a few of them linked to. Plans move, rename (by case or Unicode form alone,
too), promote, make folders and remove. Every plan is simulated; every fortieth
goes through a home, is one commit, and is undone to the exact tree. The second
reader knows links by patterns alone.

Usage: python -m tests.bench.reorganize [--quick]
"""

import json
import posixpath
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from urllib.parse import quote, unquote

from quorra import home as homes
from quorra import settings
from quorra.home import Home
from quorra.ledger.change import Origin, Refused
from quorra.vault.reading import parse
from quorra.vault.reorg.moves import Moves, expand
from quorra.vault.reorg.operation import Operation
from quorra.vault.reorg.reorganize import LinkGraph, Reorganized, reorganize
from tests.bench import vaults
from tests.bench.embeddings_spared import commit

WORDS = (
    "alpha", "beta list", "größe", "gro\u0308ße", "notes & more", "mira's", 'so "called"', "x (2)", "50 percent",
    "-dash", "--", "😀 smile", "a+b", "100% sure",
)  # fmt: skip
NAMES = ('it\'s "so"', "[draft] x", "-dash", "😀 smile", "new\nline", "gro\u0308ße", "a+b (1)", "50% off")
DEAD = ("", " \n", "---\nstatus: dead\n---\n\nOld, see [another](a+b%20(1).md).\n")
FENCED = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)`*~*[ \t]*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ >]*\n).)+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(
    r"\[\[(?P<wiki>[^\[\]|#\n]+)[^\[\]\n]*\]\]|\]\(\s*(?:<(?P<angle>[^<>\n]+)>|(?P<plain>[^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*))"
)
SPOT = re.compile(
    r"(?P<wiki>\[\[)[^\[\]|#\\\n]+|(?P<inline>\]\(\s*)(?:<[^<>#\n]+|[^\s()<>#]*(?:\([^\s()#]*\)[^\s()<>#]*)*)"
    r"|(?P<defined>^[ >]{0,4}\[[^\[\]\n]+\]:\s*)(?:<[^<>#\n]+|[^\s<>#]+)|(?P<html>(?:src|href)\s*=\s*[\"'])[^\"'#]+",
    re.MULTILINE | re.IGNORECASE,
)
SECOND = INLINE.pattern.replace(r"\1", r"\2")
CODE = re.compile(f"{FENCED.pattern}|(?s:{SECOND})", re.MULTILINE | re.DOTALL)
BAR, EACH = 0.9, 40


def folded(path: str) -> str:
    """Gives the form under which the second reader takes names for equal."""
    return unicodedata.normalize("NFC", path).casefold()


class Reader:
    """Follows links by patterns: a path from the note or the vault, else a tail that only one file has."""

    def __init__(self, files: list[str]) -> None:
        self.whole = {folded(path): path for path in files}
        self.tails: dict[str, list[str]] = {}
        for path in files:
            parts = folded(path).split("/")
            for at in range(len(parts)):
                self.tails.setdefault("/".join(parts[at:]), []).append(path)

    def links(self, path: str, text: str) -> list[str | None]:
        """Gives what each link of a note reaches, None for nothing and itself left out."""
        blank = INLINE.sub("", FENCED.sub("", text))
        found = []
        for match in LINK.finditer(blank):
            target = match["wiki"] or unquote((match["angle"] or match["plain"]).partition("#")[0])
            if target.strip() and not re.match(r"[a-zA-Z][\w+.-]*:|//", target):
                found.append(self.reach(path, target.strip().rstrip("\\"), bool(match["wiki"])))
        return found

    def reach(self, path: str, target: str, wiki: bool) -> str | None:
        """Follows one link."""
        here = posixpath.normpath(posixpath.join("/" + posixpath.dirname(path), target)).lstrip("/")
        for name in (target.strip("/"), here) if wiki else (here, target.strip("/")):
            for ending in (".md", "", "/index.md", "/readme.md", "/overview.md", "/_index.md"):
                if hit := self.whole.get(folded(name + ending).lstrip("/")):
                    return hit
        tails = self.tails.get(folded(target) + ".md") or self.tails.get(folded(target)) or [] if wiki else []
        return tails[0] if len(tails) == 1 else None


def without(text: str) -> str:
    """Gives a note without the targets of its links; code stays."""
    parts, last = [], 0
    for code in CODE.finditer(text):
        parts += [SPOT.sub(_prefix, text[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*parts, SPOT.sub(_prefix, text[last:])])


def _prefix(match: re.Match[str]) -> str:
    return f"{match[match.lastgroup or 0]}\0"


def odd() -> dict[str, bytes]:
    """Makes notes with odd names that link to each other, and some that may be removed."""
    paths = [f"odd/{name}.md" for name in NAMES]
    gone = {f"odd/old/gone {number}.md": text.encode() for number, text in enumerate(DEAD * 4)}
    found = {}
    for at, path in enumerate(paths):
        others = [paths[(at + step) % len(paths)] for step in (1, 3)]
        wiki = [f"[[{other[:-3]}]]" for other in others if not set("[\n") & set(other)]
        links = [f"[x]({quote(posixpath.basename(other))}#h)" for other in others]
        found[path] = f"# Odd {at}\n\n{' '.join([*wiki, *links])}\n".encode()
    found["odd/kept.md"] = b"Still needed: [[gone 1]] and [this](old/gone%202.md).\n"
    return found | gone


def plan(pick: random.Random, files: list[str]) -> list[Operation]:
    """Makes a plan of one to five steps, each of a file or folder of its own."""
    steps = []
    for source in pick.sample(files, pick.randint(1, 5)):
        step = one(pick, files, source)
        if step.op == "move" and step.src == posixpath.dirname(source):
            return [step]
        steps.append(step)
    return steps


def one(pick: random.Random, files: list[str], source: str) -> Operation:
    """Makes one step with a file."""
    folder, _, name = source.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    verb = pick.choice(("move", "move", "rename", "rename", "spell", "promote", "folder", "make", "remove"))
    if verb == "move":
        return Operation(
            "move", source, posixpath.join(posixpath.dirname(pick.choice(files)), f"{pick.random()}", name)
        )
    if verb == "remove":
        return Operation("delete", pick.choice([path for path in files if "/gone " in path]))
    if verb == "make":
        return Operation("create_folder", posixpath.join(folder, f"{pick.choice(WORDS)} {pick.random()}"))
    if verb == "folder" and folder:
        return Operation("move", folder, f"{folder} {pick.random()}")
    if verb == "promote" and ending == "md":
        return Operation("promote_to_folder", source)
    form = pick.choice((str.swapcase, str.title, lambda text: unicodedata.normalize("NFC", text)))
    new = form(stem) if verb == "spell" else f"{pick.choice(WORDS)} {pick.random()}"
    return Operation("rename", source, posixpath.join(folder, f"{new}{dot}{ending}"))


def wrong(
    files: dict[str, bytes], moves: Moves, done: Reorganized, before: dict[str, list[str | None]]
) -> Counter[str]:
    """Counts links that led somewhere and that the second reader finds dangling or leading elsewhere afterwards."""
    after = {new: raw for path, raw in files.items() if (new := moves.after(path)) is not None} | dict(done.texts)
    reader = Reader(list(after))
    found: Counter[str] = Counter()
    for path, reached in before.items():
        place = moves.after(path)
        if place is None:
            continue
        text = after[place].decode("utf-8", "replace")
        now = reader.links(place, text)
        found["bytes"] += place in done.texts and without(text) != without(files[path].decode("utf-8", "replace"))
        if len(now) != len(reached):
            found["count"] += 1
            continue
        for old, new in zip(reached, now, strict=True):
            if old is not None and new != moves.after(old):
                found["dangling" if new is None else "astray"] += 1
    return +found


def simulated(root: Path, count: int, seed: int) -> tuple[Counter[str], list[list[Operation]]]:
    """Simulates plans on one vault; gives what came of them and those that can be done."""
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    files = {path: raw for path, raw in files.items() if "/." not in f"/{path}"}
    held = {path: parse.note(path, raw).links for path, raw in files.items() if path.endswith(".md")}
    graph, reader, pick = LinkGraph(list(files), held), Reader(list(files)), random.Random(seed)
    before = {path: reader.links(path, files[path].decode("utf-8", "replace")) for path in held}
    found: Counter[str] = Counter()
    good = []
    for _ in range(count):
        steps = plan(pick, list(files))
        moves = expand(steps, files)
        done = moves if isinstance(moves, Refused) else reorganize(moves, graph, files.__getitem__)
        if isinstance(done, Refused):
            found[f"refused: {done.code}"] += 1
            continue
        found["applied"] += 1
        found.update(f"with {step.op}" for step in steps)
        good.append(steps)
        found += wrong(files, done.moves, done, before)
    return found, good


def undone(root: Path, plans: list[list[Operation]]) -> tuple[int, int]:
    """Does and undoes plans in a home; gives how many there were and after how many the tree was the very same."""

    def tree() -> str:
        words = ["git", "-C", str(root), "rev-parse", "HEAD^{tree}"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    commit(root, "odd notes")
    homes.create(root, vault="vault")
    home = Home.open(settings.read(root))
    same = 0
    for steps in plans:
        start = tree()
        done = home.changes.organize(steps, Origin("owner", "bench", ""))
        assert done.commit, done
        home.changes.undo(done.commit, Origin("owner", "bench", ""))
        same += tree() == start
    home.close()
    return len(plans), same


def main(quick: bool) -> bool:
    """Measures both vaults."""
    count, good = (100 if quick else 500), True
    for seed, name in enumerate(("garden", "powershell-docs")):
        with vaults.real(name) as root:
            for path, raw in odd().items():
                file = root / "vault" / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(raw)
            found, plans = simulated(root / "vault", count, seed)
            tried, same = undone(root, plans[::EACH])
        share = found["applied"] / count
        holds = (
            share >= BAR and not any(found[name] for name in ("dangling", "astray", "count", "bytes")) and same == tried
        )
        row = {"figure": f"{count} random plans on {name}", **found, "undone": f"{same} of {tried} to the same tree"}
        print(json.dumps({**row, "bar": BAR, "holds": holds}))
        good &= holds
    return good


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
