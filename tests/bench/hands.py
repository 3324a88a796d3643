"""Hands at work in a vault: the save habits of editors, sync clients and file managers, seeded and remembered."""

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

TOM = 4001
FOLDERS = ("garden", "household", "members/mira", "members/tom", "trips/2026", "a b/c'd")
SPELLED = (
    "{} (conflicted copy 2026-07-10 0709{:02}).md",
    "{} (Tom's conflicted copy 2026-07-{:02}).md",
    "{}_conflict-20240501-1010{:02}.md",
    "{}.sync-conflict-20240501-1010{:02}-ABCDEFG.md",
)


class Hands:
    """Edits files under ``root`` in ways drawn by ``pick``; ``texts`` is what every file holds now."""

    def __init__(self, root: Path, pick: random.Random, parts: list[str]) -> None:
        self.root = root
        self.pick = pick
        self.parts = parts
        self.texts = {path.relative_to(root).as_posix(): path.read_bytes() for path in _files(root)}
        self.copies: set[str] = set()
        self.removed: set[str] = set()
        self.number = 0
        weights: dict[Callable[[], None], int] = {
            self.append: 16, self.overwrite: 14, self.atomic: 16, self.vim: 8, self.recreate: 6, self.download: 8,
            self.upload: 6, self.truncated: 6, self.fresh: 6, self.remove: 3, self.rename: 4, self.picture: 2,
            self.conflict: 3, self.swapped: 1, self.folder: 1, self.emacs: 4, self.office: 3,
        }  # fmt: skip
        self.habits, self.weights = list(weights), list(weights.values())

    def edit(self) -> str:
        """Does one edit; gives its name."""
        self.number += 1
        habit = self.pick.choices(self.habits, self.weights)[0]
        habit()
        return habit.__name__

    def new(self) -> bytes:
        """Makes a text that is found nowhere else, now and then with a link."""
        link = f"\nSee [[{self.note().rpartition('/')[2][:-3]}]].\n" if self.pick.random() < 0.2 else ""
        return f"# Text {self.number}\n\n{self.pick.choice(self.parts)}\n{link}\nEdit {self.number}.\n".encode()

    def note(self) -> str:
        """Picks a note that is no conflicted copy."""
        return self.pick.choice([name for name in self.texts if name.endswith(".md") and name not in self.copies])

    def file(self, name: str) -> Path:
        """Gives a file, its folder made."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def kept(self, name: str, text: bytes) -> None:
        """Remembers what a file holds, and now and then gives it to Tom."""
        self.texts[name] = text
        self.removed.discard(name)
        if self.pick.random() < 0.1:
            os.chown(self.root / name, TOM, -1)

    def append(self) -> None:
        name = self.note()
        more = f"\nEdit {self.number} goes on.\n".encode()
        with open(self.file(name), "ab") as out:
            out.write(more)
        self.kept(name, self.texts[name] + more)

    def overwrite(self) -> None:
        name, text = self.note(), self.new()
        self.file(name).write_bytes(text)
        self.kept(name, text)

    def _over(self, name: str, passing: str, text: bytes) -> None:
        temp = self.file(name).with_name(passing)
        temp.write_bytes(text[: len(text) // 2])
        temp.write_bytes(text)
        os.replace(temp, self.file(name))
        self.kept(name, text)

    def atomic(self) -> None:
        name = self.note()
        self._over(name, f".{name.rpartition('/')[2]}.tmp{self.number}", self.new())

    def download(self) -> None:
        name = self.note()
        self._over(name, f".{name.rpartition('/')[2]}.~{self.number:07x}", self.new())

    def upload(self) -> None:
        name = self.note() if self.pick.random() < 0.5 else self._unused()
        self._over(name, f"{name.rpartition('/')[2]}.ocTransferId{self.number}.part", self.new())

    def vim(self) -> None:
        name, text = self.note(), self.new()
        file, probe = self.file(name), self.file(name).with_name("4913")
        probe.touch()
        probe.unlink()
        os.rename(file, f"{file}~")
        file.write_bytes(text)
        os.unlink(f"{file}~")
        self.kept(name, text)

    def recreate(self) -> None:
        name, text = self.note(), self.new()
        self.file(name).unlink()
        time.sleep(self.pick.random() * 0.01)
        self.file(name).write_bytes(text)
        self.kept(name, text)

    def truncated(self) -> None:
        name, text = self.note(), self.new()
        with open(self.file(name), "wb") as out:
            time.sleep(self.pick.random() * 0.02)
            out.write(text[:9])
            out.flush()
            time.sleep(self.pick.random() * 0.02)
            out.write(text[9:])
        self.kept(name, text)

    def emacs(self) -> None:
        name, text = self.note(), self.new()
        file = self.file(name)
        lock, saved = file.with_name(f".#{file.name}"), file.with_name(f"#{file.name}#")
        os.symlink("hand@host.1:1", lock)
        saved.write_bytes(text)
        file.write_bytes(text)
        saved.unlink()
        lock.unlink()
        self.kept(name, text)

    def office(self) -> None:
        name, text = self.note(), self.new()
        lock = self.file(name).with_name(f"~${self.file(name).name}")
        lock.write_bytes(b"hand")
        self.file(name).write_bytes(text)
        if self.pick.random() < 0.8:
            lock.unlink()
        self.kept(name, text)

    def _unused(self) -> str:
        return f"{self.pick.choice(FOLDERS)}/note {self.number}.md"

    def fresh(self) -> None:
        name, text = self._unused(), self.new()
        self.file(name).write_bytes(text)
        self.kept(name, text)

    def picture(self) -> None:
        name = f"{self.pick.choice(FOLDERS)}/picture {self.number}.png"
        self.file(name).write_bytes(text := self.pick.randbytes(400))
        self.kept(name, text)

    def remove(self) -> None:
        name = self.note()
        self.file(name).unlink()
        self._gone(name)
        self.removed.add(name)

    def _gone(self, name: str) -> bytes:
        self.copies.discard(name)
        return self.texts.pop(name)

    def rename(self) -> None:
        old, new = self.note(), self._unused()
        os.rename(self.root / old, self.file(new))
        self.texts[new] = self._gone(old)
        self.removed.discard(new)

    def _copy(self, name: str) -> str:
        return self.pick.choice(SPELLED).format(name[:-3], self.number % 28 + 1)

    def conflict(self) -> None:
        name = self.note()
        copy, text = self._copy(name), self.texts[name] + f"\nEdit {self.number} elsewhere.\n".encode()
        self.file(copy).write_bytes(text)
        self.kept(copy, text)
        self.copies.add(copy)

    def swapped(self) -> None:
        """Puts the text that was here aside and another in its place, as Nextcloud does."""
        name, text = self.note(), self.new()
        copy = self._copy(name)
        if copy in self.texts:
            return
        os.rename(self.root / name, self.root / copy)
        self.texts[copy] = self.texts[name]
        self.copies.add(copy)
        self._over(name, f".{name.rpartition('/')[2]}.~{self.number:07x}", text)

    def folder(self) -> None:
        """Moves a folder with all that is in it."""
        old = self.pick.choice([name.rpartition("/")[0] for name in self.texts if "/" in name])
        new = f"{self.pick.choice(FOLDERS)}/moved {self.number}"
        if new.startswith(f"{old}/") or "members" in (old, new):
            return
        self.file(new)
        os.rename(self.root / old, self.root / new)
        for name in [name for name in self.texts if name.startswith(f"{old}/")]:
            moved = new + name[len(old) :]
            self.copies |= {moved} if name in self.copies else set()
            self.texts[moved] = self._gone(name)
            self.removed.discard(moved)


def _files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and "/." not in str(path))


def fill(vault: Path, source: Path) -> None:
    """Lays a vault out over some folders, so that there is something to move."""
    for number, file in enumerate(sorted(source.rglob("*.md"))):
        target = vault / FOLDERS[number % len(FOLDERS)] / f"part {number % 40 // 10}" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
