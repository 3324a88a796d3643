"""What a backup keeps of a repository and its work tree: everything that is in no other place."""

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import urlsplit, urlunsplit

from quorra.ledger.plumbing.process import GitFailed, sentence
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.snapshot import Signature, signature, visible

PIECE = 1 << 20
STATUS = ("status", "--porcelain=v2", "-z", "-uall", "--no-renames", "--ignore-submodules=all")
REFS = ("for-each-ref", "--format=%(objectname) %(refname) %(symref)")
STASH = "refs/stash"
SECTIONS = {
    "remote": ("url", "pushurl", "fetch", "push"),
    "branch": ("remote", "merge", "rebase"),
    "user": ("name", "email"),
    "core": ("autocrlf", "eol"),
}


@dataclass(frozen=True, slots=True)
class Kept:
    """One moment of a repository and its work tree.

    ``head`` is the branch's full name, or a commit where HEAD is detached.
    ``index`` is git's list of the index, ``staged`` names the blobs that only
    the index has. Of the work tree there is what differs from the index:
    ``changed`` files with their signature, ``gone`` ones, symbolic ``links``
    with their targets, empty ``folders``, and repositories of their own that
    lie in it, which are left ``apart``. ``stash`` holds commit and message, the
    newest first.
    """

    head: str
    commit: str | None
    index: bytes
    staged: tuple[str, ...]
    changed: Mapping[str, Signature]
    gone: tuple[str, ...]
    links: Mapping[str, str]
    folders: tuple[str, ...]
    apart: tuple[str, ...]
    refs: Mapping[str, str] = field(compare=False)
    symbolic: Mapping[str, str] = field(compare=False)
    stash: tuple[tuple[str, str], ...] = field(compare=False)


class Keeper:
    """Reads one repository for a backup; nothing is written."""

    def __init__(self, root: Path, roots: Sequence[str]) -> None:
        self.repo = Repository(root)
        self.roots = roots

    def close(self) -> None:
        """Ends the git processes that were kept."""
        self.repo.close()

    def holding(self) -> AbstractContextManager[None]:
        """Keeps every other Quorra from committing; raises Blocked and OSError."""
        return self.repo.hold()

    def look(self, always: str) -> Kept:
        """Looks at everything as it is now; the file ``always`` is kept whatever git says of it."""
        repo = self.repo
        refs, symbolic = _refs(repo)
        head = repo.branch() or repo.head() or ""
        index = repo.git.run("ls-files", "--stage", "-z")
        found = _Found(repo.root)
        for record in repo.git.run(*STATUS).split(b"\0"):
            found.take(record)
        if f"\t{always}\0".encode() not in index:
            found.file(always)
        return Kept(
            head=head,
            commit=refs.get(head) or repo.head(),
            index=index,
            staged=tuple(found.staged),
            changed=found.changed,
            gone=tuple(found.gone),
            links=found.links,
            folders=tuple(_empty(repo.root, self.roots)),
            apart=tuple(found.apart),
            refs=refs,
            symbolic=symbolic,
            stash=tuple(_stash(repo)) if STASH in refs else (),
        )

    def settings(self) -> list[tuple[str, str]]:
        """Gives what git is told for this repository alone and any machine may be told: remotes, branches, owner."""
        found = []
        for record in self.repo.git.run("config", "--local", "-z", "--list").decode("utf-8", "replace").split("\0"):
            key, _, value = record.partition("\n")
            if portable(key):
                found.append((key, bare(value) if key.endswith("url") else value))
        return found

    def info(self) -> dict[str, bytes]:
        """Gives the files of git's own ``info`` folder that a person may have written."""
        files = {name: self.repo.common / "info" / name for name in ("attributes", "exclude")}
        return {name: file.read_bytes() for name, file in files.items() if file.is_file()}

    def rescued(self) -> dict[str, bytes]:
        """Gives the hand edits that wait for their owner because they met another one."""
        return {file.name: file.read_bytes() for file in sorted(self.repo.disk.tray.glob("kept-*"))}

    def bundle(self, kept: Kept) -> Iterator[bytes]:
        """Gives the history as git's own bundle, piece by piece: every ref, and what only the index and the stash have.

        The refs are those of the moment, where ``git bundle`` would read them a second time.
        """
        algorithm = self.repo.objects.algorithm
        head = "# v2 git bundle\n" if algorithm == "sha1" else f"# v3 git bundle\n@object-format={algorithm}\n"
        named = {**kept.refs, **({"HEAD": kept.commit} if kept.commit else {})}
        yield os.fsencode(head + "".join(f"{ident} {name}\n" for name, ident in named.items()) + "\n")
        wanted = {*named.values(), *kept.staged, *(ident for ident, _ in kept.stash)}
        with TemporaryFile() as told, TemporaryFile() as said:
            told.write("".join(f"{ident}\n" for ident in sorted(wanted)).encode())
            told.seek(0)
            words = ("pack-objects", "--stdout", "--revs", "--delta-base-offset", "--quiet")
            with subprocess.Popen(
                [*self.repo.git.base, *words], stdin=told, stdout=subprocess.PIPE, stderr=said
            ) as git:
                assert git.stdout is not None
                while piece := git.stdout.read(PIECE):
                    yield piece
            if git.returncode:
                said.seek(0)
                raise GitFailed(sentence(said.read(), words), "Look at the repository with: git fsck")

    @contextmanager
    def opened(self, path: str) -> Iterator[IO[bytes] | None]:
        """Opens a file of the work tree, None where it is gone; no link on the way is followed."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with self.repo.disk.folder(path) as (at, name):
                file = os.open(name, flags, dir_fd=at)
        except FileNotFoundError:
            yield None
            return
        with os.fdopen(file, "rb") as stream:
            yield stream


class _Found:
    """Sorts the records of a status."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.staged: list[str] = []
        self.changed: dict[str, Signature] = {}
        self.gone: list[str] = []
        self.links: dict[str, str] = {}
        self.apart: list[str] = []

    def take(self, record: bytes) -> None:
        kind = record[:1]
        if kind == b"?":
            self.file(os.fsdecode(record[2:]))
        elif kind in (b"1", b"u"):
            parts = record.split(b" ", 8 if kind == b"1" else 10)
            ids = [parts[7]] if kind == b"1" else parts[7:10]
            if kind == b"u" or parts[1][:1] != b".":
                self.staged += [name.decode() for name in ids if name.strip(b"0")]
            if kind == b"u" or parts[1][1:] != b".":
                self.file(os.fsdecode(parts[-1]))

    def file(self, path: str) -> None:
        """Notes what is at a path that differs from the index."""
        if path.endswith("/"):
            self.apart.append(path)
            return
        try:
            now = os.lstat(self.root / path)
        except (FileNotFoundError, NotADirectoryError):
            self.gone.append(path)
            return
        if stat.S_ISLNK(now.st_mode):
            self.links[path] = os.readlink(self.root / path)
        elif stat.S_ISREG(now.st_mode):
            self.changed[path] = signature(now)
        else:
            self.gone.append(path)


