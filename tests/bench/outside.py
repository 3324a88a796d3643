"""10,000 edits by hands outside of Quorra, in every save habit, while the service watches and is killed with -9.

At the end the disk holds what the hands left there, the tree what is on the
disk, each file's last commit names its author, each conflicted copy is in the
inbox, and words, links and metadata in the index are those of a rebuild.

Usage: python -m tests.bench.outside [--quick]
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from quorra import home as homes
from quorra import settings
from quorra.access import hands as whose
from quorra.home import Home
from quorra.index.index import Index
from quorra.ledger.plumbing.process import Git
from quorra.vault import strays
from tests.bench import vaults
from tests.bench.hands import TOM, Hands, fill
from tests.bench.rebuild import asked
from tests.conftest import SHARED
from tests.index.place import EVERYTHING, compacted, contents

QUIET, FRESH = 0.5, 5.0
TOLD = f'\n[watch]\nquiet = {QUIET}\n\n[service]\nport = 0\n\n[authors.{TOM}]\nprincipal = "tom"\nname = "Tom"\n'


class Service:
    """The service on a home, killed and started again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root.parent / f"{root.name}.log"
        self.kills = 0
        self.start()

    def start(self) -> None:
        """Starts it."""
        command = [sys.executable, "-m", "quorra", "serve", "--home", str(self.root)]
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=out)

    def kill(self) -> None:
        """Kills it with -9."""
        self.process.kill()
        self.process.wait()
        self.kills += 1

    def end(self) -> int:
        """Lets it end as it should."""
        self.process.terminate()
        return self.process.wait(30)


def main(quick: bool) -> bool:
    """Edits, kills and compares."""
    edits, kills = (1000, 4) if quick else (10_000, 24)
    pick = random.Random(41)
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        os.environ.update(vaults.QUIET)
        root = Path(folder) / "home"
        fill(root / "vault", SHARED / "vaults" / "garden")
        homes.create(root)
        _tell(root)
        hands = Hands(root / "vault", pick, vaults.sections())
        home = Home.open(settings.read(root))
        home.index.catch_up()
        service = Service(root)
        time.sleep(3)
        habits = storm(hands, service, edits, kills)
        row = measured(home, hands, time.monotonic())
        row["service ended well"] = service.end() == 0
        row |= compared(home, 40 if quick else 200)
        home.close()
    row = {"figure": "edits from outside", "edits": edits, "kills": service.kills, "habits": dict(habits), **row}
    holds = not any(value for name, value in row.items() if name.endswith(("lost", "differ", "wrong", "unreported")))
    holds &= row["caught up after"] <= FRESH and row["clean"] and row["service ended well"]
    print(json.dumps({**row, "holds": bool(holds)}))
    return bool(holds)


def _tell(root: Path) -> None:
    """Tells the home whose files Tom's are, and nothing of the user who runs this: those go by folder."""
    file = root / "quorra.toml"
    file.write_text(file.read_text().partition("\n# Whose")[0] + TOLD)
    for words in (
        ("add", "quorra.toml"),
        ("-c", "user.name=Bench", "-c", "user.email=b@localhost", "commit", "-qm", "s"),
    ):
        subprocess.run(["git", "-C", str(root), *words], check=True)


