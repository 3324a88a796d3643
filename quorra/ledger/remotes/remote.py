"""Other people's git: what lies at a remote, fetched without a question asked, and ours sent there, never forced."""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryFile

from quorra.ledger.change import Applied, Outcome, Refused
from quorra.ledger.plumbing.disk import Blocked
from quorra.ledger.plumbing.process import GitFailed, together
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.refusal import guarded

PATIENCE = 300.0
GRACE = 2.0
FETCHED = "refs/quorra/fetched"
SEEN = "refs/quorra/seen/"
# A question would wait for ever for somebody to answer it, and a session of its own has no terminal to ask at.
SILENT = (
    *("LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS="),
    *("SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never"),
)
LIMITS = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30", "-c", "credential.interactive=false")
FETCH = (
    *("fetch", "--quiet", "--no-tags", "--no-prune", "--refmap=", "--no-write-fetch-head"),
    *("--no-recurse-submodules", "--no-auto-maintenance"),
)
PUSH = (
    *("-c", "push.followTags=false", "-c", "push.gpgSign=false"),
    *("push", "--porcelain", "--no-verify", "--recurse-submodules=no"),
)
PREFIX = re.compile(r"^(?:(?:fatal|error|remote|ssh|warning): *)+|^!\t[^\t]*\t")
NOISE = re.compile(r"hint:|To |Done$|error: failed to push some refs")
SECRET = re.compile(r"(?<=://)[^\s/']*@|(?<=\?)[^\s'#]+")
DENIED = re.compile(
    r"Authentication failed|could not read (?:Username|Password)|prompts disabled|Permission denied|"
    r"Host key verification failed|error: 40[13]"
)
# Said of the disk here: what the other side says has its name before it.
FULL = re.compile(r"^(?!remote:).*(?:No space left on device|File too large)", re.MULTILINE)
SHALLOW = re.compile(r"shallow (?:roots|update)")


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote of git's configuration by its name, and the branch there that ours follows."""

    name: str
    branch: str

    def __str__(self) -> str:
        return f"{self.name}/{self.branch}"

    @property
    def tracked(self) -> str:
        """The ref under which git itself keeps what it saw there last."""
        return f"refs/remotes/{self}"

    @property
    def seen(self) -> str:
        """The ref under which Quorra keeps what she took over or sent last, whatever git fetched since."""
        return f"{SEEN}{self}"