def _refs(repo: Repository) -> tuple[dict[str, str], dict[str, str]]:
    refs, symbolic = {}, {}
    for line in os.fsdecode(repo.git.run(*REFS)).splitlines():
        ident, name, target = line.split(" ")
        if target:
            symbolic[name] = target
        else:
            refs[name] = ident
    return refs, symbolic


def _stash(repo: Repository) -> Iterator[tuple[str, str]]:
    raw = repo.git.run("log", "--walk-reflogs", "-z", "--format=%H %gs", STASH)
    for record in raw.decode("utf-8", "replace").split("\0"):
        ident, _, said = record.strip("\n").partition(" ")
        if ident:
            yield ident, said


def _empty(root: Path, roots: Sequence[str]) -> Iterator[str]:
    """Gives the visible folders that hold nothing at all, which git does not know."""
    for top in roots:
        for folder, folders, files in os.walk(root / top):
            place = Path(folder).relative_to(root).as_posix()
            folders[:] = [name for name in folders if not name.startswith(".")]
            if not folders and not files and not any(os.scandir(folder)) and visible(f"{place}/x", roots):
                yield place


def portable(key: str) -> bool:
    """Tells whether a setting of git's may be set from a backup: none that runs a command or names a file."""
    section, _, rest = key.partition(".")
    return rest.rpartition(".")[2] in SECTIONS.get(section, ())


def bare(url: str) -> str:
    """Takes name and password out of an address; SSH's user stays, as it is no secret."""
    parts = urlsplit(url)
    if not parts.scheme or not parts.netloc:
        return url
    user, at, place = parts.netloc.rpartition("@")
    name = user.partition(":")[0] + at if parts.scheme not in ("http", "https") else ""
    return urlunsplit((parts.scheme, name + place, parts.path, "", ""))