def storm(hands: Hands, service: Service, edits: int, kills: int) -> Counter[str]:
    """Edits with pauses as people and clients make them; kills the service at random."""
    met: Counter[str] = Counter()
    doomed = set(hands.pick.sample(range(edits // 20, edits), kills))
    for number in range(edits):
        met[hands.edit()] += 1
        time.sleep(hands.pick.choice((0.0, 0.0, 0.001, 0.004, 0.01)))
        if number % 60 == 59:
            time.sleep(hands.pick.random() * 3 * QUIET)
        if number in doomed:
            service.kill()
            service.start()
    return met


def measured(home: Home, hands: Hands, last: float) -> dict[str, Any]:
    """Waits for the index, then for git, and compares what they hold with what the hands did."""
    home.index.catch_up()
    caught = time.monotonic() - last
    row: dict[str, Any] = {"caught up after": round(caught, 2)}
    while not (clean := not _dirty(home)) and time.monotonic() < last + 120:
        time.sleep(0.1)
    row |= {"clean": clean, "in git after": round(time.monotonic() - last, 2)}
    row["files"] = len(hands.texts)
    disk = {name: (hands.root / name).read_bytes() for name in hands.texts if (hands.root / name).is_file()}
    row["edits lost"] = sum(disk.get(name) != text for name, text in hands.texts.items())
    tree = {path: blob for path, blob in home.ledger.tree("HEAD").items() if path.startswith("vault/")}
    copies = home.texts.copies(home.texts.standing())
    row["conflicted copies"] = len(copies)
    wanted = {f"vault/{name}": home.ledger.id_of(text) for name, text in disk.items()}
    held = {path: blob for path, blob in wanted.items() if path not in copies}
    row["files of the tree that differ"] = len(
        held.items() ^ {(path, tree[path]) for path in tree if path not in copies}
    )
    row |= authors(home, hands, list(held))
    while (missing := unreported(home, copies)) and time.monotonic() < last + 120:
        time.sleep(0.5)
    return {**row, "all reported after": round(time.monotonic() - last, 2), "copies unreported": missing}


def _dirty(home: Home) -> list[str]:
    standing = home.texts.standing()
    copies = home.texts.copies(standing)
    return [path for path in standing.dirty if path not in copies and not strays.passing(path)]


def authors(home: Home, hands: Hands, paths: list[str]) -> dict[str, Any]:
    """Compares the author of each file's last commit with whose it is."""
    words = ("log", "--format=%x00%an%x01%s", "--name-only", "--no-renames", "-z", "HEAD")
    raw = Git(home.settings.home).run(*words)
    last: dict[str, str] = {}
    met: Counter[str] = Counter()
    for record in raw.decode("utf-8", "surrogateescape").split("\0\0"):
        head, _, names = record.strip("\0\n").partition("\0")
        author, _, subject = head.partition("\x01")
        met[author] += subject.startswith("Direct edit of ")
        for name in names.split("\0"):
            last.setdefault(name.strip("\n"), author)
    gone = [path for name in hands.removed if (path := f"vault/{name}") in last]
    edited = [path for path in paths if last.get(path) not in (None, home.settings.owner.name)]
    by = whose.whose(home.settings, [*edited, *gone])
    wrong = [path for path, hand in by.items() if last.get(path) not in (hand.author[0], home.settings.owner.name)]
    return {"commits": dict(met), "authors looked at": len(by), "authors wrong": len(wrong)}


def unreported(home: Home, copies: dict[str, Any]) -> int:
    """Counts the conflicted copies that the inbox does not hold as they are now."""
    kept = {(item.payload.get("copy"), item.payload["theirs"]) for item in home.proposals.box.every()}
    now = {home.settings.public(path): home.texts.now(path) for path in copies}
    return sum((name, seen[1].decode()) not in kept for name, seen in now.items() if seen)


def compared(home: Home, questions: int) -> dict[str, Any]:
    """Compares words, links and metadata of the index with those of a rebuild, rows and answers."""
    report = home.index.catch_up()
    compacted(home.index)
    fresh = Index(home.settings.private / "another", home.cache, home.texts)
    fresh.catch_up()
    caught, built = _words(home.index), _words(fresh)
    asks = asked(questions)
    one, other = ([_answer(index, question) for question in asks] for index in (home.index, fresh))
    fresh.close()
    return {
        "documents": report.documents,
        "pending": report.pending,
        "rows": sum(map(len, built.values())),
        "rows that differ": sum(caught.get(name) != built.get(name) for name in caught.keys() | built.keys()),
        "answers that differ": sum(a != b for a, b in zip(one, other, strict=True)),
    }


def _words(index: Index) -> dict[str, list[Any]]:
    """Gives all rows, without the vectors and those that only carry one."""
    return {
        name: [_bare(row) for row in rows if not (isinstance(row, dict) and row["words"] is None)]
        for name, rows in contents(index).items()
    }


def _bare(row: Any) -> Any:
    return {key: value for key, value in row.items() if key != "vector"} if isinstance(row, dict) else row


def _answer(index: Index, question: str) -> list[Any]:
    hits = index.search(question, mode="words", window=EVERYTHING, wait=0.0).hits
    return [(hit.path, hit.lines, round(hit.score, 9), hit.blob, hit.commit) for hit in hits]


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
