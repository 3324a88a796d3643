"""Git as child processes: one-shot calls, and persistent ones that are asked and answered in turn."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from quorra.errors import QuorraError

PLAIN = (
    "--no-replace-objects",
    "--literal-pathspecs",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
# Without this one git may write the index afresh while it is only asked something.
OPTIONS = ("--no-optional-locks", *PLAIN)
T = TypeVar("T")
BATCH = 1000
MARK = b"that is all\n"


class GitFailed(QuorraError):
    """Git itself refused or is not there; the sentence is git's own where it gave one."""

    code = "git"


class Ended(GitFailed):
    """A kept process is gone in the middle of an answer."""

    def __init__(self, verb: str) -> None:
        super().__init__(f"git {verb} ended in the middle of an answer.", "Look at the repository with: git fsck")


class Git:
    """One-shot git commands in one repository, hooks and automatic clean-up switched off."""

    def __init__(self, root: Path, options: Sequence[str] = OPTIONS) -> None:
        self.root = root
        self.base = ("git", "-C", str(root), *options)

    def run(
        self, *words: str, stdin: bytes = b"", good: Sequence[int] = (0,), within: dict[str, str] | None = None
    ) -> bytes:
        """Runs a command and gives its output; ``within`` adds variables to its environment."""
        prefix = ["env", *(f"{key}={value}" for key, value in within.items())] if within else []
        command = [*prefix, *self.base, *words]
        # One pipe is read straight through, where two or three would have to be watched in turn.
        told: dict[str, Any] = {"input": stdin} if stdin else {"stdin": subprocess.DEVNULL}
        with _aside() as said:
            try:
                done = subprocess.run(command, **told, stdout=subprocess.PIPE, stderr=said, check=False)
            except FileNotFoundError as error:
                raise GitFailed("git is not installed here.", "Install git 2.38 or newer.") from error
            if done.returncode not in good:
                said.seek(0)
                raise GitFailed(sentence(said.read(), words), "Mend what git names and try again.")
        return bytes(done.stdout)


def _aside() -> IO[bytes]:
    """Opens a file for complaints, in memory where the system has that."""
    memory = getattr(os, "memfd_create", None)
    return open(memory("said"), "w+b", buffering=0) if memory else TemporaryFile()


def sentence(stderr: bytes, words: Sequence[str]) -> str:
    """Makes git's complaint a sentence or some."""
    return together(stderr.decode("utf-8", "replace").splitlines()) or f"git {words[0]} failed without a word."


def together(lines: Iterable[str]) -> str:
    """Puts lines behind each other as sentences, each with a stop."""
    plain = (" ".join(line.split()) for line in lines)
    return " ".join(line if line.endswith((".", "!", "?", ":", ";", ",")) else f"{line}." for line in plain if line)


