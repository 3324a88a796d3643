"""Making a folder a ledger: what stands in the way, and the first commit."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from quorra.ledger.change import Applied, Origin, Outcome, Refused
from quorra.ledger.ledger import Ledger
from quorra.ledger.plumbing.attributes import filtered, sentence
from quorra.ledger.plumbing.disk import Blocked
from quorra.ledger.plumbing.process import Git, GitFailed
from quorra.ledger.plumbing.repository import Repository
from quorra.settings import PRIVATE

_WHO = ("user.name", "user.email")
MOUNTS = Path("/proc/self/mountinfo")
REMOTE = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "orangefs", "smb3", "smbfs"),
        *("fuse.davfs2", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)


def check(root: Path, mounts: str | None = None) -> Refused | None:
    """Says what stands in the way of a ledger here, None where nothing does; writes nothing.

    ``mounts`` is the text of the system's mount table, read from it where not given.
    """
    kind = _file_system(root, _mounts() if mounts is None else mounts)
    if kind in REMOTE:
        return Refused("network", f"{root} is on a network file system ({kind}); a home must be on a local disk.")
    if (root / ".git").exists():
        return _check_repository(root)
    outer = _outer(root)
    if outer is not None:
        return Refused("nested", f"{root} lies inside another repository, {outer}.")
    if not root.is_dir():
        return None
    with tempfile.TemporaryDirectory() as spare:
        git = Git(Path(spare))
        git.run("init", "--quiet", "--bare", spare)
        # A folder that is no repository yet is looked at through a spare git folder, so that nothing is left in it.
        return _filtered(git, root, ("--git-dir", spare, "--work-tree", str(root)))


def _mounts() -> str:
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _file_system(root: Path, mounts: str) -> str:
    """Finds the type of the file system that holds a path, from the lines of mountinfo(5)."""
    best, kind = "", ""
    for line in mounts.splitlines():
        left, dash, right = line.partition(" - ")
        words = left.split(" ")
        if not dash or len(words) < 5:
            continue
        point = words[4].encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "surrogateescape")
        inside = str(root.resolve()) == point or str(root.resolve()).startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind


def _outer(root: Path) -> str | None:
    try:
        return Git(_nearest(root)).run("rev-parse", "--show-toplevel").decode().strip() or None
    except GitFailed:
        return None


def _nearest(root: Path) -> Path:
    """Gives the folder itself, or the nearest one above it that is there."""
    return next(folder for folder in (root, *root.parents) if folder.is_dir())


def _check_repository(root: Path) -> Refused | None:
    repo = Repository(root)
    try:
        git = repo.git
        if git.run("rev-parse", "--is-shallow-repository").strip() == b"true":
            return Refused("shallow", f"{root} is a shallow clone.")
        if git.run("config", "--bool", "core.sparseCheckout", good=(0, 1)).strip() == b"true":
            return Refused("sparse", f"{root} is a sparse checkout.")
        links = [line for line in git.run("ls-files", "--stage", "-z").split(b"\0") if line.startswith(b"160000")]
        if links or (root / ".gitmodules").exists():
            return Refused("submodules", f"{root} has submodules, which a home can't hold.")
        repo.settled()
        return _filtered(git, root, ())
    except Blocked as error:
        return Refused.by(error)
    finally:
        repo.close()


def _filtered(git: Git, root: Path, where: Sequence[str]) -> Refused | None:
    """Refuses paths whose text a filter such as git-crypt or LFS would change on its way into git."""
    listed = git.run(*where, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    found = filtered(git, map(os.fsdecode, listed.split(b"\0")[:-1]), where)
    return Refused("filter", sentence(*found), found[0]) if found else None


def identity(root: Path) -> tuple[str, str] | None:
    """Gives the name and address that git would use here, None where it knows none."""
    git = Git(_nearest(root))
    name, email = (git.run("config", key, good=(0, 1)).decode("utf-8", "replace").strip() for key in _WHO)
    return (name, email) if name and email else None


def endings(root: Path, roots: Sequence[str]) -> list[str]:
    """Gives the lines that ``.gitattributes`` needs so that git converts no line ending under these roots."""
    probes = [f"{folder}/probe.md" if folder else "probe.md" for folder in roots]
    git = Git(_nearest(root))
    converts = git.run("config", "core.autocrlf", good=(0, 1)).strip().lower() in (b"true", b"input")
    found: list[bytes] = [b"unspecified"] * len(probes)
    if (root / ".git").exists():
        stdin = b"\0".join([*map(os.fsencode, probes), b""])
        found = git.run("check-attr", "-z", "--stdin", "text", stdin=stdin).split(b"\0")[2::3]
    lines = []
    for folder, value in zip(roots, found, strict=True):
        if value in (b"set", b"auto") or (value == b"unspecified" and converts):
            lines.append(f"{folder}/** -text" if folder else "* -text")
    return lines


def init(
    root: Path,
    files: Mapping[str, bytes],
    owner: tuple[str, str],
    roots: tuple[str, ...],
    origin: Origin,
) -> Outcome:
    """Makes ``root`` a repository with these files of ours, none of them over one that is there.

    Before the first commit of a repository, notes under ``roots`` that git does
    not know yet are taken in as they are, as the owner's own commit. Where there
    is history, nothing of the person's is touched. Raises GitFailed.
    """
    refused = None if root.is_dir() else check(root)
    if refused is not None:
        return refused
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _alone(root):
            return check(root) or _begin(root, files, owner, roots, origin)
    except OSError as error:
        return Refused("disk", f"{error.filename or root}: {error.strerror}.")


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Holds a folder against every other process that would make a ledger of it."""
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(at, fcntl.LOCK_EX)
        yield
    finally:
        os.close(at)


def _begin(
    root: Path,
    files: Mapping[str, bytes],
    owner: tuple[str, str],
    roots: tuple[str, ...],
    origin: Origin,
) -> Outcome:
    from git import GitCommandError, Repo

    fresh, done = not (root / ".git").exists(), False
    try:
        if fresh:
            Repo.init(root, initial_branch="main").close()
        with closing(Ledger(root, roots, owner)) as ledger:
            _exclude(root, ledger)
            outcome = ledger.begin(files, origin)
        done = isinstance(outcome, Applied)
        return outcome
    except GitCommandError as error:
        said = str(error.stderr).strip().removeprefix("stderr:").strip(" '\n")
        return Refused("git", f"git can't make a repository in {root}: {said}")
    finally:
        if fresh and not done:
            # A repository of ours without a commit would only stand in the way of the next try.
            shutil.rmtree(root / ".git", ignore_errors=True)


def _exclude(root: Path, ledger: Ledger) -> None:
    """Keeps the home's private folder out of git, without touching the person's own ignore file."""
    folder = ledger.folder("info")
    folder.mkdir(exist_ok=True)
    file = folder / "exclude"
    text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    if f"{PRIVATE}/" not in text.split("\n"):
        joint = "" if not text or text.endswith("\n") else "\n"
        file.write_text(f"{text}{joint}{PRIVATE}/\n", encoding="utf-8", errors="surrogateescape")
