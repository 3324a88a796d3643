"""Several processes and threads at one repository: nothing lost, no error but Stale."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from quorra.ledger.change import Applied, ChangeSet, Edit, Stale
from quorra.ledger.ledger import Ledger
from tests.ledger.places import ORIGIN, git, opened, repository, sound, write


def append(ledger: Ledger, path: str, line: bytes) -> int:
    """Adds a line to a note, again as often as somebody else was faster; gives how often that was."""
    stale = 0
    while True:
        old = (ledger.root / path).read_bytes()
        edit = Edit(path, old + line, ledger.id_of(old))
        outcome = ledger.commit(ChangeSet((edit,), "Add a line", ORIGIN))
        if isinstance(outcome, Applied):
            return stale
        assert isinstance(outcome, Stale), outcome
        stale += 1


def crowd(root: Path, processes: int, writes: int, path: str) -> None:
    children = []
    for number in range(processes):
        ident = os.fork()
        if ident == 0:
            code = 1
            try:
                ledger = opened(root)
                for turn in range(writes):
                    append(ledger, path.format(number), b"%d %d\n" % (number, turn))
                ledger.close()
                code = 0
            finally:
                os._exit(code)
        children.append(ident)
    assert [os.waitpid(ident, 0)[1] for ident in children] == [0] * processes


def test_processes_on_their_own_notes(tmp_path: Path):
    root = repository(tmp_path / "home", {f"{number}.md": b"" for number in range(4)})
    crowd(root, 4, 8, "{}.md")
    assert git(root, "rev-list", "--count", "HEAD").strip() == str(1 + 4 * 8)
    for number in range(4):
        assert git(root, "show", f"HEAD:{number}.md").split("\n")[:-1] == [f"{number} {turn}" for turn in range(8)]
    assert git(root, "status", "--porcelain") == ""
    sound(root)


def test_processes_on_one_note(tmp_path: Path):
    root = repository(tmp_path / "home", {"shared.md": b""})
    crowd(root, 4, 8, "shared.md")
    assert git(root, "rev-list", "--count", "HEAD").strip() == str(1 + 4 * 8)
    lines = git(root, "show", "HEAD:shared.md").splitlines()
    assert sorted(lines) == sorted(f"{number} {turn}" for number in range(4) for turn in range(8))
    assert git(root, "log", "-p", "--format=").count("\n-") == git(root, "log", "-p", "--format=").count("\n---")
    sound(root)


def test_threads_share_one_ledger(tmp_path: Path):
    root = repository(tmp_path / "home", {f"{number}.md": b"" for number in range(4)})
    ledger = opened(root)

    def work(number: int) -> None:
        for turn in range(6):
            append(ledger, f"{number}.md", b"%d\n" % turn)
            assert ledger.snapshot().head is not None
            assert f"{number}.md" in ledger.tree("HEAD")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert git(root, "rev-list", "--count", "HEAD").strip() == "25"
    sound(root)


def test_a_person_commits_at_the_same_time(tmp_path: Path):
    root = repository(tmp_path / "home", {"hers.md": b"", "mine.md": b""})
    ledger = opened(root)
    ident = os.fork()
    if ident == 0:
        done = 0
        for number in range(200):
            (root / "mine.md").write_text(f"{number}\n")
            words = f"cd {root} && git add mine.md 2>/dev/null && git commit -q -m mine -- mine.md 2>/dev/null"
            done += os.system(words) == 0
            if done == 15:
                break
        os._exit(0 if done == 15 else 1)
    for number in range(40):
        assert isinstance(write(ledger, {"hers.md": b"%d\n" % number}), Applied)
    assert os.waitpid(ident, 0)[1] == 0
    git(root, "add", "mine.md")
    git(root, "commit", "-q", "--allow-empty", "-m", "last")
    assert git(root, "log", "--oneline", "--author=Quorra").count("\n") == 40
    assert git(root, "show", "HEAD:hers.md") == "39\n"
    assert git(root, "status", "--porcelain") == ""
    sound(root)