class Pipe:
    """A git process that is started when first asked, and again if it is gone."""

    def __init__(self, git: Git, *words: str) -> None:
        self.command = [*git.base, *words]
        self.verb = words[0]
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keeps the process to one asker; an answer that was not read to its end ends the process."""
        with self._lock, ExitStack() as broken:
            broken.callback(self.close)
            yield
            broken.pop_all()

    def twice(self, work: Callable[[], T]) -> T:
        """Asks, and once more where the process turns out to be gone; for questions that change nothing."""
        try:
            with self.turn():
                return work()
        except Ended:
            with self.turn():
                return work()

    def streams(self) -> tuple[IO[bytes], IO[bytes]]:
        """Gives the standard input and output of the running process."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            try:
                self._process = subprocess.Popen(
                    self.command,
                    bufsize=1 << 16,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    process_group=0,
                )
            except FileNotFoundError as error:
                raise GitFailed("git is not installed here.", "Install git 2.38 or newer.") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def ask(self, text: bytes) -> IO[bytes]:
        """Sends a request and gives the stream to read the answer from; raises Ended."""
        stdin, stdout = self.streams()
        try:
            stdin.write(text)
            stdin.flush()
        except BrokenPipeError as error:
            raise Ended(self.verb) from error
        return stdout

    def line(self, stdout: IO[bytes]) -> bytes:
        """Reads one line; raises Ended."""
        got = stdout.readline()
        if not got.endswith(b"\n"):
            raise Ended(self.verb)
        return got[:-1]

    def close(self) -> None:
        """Ends the process by closing its input."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                if stream:
                    stream.close()
        process.wait()


class Reader(Pipe):
    """Objects by name, through one ``cat-file --batch-command``."""

    def __init__(self, git: Git) -> None:
        super().__init__(git, "cat-file", "--batch-command", "--buffer")

    def info(self, names: Sequence[str]) -> list[tuple[str, str] | None]:
        """Gives each object's id and type in order, None for one that is missing or ambiguous."""
        return [found for part in _parts(names) for found in self.twice(partial(self._info, part))]

    def _info(self, names: Sequence[str]) -> list[tuple[str, str] | None]:
        stdout = self.ask(b"".join(b"info %s\n" % os.fsencode(name) for name in names) + b"flush\n")
        answers = [self.line(stdout).decode("utf-8", "replace").split(" ") for _ in names]
        return [(words[0], words[1]) if len(words) == 3 and words[2].isdigit() else None for words in answers]

    def contents(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Gives each object's bytes in order; raises GitFailed for one that is missing."""
        for part in _parts(ids):
            yield from self.twice(partial(self._batch, part))

    def _batch(self, ids: Sequence[str]) -> list[tuple[str, bytes]]:
        found, missing = [], []
        stdout = self.ask(b"".join(b"contents %s\n" % name.encode() for name in ids) + b"flush\n")
        for name in ids:
            words = self.line(stdout).split(b" ")
            if len(words) != 3 or not words[2].isdigit():
                missing.append(name)
                continue
            content = stdout.read(int(words[2]) + 1)
            if len(content) <= int(words[2]):
                raise Ended(self.verb)
            found.append((name, content[:-1]))
        if missing:
            raise GitFailed(f"Object {missing[0]} is not in the repository.", "Look at it with: git fsck")
        return found


class Differ(Pipe):
    """What differs between two trees, through one ``diff-tree --stdin``."""

    def __init__(self, git: Git) -> None:
        super().__init__(git, "diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames")

    def changes(self, old: str, new: str) -> list[tuple[str, str, bytes]]:
        """Gives mode, id and path on the new side of every difference."""
        parts = self.twice(partial(self._answer, old, new)).split(b"\0")
        heads = (parts[at].decode().split(" ") for at in range(0, len(parts) - 1, 2))
        return [(head[1], head[3], path) for head, path in zip(heads, parts[1::2], strict=True)]

    def _answer(self, old: str, new: str) -> bytes:
        # A line that names no object is echoed and flushed: the mark that the answer is complete.
        stdout = self.ask(f"{old} {new}\n".encode() + MARK)
        got = bytearray()
        while not got.endswith((b"\0" + MARK, b"\n" + MARK)):
            piece = stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not piece:
                raise Ended(self.verb)
            got += piece
        return bytes(got[len(old) + len(new) + 2 : -len(MARK)])


class Refs(Pipe):
    """The branch under HEAD, moved by compare-and-swap through one ``update-ref --stdin``."""

    def __init__(self, git: Git) -> None:
        super().__init__(git, "update-ref", "-m", "quorra", "--stdin")

    def move(self, new: str, old: str) -> bool:
        """Moves HEAD's branch from ``old`` to ``new``; False where it is not at ``old`` or its lock is held."""
        with suppress(GitFailed), self.turn():
            stdout = self.ask(f"start\nupdate HEAD {new} {old}\nprepare\ncommit\n".encode())
            for word in (b"start: ok", b"prepare: ok", b"commit: ok"):
                if self.line(stdout) != word:
                    raise GitFailed("git update-ref did not answer in turn.")
            return True
        return False


def _parts(names: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while part := list(islice(rest, BATCH)):
        yield part