class Remotes:
    """The remotes of one repository; no file, branch or setting here is changed.

    One that gives no answer within ``patience`` seconds is away.
    """

    def __init__(self, repo: Repository, patience: float = PATIENCE) -> None:
        self.repo = repo
        self.patience = patience

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lets one process at a time pull; raises Blocked where another one has been at it for half a minute."""
        with self.repo.locks.hold("pull"):
            yield

    def chosen(self) -> Remote | Refused:
        """Gives the upstream of the branch, else the only remote with a branch of the same name."""
        return guarded(self._chosen)

    def fetch(self, source: Remote) -> str | Refused | None:
        """Brings a remote's commits here and gives the last one's id, None where it has no such branch yet.

        Refused where it is away, asks for a password, or has lost what it had before.
        """
        return guarded(lambda: self._fetch(source))

    def push(self, target: Remote) -> Outcome | None:
        """Sends the branch to a remote if that only adds to what is there; None where it is there already."""
        head = self.repo.head()
        if head is None:
            return Refused("empty", "There is no commit yet.")
        sent = guarded(lambda: self._push(target, head))
        return sent if isinstance(sent, Refused) else Applied(head) if sent else None

    def _chosen(self) -> Remote:
        branch = self.repo.settled().removeprefix("refs/heads/")
        names = self.repo.git.run("remote").decode("utf-8", "surrogateescape").split("\n")[:-1]
        if not names:
            raise Blocked("no_remote", "", "No remote is set up here.")
        name, there = (self._config(f"branch.{branch}.{key}") for key in ("remote", "merge"))
        if name in names:
            return Remote(name, there.removeprefix("refs/heads/") or branch)
        if len(names) > 1:
            helps = f"Choose one with: git config branch.{branch}.remote {names[0]}"
            raise Blocked("no_remote", "", f"There are several remotes: {', '.join(names)}.", helps)
        return Remote(names[0], branch)

    def _fetch(self, source: Remote) -> str | None:
        tip = self._tip(source)
        if tip is None:
            return None
        if not self._known(source, tip):
            self.repo.git.run("update-ref", "-d", FETCHED)
            code, said = self._run(*FETCH, "--", source.name, f"+refs/heads/{source.branch}:{FETCHED}")
            tip = self._commit(FETCHED)
            if code or tip is None:
                raise _away(source, said)
        self._unbroken(source, tip)
        self._note(source, tip)
        return tip

    def _push(self, target: Remote, head: str) -> bool:
        tip = self._tip(target)
        known = tip is None or self._commit(tip) is not None
        if tip is not None and known:
            self._unbroken(target, tip)
        ahead = f"{target} has commits that are not here."
        if tip is not None and not (known and self.repo.inside(tip, head)):
            raise Blocked("remote_ahead", "", ahead)
        if tip != head:
            self._send(target, head, ahead)
        with suppress(GitFailed):
            # It is there, whatever hinders noting so here.
            self._note(target, head)
        return tip != head

    def _send(self, target: Remote, head: str, ahead: str) -> None:
        code, said = self._run(*PUSH, "--", target.name, f"{head}:refs/heads/{target.branch}")
        if "[rejected]" in said:
            raise Blocked("remote_ahead", "", ahead)
        if code:
            raise _away(target, said)

    def _tip(self, remote: Remote) -> str | None:
        ref = f"refs/heads/{remote.branch}"
        code, said = self._run("ls-remote", "--quiet", "--", remote.name, ref)
        if code:
            raise _away(remote, said)
        found = (line.split("\t") for line in said.splitlines())
        return next((parts[0] for parts in found if parts[1:] == [ref]), None)

    def _commit(self, name: str) -> str | None:
        found = self.repo.reader.info([f"{name}^{{commit}}"])[0]
        return found[0] if found else None

    def _known(self, remote: Remote, tip: str) -> bool:
        """Tells whether a commit is here with all of its history."""
        head = self.repo.head()
        if tip in (self._commit(remote.seen), self._commit(remote.tracked)):
            return True
        return head is not None and self._commit(tip) is not None and self.repo.inside(tip, head)

    def _note(self, remote: Remote, tip: str) -> None:
        for ref in (remote.tracked, remote.seen):
            self.repo.git.run("update-ref", ref, tip)

    def _unbroken(self, remote: Remote, tip: str) -> None:
        """Raises Blocked for a tip that has lost what was there before and is still here.

        A person has dealt with it where that is no longer in our history, or was merged with what came instead.
        """
        head = self.repo.head()
        for ref in (remote.seen, remote.tracked):
            seen = self._commit(ref)
            if seen is None or head is None or self.repo.inside(seen, tip) or not self.repo.inside(seen, head):
                continue
            if self.repo.inside(tip, head) and not self.repo.inside(tip, seen):
                continue
            old, new = seen[:10], tip[:10]
            reason = f"{remote} was rewritten: it was at {old}, and {new}, where it is now, does not contain that."
            helps = (
                f"Compare them with: git log --oneline --left-right {old}...{new}. Keep both with git merge {new} "
                f"and git push, or take theirs alone with git rebase --onto {new} {old}."
            )
            raise Blocked("rewritten", "", reason, helps)

    def _config(self, key: str) -> str:
        return self.repo.git.run("config", key, good=(0, 1)).decode("utf-8", "surrogateescape").strip()

    def _run(self, *words: str) -> tuple[int, str]:
        """Runs a git command that talks to another machine; gives its exit code and all that it said."""
        ssh = f"core.sshCommand={self._config('core.sshCommand') or 'ssh'} -oBatchMode=yes -oConnectTimeout=20"
        command = ("env", *SILENT, *self.repo.git.base, "-c", ssh, *LIMITS, *words)
        with TemporaryFile() as said:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True, cwd=self.repo.root
            )
            try:
                code = process.wait(self.patience)
            except subprocess.TimeoutExpired:
                return 1, f"it did not answer within {self.patience:.0f} seconds."
            finally:
                _end(process)
            said.seek(0)
            return code, said.read().decode("utf-8", "surrogateescape")


def _away(remote: Remote, said: str) -> Blocked:
    """Says why a remote gave no answer."""
    why = _clean(said)
    if DENIED.search(said):
        reason = f"{remote.name} asks who you are, and what git knows was not enough: {why}"
        return Blocked("remote_denied", "", reason)
    if SHALLOW.search(said):
        reason = f"{remote.name} is a shallow clone, which lacks a part of its history."
        return Blocked("remote_shallow", "", reason)
    if "[remote rejected]" in said:
        return Blocked("remote_denied", "", f"{remote} did not take it: {why}", "Ask who keeps it.")
    if FULL.search(said):
        return Blocked("disk", "", f"What {remote.name} has can't be kept here: {why}")
    return Blocked("remote_away", "", f"{remote.name} can't be reached: {why}")


def _clean(said: str) -> str:
    """Makes git's complaint one sentence without the passwords that an address may hold."""
    lines = [PREFIX.sub("", line) for line in said.splitlines() if not NOISE.match(line)]
    return SECRET.sub("…", together(lines)) or "git says no more."


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a command and whatever it started, giving git time to take its locks away."""
    for sign in _signs(process):
        os.killpg(process.pid, sign)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            continue


def _signs(process: subprocess.Popen[bytes]) -> Iterable[int]:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            yield sign
