"""The git cases from public bug reports, each judged by real git after the ledger has done its part."""

import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quorra.errors import QuorraError
from quorra.ledger.change import Applied, Outcome, Refused
from quorra.ledger.ledger import Ledger
from tests.conftest import cases
from tests.ledger.places import ORIGIN, git, killed, opened, write

SETUP = {"setup", "do", "expect", "id", "kind", "title", "source", "naive"}


@dataclass
class Run:
    """What a case did and left."""

    root: Path
    before: str
    outcomes: list[Outcome] = field(default_factory=list)
    error: QuorraError | None = None
    seconds: float = 0.0

    @property
    def outcome(self) -> Outcome:
        return self.outcomes[-1]


def step(run: Run, ledger: Ledger, action: dict[str, Any]) -> None:
    disk = run.root
    if "assistant_write" in action:
        run.outcomes.append(write(ledger, {action["assistant_write"]: action["text"].encode()}))
    elif "assistant_append" in action:
        path = action["assistant_append"]
        run.outcomes.append(write(ledger, {path: (disk / path).read_bytes() + action["text"].encode()}))
    elif "assistant_replace" in action:
        path = action["assistant_replace"]
        text = (disk / path).read_bytes().replace(action["old"].encode(), action["new"].encode())
        run.outcomes.append(write(ledger, {path: text}))
    elif "assistant_rename" in action:
        path = action["assistant_rename"]
        run.outcomes.append(write(ledger, {path: None, action["to"]: (disk / path).read_bytes()}))
    elif "commit_paths" in action:
        run.outcomes.append(ledger.adopt(action["commit_paths"], ORIGIN))
    elif "start" in action:
        ledger.recover()
    else:
        raise NotImplementedError(action)


