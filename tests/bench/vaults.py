"""Large vaults, made the same way every time: sections of real notes recombined, with dates and links.

Usage: python -m tests.bench.vaults DIR NOTES [SEED]
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from quorra.ledger.ledger import Ledger
from quorra.settings import Settings
from quorra.vault.texts import Texts
from tests.conftest import SHARED

QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_SECTION = re.compile(r"^(?=#{1,6} )", re.MULTILINE)
_MATTER = re.compile(r"\A---\r?\n.*?\n---\r?\n", re.DOTALL)


def sections() -> list[str]:
    """Gives the sections of every note of the third-party vaults, each with its heading."""
    found = []
    for file in sorted((SHARED / "vaults").rglob("*.md")):
        text = _MATTER.sub("", file.read_text(encoding="utf-8", errors="replace"))
        found += [part.strip() for part in _SECTION.split(text) if 40 < len(part.strip()) < 4000]
    return found


def name(number: int) -> str:
    """Names a note: forty to a folder."""
    return f"area-{number // 400:03d}/folder-{number // 40:04d}/note-{number:06d}.md"


def note(pick: random.Random, number: int, notes: int, parts: list[str]) -> str:
    """Writes one note: frontmatter with title and date, three to six sections, two links."""
    chosen = pick.sample(parts, pick.randint(3, 6))
    words = [re.sub(r"[^\w ]", "", pick.choice(part.split("\n", 1)[0].split() or ["note"])) for part in chosen]
    title = f"{' '.join(filter(None, words)) or 'Note'} {number}"
    day = date(2015, 1, 1) + timedelta(days=pick.randrange(4000))
    links = " and ".join(f"[[{name(pick.randrange(notes))[:-3]}]]" for _ in range(2))
    head = f'---\ntitle: "{title}"\ndate: {day.isoformat()}\ntags: [made, {pick.choice(["home", "work"])}]\n---\n\n'
    return head + "\n\n".join([*chosen, f"See {links}."]) + "\n"


def write(folder: Path, notes: int, seed: int = 7) -> None:
    """Writes a vault of so many notes into a folder."""
    pick = random.Random(seed)
    parts = sections()
    for number in range(notes):
        file = folder / name(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(note(pick, number, notes, parts), encoding="utf-8")


@contextmanager
def home(notes: int, seed: int = 7) -> Iterator[Path]:
    """Makes a committed repository with a vault of so many notes and removes it afterwards."""
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder)
        write(root / "vault", notes, seed)
        commit(root)
        yield root


@contextmanager
def real(*names: str) -> Iterator[Path]:
    """Makes a committed repository of some third-party vaults, of all without names, and removes it afterwards."""
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder)
        for vault in sorted((SHARED / "vaults").iterdir()):
            if vault.is_dir() and (vault.name in names or not names):
                shutil.copytree(vault, root / "vault" / vault.name, ignore=shutil.ignore_patterns(".git"))
        commit(root)
        yield root


def commit(root: Path) -> None:
    """Makes a folder a repository that holds all its files."""
    os.environ.update(QUIET)
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    for key, value in (("user.name", "Bench"), ("user.email", "bench@localhost"), ("gc.auto", "0")):
        subprocess.run(["git", "-C", str(root), "config", key, value], check=True)
    (root / ".git/info/exclude").write_text("/.quorra/\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(root), "commit", "-q", "-m", "start"], check=True)


def texts(root: Path) -> Texts:
    """Opens the texts of such a repository."""
    settings = Settings(home=root)
    return Texts(Ledger(root, ("vault",), ("Bench", "bench@localhost")), settings)


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 7)
