"""Sets a repository and its work tree up again from what a backup kept of it."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from quorra.ledger.keep.kept import PIECE, STASH, portable
from quorra.ledger.plumbing.disk import Blocked, Disk
from quorra.ledger.plumbing.process import PLAIN, Git, GitFailed, sentence
from quorra.settings import PRIVATE

LONGEST = 1 << 16
HEADS = {b"# v2 git bundle\n": "sha1", b"# v3 git bundle\n": ""}


class Rebuild:
    """A repository under construction in an empty folder; raises GitFailed, Blocked and OSError."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git = Git(root, PLAIN)
        self.disk = Disk(root, root)

    def history(self, bundle: IO[bytes], head: str) -> None:
        """Takes in a bundle: its objects, every ref, and HEAD."""
        algorithm, refs = _header(bundle)
        self.git.run("init", "--quiet", "--template=", f"--object-format={algorithm}", "--initial-branch=main")
        self._objects(bundle)
        if head.startswith("refs/heads/"):
            self.git.run("symbolic-ref", "HEAD", head)
        told = "".join(f"create {name} {ident}\n" for ident, name in refs if name != STASH and _ref(name))
        self.git.run("update-ref", "--stdin", stdin=os.fsencode(told))
        if not head.startswith("refs/heads/"):
            self.git.run("update-ref", "--no-deref", "HEAD", head)

    def _objects(self, bundle: IO[bytes]) -> None:
        with TemporaryFile() as said:
            words = ("index-pack", "--stdin")
            command = [*self.git.base, *words]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as git:
                assert git.stdin is not None
                with suppress(BrokenPipeError):
                    while piece := bundle.read(PIECE):
                        git.stdin.write(piece)
                with suppress(BrokenPipeError):
                    git.stdin.close()
            if git.returncode:
                said.seek(0)
                raise GitFailed(sentence(said.read(), words), "Take another backup.")

    def told(
        self, config: Iterable[Sequence[str]], symbolic: Mapping[str, str], stash: Iterable[Sequence[str]]
    ) -> None:
        """Sets what git is told for this repository, its symbolic refs, and the stash, given the newest first."""
        for key, value in config:
            if portable(key):
                self.git.run("config", "--add" if key.startswith("remote.") else "--replace-all", key, value)
        for name, target in symbolic.items():
            if _ref(name) and _ref(target):
                self.git.run("symbolic-ref", name, target)
        for ident, said in reversed(list(stash)):
            self.git.run("stash", "store", "--quiet", f"--message={said}", "--end-of-options", ident)

    def info(self, name: str, pieces: Iterable[bytes]) -> None:
        """Writes a file of git's ``info`` folder."""
        self._fill(self.root / ".git" / "info" / name, pieces)

    def rescued(self, name: str, pieces: Iterable[bytes]) -> None:
        """Puts a hand edit that waited for its owner where it waits again."""
        if "/" not in name and name.startswith("kept-"):
            self._fill(self.root / ".git" / "quorra" / "tray" / name, pieces)

    def _fill(self, file: Path, pieces: Iterable[bytes]) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "xb") as out:
            out.writelines(pieces)

    def checkout(self, index: bytes) -> None:
        """Sets the index and writes its files."""
        if index:
            if self.git.run("hash-object", "--stdin").strip() in index:
                # An entry that is only announced names the empty blob, which nobody stored.
                self.git.run("hash-object", "-w", "--stdin")
            self.git.run("update-index", "-z", "--index-info", stdin=index)
            self.git.run("checkout-index", "--all", "--force", "--quiet")

    def remove(self, path: str) -> None:
        """Removes a file that was gone, and the folders that it leaves empty."""
        _inside(path)
        with suppress(FileNotFoundError), self.disk.folder(path) as (at, name):
            _clear(at, name)
        folder = path.rpartition("/")[0]
        while folder and self.disk.prune(folder):
            folder = folder.rpartition("/")[0]

    def put(self, path: str, pieces: Iterable[bytes], mode: int, when: int) -> None:
        """Writes a file as it was, ``when`` in nanoseconds."""
        with self._place(path) as (at, name):
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=at)
            with os.fdopen(file, "wb") as out:
                out.writelines(pieces)
                out.flush()
                os.fchmod(out.fileno(), mode & 0o777)
                os.utime(out.fileno(), ns=(when, when))

    def link(self, path: str, target: str) -> None:
        """Makes a symbolic link."""
        with self._place(path) as (at, name):
            os.symlink(target, name, dir_fd=at)

    @contextmanager
    def _place(self, path: str) -> Iterator[tuple[int, str]]:
        _inside(path)
        with self.disk.folder(path, make=True) as (at, name):
            _clear(at, name)
            yield at, name

    def folder(self, path: str) -> None:
        """Makes an empty folder."""
        _inside(path)
        self.disk.make(path)

    def prove(self) -> None:
        """Has git look at everything once more; raises GitFailed."""
        self.git.run("update-index", "-q", "--refresh", good=(0, 1))
        self.git.run("fsck", "--connectivity-only", "--no-dangling", "--no-progress")


def _header(bundle: IO[bytes]) -> tuple[str, list[tuple[str, str]]]:
    """Reads a bundle's head: the object format, and id and name of every ref."""
    algorithm = HEADS.get(bundle.readline(LONGEST))
    refs = []
    while (line := bundle.readline(LONGEST)) not in (b"\n", b""):
        ident, _, name = os.fsdecode(line).rstrip("\n").partition(" ")
        if ident.startswith("@object-format="):
            algorithm = ident.partition("=")[2]
        else:
            refs.append((ident, name))
    if not algorithm or line != b"\n":
        raise GitFailed("The history in it is no bundle of git's.", "Take another backup.")
    return algorithm, refs


def _inside(path: str) -> None:
    """Raises Blocked for a path that leads out of the home, into git's folder or into the private one."""
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)
    if bad or "\0" in path or parts[0].lower() == PRIVATE:
        raise Blocked("path", path, f"{path!r} in it leads out of the home.")


def _ref(name: str) -> bool:
    return name.startswith("refs/") and ".." not in name


def _clear(at: int, name: str) -> None:
    """Removes a file, a link or an empty folder."""
    try:
        os.unlink(name, dir_fd=at)
    except FileNotFoundError:
        pass
    except (IsADirectoryError, PermissionError):
        os.rmdir(name, dir_fd=at)
