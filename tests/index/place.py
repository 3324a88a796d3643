"""A throwaway home whose notes are edited by hand and searched."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from quorra.access.window import Window
from quorra.index.found import Found
from quorra.index.index import Index
from quorra.index.store import catalogue
from quorra.index.store import manifest as manifests
from quorra.inference.protocol import Embedder
from quorra.ledger.ledger import Ledger
from quorra.settings import Settings
from quorra.vault.texts import Texts

EVERYTHING = Window(None)
IDENTITY = ("-c", "user.name=Seed", "-c", "user.email=seed@localhost")


class Place:
    """A repository with a vault and an index beside it; ``embedder`` as the index takes it."""

    def __init__(
        self,
        root: Path,
        notes: Mapping[str, str | bytes],
        embedder: Callable[[], Embedder] | None = None,
        steps: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        (root / ".git/info/exclude").write_text("/.quorra/\n")
        for path, text in notes.items():
            self.write(path, text)
        self.texts = Texts(Ledger(root, ("vault", "facts"), ("Seed", "seed@localhost")), Settings(home=root))
        self.embedder = embedder
        self.steps = steps
        self.index = self.opened()

    def opened(self, folder: str = "index") -> Index:
        """Opens an index on the home, the usual one or another beside it."""
        private = self.root / ".quorra"
        return Index(private / folder, private / "cache", self.texts, self.embedder, steps=self.steps)

    def git(self, *words: str) -> str:
        """Runs real git in the home."""
        done = subprocess.run(["git", "-C", str(self.root), *IDENTITY, *words], check=True, capture_output=True)
        return done.stdout.decode()

    def commit(self) -> str:
        """Commits everything as a hand would; gives the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "by hand")
        return self.git("rev-parse", "HEAD").strip()

    def file(self, path: str) -> Path:
        """Gives a note's file from its public path."""
        return self.root / path[1:] if path.startswith("/") else self.root / "vault" / path

    def write(self, path: str, text: str | bytes) -> None:
        """Writes a note as an editor does."""
        self.file(path).parent.mkdir(parents=True, exist_ok=True)
        self.file(path).write_bytes(text if isinstance(text, bytes) else text.encode())

    def rename(self, old: str, new: str) -> None:
        """Moves a note as a file manager does."""
        self.file(new).parent.mkdir(parents=True, exist_ok=True)
        os.rename(self.file(old), self.file(new))

    def remove(self, path: str) -> None:
        """Removes a note."""
        self.file(path).unlink()

    def search(self, question: str, **more: Any) -> Found:
        """Searches the whole home after a full catch-up."""
        return self.index.search(question, **{"window": EVERYTHING, "wait": 60, **more})

    def paths(self, question: str, **more: Any) -> list[str]:
        """Gives the paths found, best first."""
        return [hit.path for hit in self.search(question, **more).hits]

    def close(self) -> None:
        """Closes what is open."""
        self.index.close()
        self.texts.ledger.close()


def compacted(index: Index) -> None:
    """Makes every table as a rebuild would make it, so that scores no longer show its history."""
    from quorra.index.store import shelves

    with manifests.locked(index.folder):
        base = index.manifest()
        assert base is not None
        found = {}
        for domain in base.shelves:
            index.writer.steps("compact")
            shelf, table = shelves.opened(index.writer.tables, base, domain)
            found[domain] = shelves.compact(table, shelf)
        index.writer.publish(replace(base, shelves=found))


def contents(index: Index) -> dict[str, list[Any]]:
    """Gives all that an index holds, in one order: rows of every table, documents, links and tags."""
    manifest = index.manifest()
    assert manifest is not None
    found: dict[str, list[Any]] = {}
    for domain, shelf in manifest.shelves.items():
        rows = index.writer.tables.read(shelf).to_arrow().to_pylist()
        found[domain] = sorted(rows, key=lambda row: (row["path"], row["part"], row["words"] is None))
    file = index.folder / manifest.catalogue
    for table in ("documents", "links", "tags"):
        found[table] = catalogue.query(file, f"SELECT * FROM {table} ORDER BY ALL")
    return {name: rows for name, rows in found.items() if rows}
