"""What moves, reverts, restarts and renames cost in texts sent to the embedder, with the real one.

Usage: python -m tests.bench.embeddings_spared [--quick]
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from quorra.index.index import Index
from quorra.index.intake import passages
from quorra.inference.embed.minilm import MiniLM
from quorra.vault.reading import parse
from tests.bench import vaults
from tests.bench.warm_query import KEPT, REAL
from tests.conftest import SHARED


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def caught(index: Index) -> int:
    """Catches up and embeds; gives the texts that the embedder was sent."""
    index.catch_up()
    return index.embed().embedded


def line(figure: str, embedded: int, most: int) -> bool:
    print(json.dumps({"figure": figure, "embedded": embedded, "at most": most, "holds": embedded <= most}))
    return embedded <= most


def shown(root: Path) -> set[str]:
    """Gives every text of the vault that is to be embedded."""
    found = set()
    for file in (root / "vault").rglob("*.md"):
        note = parse.note(str(file.relative_to(root / "vault")), file.read_bytes())
        found |= {each.words[: each.embeds] for each in passages.cut(note).passages}
    return found


def rename(root: Path, old: str, new: str) -> int:
    """Renames a note and rewrites the links to it; gives how many texts to be embedded were not there before."""
    before = shown(root)
    garden = root / "vault/garden"
    (garden / f"{old}.md").rename(garden / f"{new}.md")
    for file in garden.rglob("*.md"):
        text = file.read_bytes()
        for end in ("|", "]]", "#"):
            text = text.replace(f"[[{old}{end}".encode(), f"[[{new}{end}".encode())
        if text != file.read_bytes():
            file.write_bytes(text)
    return len(shown(root) - before)


def main(quick: bool) -> bool:
    """Measures a move of 500 notes, its revert, a restart on an empty index, and renames behind aliases."""
    model = MiniLM()
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder)
        for name in REAL[1:2] if quick else REAL[:1]:
            shutil.copytree(SHARED / "vaults" / name, root / "vault" / name, ignore=shutil.ignore_patterns(".git"))
        vaults.commit(root)
        git(root, "config", "user.name", "Bench")
        git(root, "config", "user.email", "bench@localhost")
        texts = vaults.texts(root)
        index = Index(root / ".quorra/index", KEPT, texts, lambda: model)
        first = caught(index)
        print(json.dumps({"figure": "first embedding", "embedded": first}))
        holds = []
        files = sorted((root / "vault").rglob("*.md"))[:500]
        for file in files:
            to = root / "vault/moved" / file.relative_to(root / "vault")
            to.parent.mkdir(parents=True, exist_ok=True)
            file.rename(to)
        holds.append(line(f"a move of {len(files)} notes", caught(index), 0))
        commit(root, "move")
        holds.append(line("the same, committed", caught(index), 0))
        git(root, "revert", "--no-edit", "HEAD")
        holds.append(line("its revert", caught(index), 0))
        index.close()
        index = Index(root / ".quorra/index", KEPT, texts, lambda: model)
        holds.append(line("a restart", caught(index), 0))
        shutil.rmtree(root / ".quorra/index")
        index = Index(root / ".quorra/index", KEPT, texts, lambda: model)
        holds.append(line("an index that was removed", caught(index), 0))
        if not quick:
            for old, new in (("thoughts/causality", "thoughts/cause"), ("thoughts/agency", "thoughts/acting")):
                most = rename(root, old, new)
                holds.append(line(f"a rename of {old}", caught(index), most))
    return all(holds)


if __name__ == "__main__":
    sys.exit(0 if main("--quick" in sys.argv) else 1)
