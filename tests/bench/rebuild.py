"""After 500 random edits, moves, removals and reverts in three real vaults, catching up gives what a rebuild gives.

Row for row; and once compacted, the best ten and their scores of 200 questions
too. Also counts what is lost: every note that git knows must be a document,
those with unreadable frontmatter included.

Usage: python -m tests.bench.rebuild [--quick]
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from quorra.access.window import Window
from quorra.index.index import Index
from tests.bench import vaults
from tests.bench.warm_query import KEPT, REAL
from tests.conftest import SHARED
from tests.index.place import compacted, contents


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def step(root: Path, pick: random.Random, files: list[Path], parts: list[str]) -> str:
    """Does one thing to the vault as a hand would; gives its name."""
    file = pick.choice([each for each in files if each.exists()])
    verb = pick.choices(("edit", "add", "move", "remove", "commit", "revert", "checkout"), (40, 8, 25, 8, 10, 4, 5))[0]
    match verb:
        case "edit":
            text = file.read_bytes()
            file.write_bytes(text + f"\n\n{pick.choice(parts)}\n".encode())
        case "add":
            files.append(file.with_name(f"{file.stem} {pick.randrange(10**6)}.md"))
            files[-1].write_text(pick.choice(parts), encoding="utf-8")
        case "move":
            to = root / "vault" / pick.choice(("moved", "members/mira", "members/tom", "a b/c'd")) / file.name
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists():
                file.rename(to)
                files.append(to)
        case "remove":
            file.unlink()
        case "commit":
            git(root, "add", "-A")
            git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
        case "revert":
            file.write_bytes(file.read_bytes() + b"\nTo be reverted.\n")
            git(root, "add", "-A")
            git(root, "commit", "-q", "-m", "before a revert")
            git(root, "revert", "--no-edit", "HEAD")
        case "checkout":
            git(root, "checkout", "-q", "--", ".")
    files += [each for each in (root / "vault").rglob("*.md") if each not in set(files)]
    return verb


def answers(index: Index, questions: list[str]) -> list[Any]:
    """Gives the best ten of every question, with scores, in every mode that is there."""
    found = []
    for question in questions:
        for mode in ("hybrid", "words"):
            hits = index.search(question, mode=mode, window=Window(None), wait=0.0).hits  # type: ignore[arg-type]
            found.append([(hit.path, hit.lines, round(hit.score, 9), hit.blob, hit.commit) for hit in hits])
    return found


def asked(count: int) -> list[str]:
    """Takes runs of words out of real sections."""
    pick = random.Random(21)
    found = []
    for part in pick.sample([each.split() for each in vaults.sections() if len(each.split()) > 20], count):
        at = pick.randrange(len(part) - 8)
        found.append(" ".join(part[at : at + pick.randint(2, 7)]))
    return found


def main(quick: bool) -> bool:
    """Edits, catches up now and then, and compares."""
    pick = random.Random(17)
    parts = vaults.sections()
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder)
        for name in REAL[1:2] if quick else REAL:
            shutil.copytree(SHARED / "vaults" / name, root / "vault" / name, ignore=shutil.ignore_patterns(".git"))
        vaults.commit(root)
        for key, value in (("user.name", "Bench"), ("user.email", "bench@localhost")):
            git(root, "config", key, value)
        texts = vaults.texts(root)
        model = None if quick else _model()
        index = Index(root / ".quorra/index", KEPT, texts, model)
        index.catch_up()
        if model:
            index.embed(seconds=0.0)
        files = sorted((root / "vault").rglob("*.md"))
        counts: dict[str, int] = {}
        for turn in range(100 if quick else 500):
            verb = step(root, pick, files, parts)
            counts[verb] = counts.get(verb, 0) + 1
            if turn % 7 == 0:
                index.catch_up()
        report = index.catch_up()
        compacted(index)
        caught = contents(index)
        questions = asked(40 if quick else 200)
        first = answers(index, questions)
        index.close()
        fresh = Index(root / ".quorra/another", KEPT, texts, model)
        fresh.catch_up()
        if model:
            fresh.embed(seconds=0.0)
            compacted(fresh)
        built = contents(fresh)
        second = answers(fresh, questions)
        notes = sum(1 for file in (root / "vault").rglob("*.md") if "/." not in str(file.relative_to(root)))
    row = {
        "figure": "catch-up equals rebuild",
        "steps": counts,
        "notes": notes,
        "documents": report.documents,
        "problems": report.problems,
        "rows": sum(len(rows) for rows in built.values()),
        "rows differ": sum(caught.get(name) != rows for name, rows in built.items())
        + len(caught.keys() ^ built.keys()),
        "answers": len(first),
        "answers differ": sum(one != other for one, other in zip(first, second, strict=True)),
    }
    holds = notes == report.documents and not row["rows differ"] and not row["answers differ"]
    print(json.dumps({**row, "holds": holds}))
    return holds


def _model() -> Any:
    from quorra.inference.embed.minilm import MiniLM

    model = MiniLM()
    return lambda: model


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