def perform(case: dict[str, Any], root: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    subprocess.run(["bash", "-ec", case["setup"]], cwd=root, check=True, capture_output=True)
    run = Run(root, git(root, "rev-list", "--count", "--all").strip())
    start = time.perf_counter()
    for action in case["do"]:
        if "env" in action:
            monkeypatch.setenv(*action["env"].split("="))
        elif "kill_after" in action:
            files = {action["assistant_write"]: action["text"].encode()}
            assert killed(root, files, action["kill_after"].replace("file written", "files written")) == 9
        else:
            try:
                ledger = opened(root)
            except QuorraError as error:
                run.error = error
                continue
            step(run, ledger, action)
            ledger.close()
    run.seconds = time.perf_counter() - start
    return run


def lock_stays(run: Run) -> None:
    assert isinstance(run.outcome, Refused)
    assert "index.lock" in run.outcome.reason
    assert (run.root / ".git/index.lock").exists()
    assert (run.root / "a.md").read_text() == "one\n"


def both_authors(run: Run) -> None:
    assert isinstance(run.outcome, Applied)
    assert git(run.root, "log", "-2", "--format=%an").split() == ["Quorra", "Mira"]
    assert git(run.root, "show", "HEAD^:a.md") == "one\nperson line\n"
    blame = git(run.root, "blame", "--porcelain", "a.md")
    assert [line[7:] for line in blame.splitlines() if line.startswith("author ")] == ["Seed", "Mira", "Quorra"]


def refused(code: str) -> Callable[[Run], None]:
    def judge(run: Run) -> None:
        assert isinstance(run.outcome, Refused)
        assert run.outcome.code == code
        assert git(run.root, "rev-list", "--count", "--all").strip() == run.before

    return judge


def identity_kept_out(run: Run) -> None:
    assert "user." not in git(run.root, "config", "--list")
    assert git(run.root, "log", "-1", "--format=%an %cn").split() == ["Quorra", "Quorra"]


def hook_not_run(run: Run) -> None:
    assert isinstance(run.outcome, Applied)
    assert run.outcome.commit == git(run.root, "rev-parse", "HEAD").strip()


def owner_refused(run: Run) -> None:
    assert run.error is not None
    assert "dubious ownership" in run.error.message
    assert "safe.directory" not in git(run.root, "config", "--list", "--global", check=False)


def finished(run: Run) -> None:
    assert git(run.root, "log", "-1", "--format=%an") == "Quorra\n"
    assert git(run.root, "show", "HEAD:a.md") == "two\n" == (run.root / "a.md").read_text()


def no_gitlink(run: Run) -> None:
    refused("nested")(run)
    assert "160000" not in git(run.root, "ls-files", "--stage")


def untouched(run: Run) -> None:
    refused("merging")(run)
    assert not (run.root / "b.md").exists()


# What a case says in words, judged by hand once and written down here.
WORDS: dict[str, Callable[[Run], None]] = {
    "GIT-01": lock_stays,
    "GIT-03": both_authors,
    "GIT-04": refused("detached"),
    "GIT-06": identity_kept_out,
    "GIT-08": hook_not_run,
    "GIT-09": untouched,
    "GIT-11": lambda run: None,
    "GIT-12": owner_refused,
    "GIT-13": finished,
    "GIT-14": no_gitlink,
}


def names(root: Path, *words: str) -> list[str]:
    return git(root, "show", "-z", "--format=", "--no-renames", *words, "HEAD").strip("\0\n").split("\0")


def commits(run: Run, wanted: int) -> None:
    assert int(git(run.root, "rev-list", "--count", "--all")) - int(run.before) == wanted


def status(run: Run, wanted: dict[str, list[str]]) -> None:
    lines = git(run.root, "status", "--porcelain").splitlines()
    assert set(wanted["status_porcelain_contains"]) <= set(lines)
    assert len(lines) == len(wanted["status_porcelain_contains"])


def numstat(run: Run, wanted: dict[str, list[int]]) -> None:
    lines = git(run.root, "show", "--numstat", "--format=", "HEAD").split("\n")
    for path, (added, removed) in wanted.items():
        assert f"{added}\t{removed}\t{path}" in lines


def contents(run: Run, wanted: dict[str, str]) -> None:
    for path, text in wanted.items():
        assert (run.root / path).read_bytes() == text.encode()
        assert subprocess.check_output(["git", "show", f"HEAD:{path}"], cwd=run.root) == text.encode()


def pieces(run: Run, wanted: dict[str, list[str]]) -> None:
    for path, parts in wanted.items():
        assert all(part in (run.root / path).read_text() for part in parts)


def author(run: Run, wanted: str) -> None:
    assert wanted == "assistant"
    assert git(run.root, "log", "-1", "--format=%an") == "Quorra\n"


def quick(run: Run, wanted: float) -> None:
    assert run.seconds < wanted


def paths(run: Run, wanted: list[str]) -> None:
    assert sorted(names(run.root, "--name-only")) == sorted(wanted)


def statuses(run: Run, wanted: list[str]) -> None:
    flat = names(run.root, "--name-status")
    assert sorted("\t".join(pair) for pair in zip(flat[::2], flat[1::2], strict=True)) == sorted(wanted)


def renamed(run: Run, wanted: str) -> None:
    assert wanted in git(run.root, "show", "-M", "--name-status", "--format=", "HEAD").splitlines()


JUDGES: dict[str, Callable[[Run, Any], None]] = {
    "new_commits": commits,
    "commit_paths": paths,
    "after": status,
    "numstat": numstat,
    "bytes": contents,
    "final": contents,
    "final_contains": pieces,
    "author_of_commit": author,
    "max_seconds": quick,
    "commit_name_status": statuses,
    "show_with_M": renamed,
}
SAID = {"outcome", "outcome_any", "never", "identity", "note"}


@pytest.mark.parametrize("case", cases("git"))
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert set(case) <= SETUP
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "home"
    root.mkdir()
    run = perform(case, root, monkeypatch)
    monkeypatch.delenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", raising=False)
    for key, wanted in case["expect"].items():
        if key in JUDGES:
            JUDGES[key](run, wanted)
    if case["id"] in WORDS:
        WORDS[case["id"]](run)
    if case["id"] != "GIT-01" and run.error is None:
        opened(root).recover()
        assert git(root, "fsck", "--strict", check=False).count("error") == 0
    shutil.rmtree(root)


def test_every_case_is_judged():
    unjudged = []
    for param in cases("git"):
        case = param.values[0]
        keys = set(case["expect"])
        if keys - set(JUDGES) - SAID or (keys & SAID and case["id"] not in WORDS):
            unjudged.append(case["id"])
    print("cases that could not be judged:", unjudged or "none")
    assert unjudged == []
