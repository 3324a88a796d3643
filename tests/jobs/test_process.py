"""``quorra watch`` as a process of its own: killed, ended, limited, and beside the service."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quorra import settings
from tests.conftest import ROOT
from tests.jobs.watched import QUIET, Watched

SECONDS = 10.0


class Process:
    """A running ``quorra watch``, with what it says in a file."""

    def __init__(self, place: Watched, *before: str, words: tuple[str, ...] = ()) -> None:
        self.log = place.root.parent / f"watch-{time.monotonic_ns()}.log"
        with open(self.log, "wb") as out:
            command = [*before, sys.executable, "-m", "quorra", "watch", "--home", str(place.root), *words]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out)

    def said(self, words: str) -> bool:
        return words in self.log.read_text(encoding="utf-8")

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


@pytest.fixture
def place(tmp_path: Path):
    made = Watched(tmp_path / "home", {"home/boiler.md": "old\n", "log.md": "[[boiler]]\n"})
    toml = made.root / "quorra.toml"
    toml.write_text(f"{toml.read_text()}\n[watch]\nquiet = {QUIET}\npoll = 0.5\n")
    yield made
    made.close()


def until(good: object, seconds: float = SECONDS) -> None:
    assert callable(good)
    end = time.monotonic() + seconds
    while not good():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_it_tells_what_it_takes_in_and_ends_when_asked(place: Watched):
    running = Process(place, words=("--json",))
    until(lambda: running.said("Quorra watches"))
    place.file("home/boiler.md").rename(place.file("home/heating.md"))
    until(lambda: running.said("log.md:1 links to boiler, which is gone."))
    assert running.said("Direct edit of home/heating.md by")
    second = Process(place)
    assert second.process.wait(SECONDS) == 3
    assert second.said("Another Quorra process watches")
    assert running.said("Edits outside members' folders will be by unknown.")
    assert not second.said("Quorra watches")
    assert not second.said("unknown")
    assert running.end() == 0
    assert json.loads(running.process.stdout.read()) == {"commits": 1, "files": 2, "conflicts": 0}  # type: ignore[union-attr]
    assert Process(place).end(signal.SIGKILL) == -signal.SIGKILL


def test_once_prints_one_object(place: Watched):
    place.write("home/a.md", "a\n")
    copy = "home/boiler (conflicted copy 2026-07-10 070952).md"
    place.write(copy, "other\n")
    running = Process(place, words=("--once", "--json"))
    assert running.process.wait(SECONDS) == 0
    told = json.loads(running.process.stdout.read())  # type: ignore[union-attr]
    assert list(told) == ["adopted", "left", "conflicts", "dangling"]
    assert [(each["paths"], each["commit"]) for each in told["adopted"]] == [(["home/a.md"], place.head())]
    assert [(each["path"], each["copy"]) for each in told["conflicts"]] == [("home/boiler.md", copy)]
    assert running.log.read_text() == ""


def test_killed_in_the_middle_of_a_storm_it_loses_no_edit(place: Watched):
    pick, kills = random.Random(5), 0
    running = Process(place)
    until(lambda: running.said("Quorra watches"))
    for number in range(120):
        place.write(f"home/n{pick.randrange(12)}.md", f"text {number}\n")
        time.sleep(pick.choice((0.0, 0.01, 0.01, QUIET + 0.1 if number % 10 == 0 else 0.0)))
        if number % 24 == 23:
            time.sleep(QUIET * pick.random() * 1.3)
            running.end(signal.SIGKILL)
            kills += 1
            running = Process(place)
    place.settled(seconds=SECONDS)
    assert running.end() == 0
    assert kills == 5
    for file in place.vault.rglob("*.md"):
        held = place.git("show", f"HEAD:vault/{file.relative_to(place.vault).as_posix()}")
        assert held == file.read_text(), file
    assert place.git("status", "--porcelain", "vault") == ""
    assert "error" not in place.git("fsck")


def test_where_the_system_watches_no_more_folders_it_says_so_and_looks_now_and_then(place: Watched):
    limit = "echo 1 > /proc/sys/user/max_inotify_watches"
    if subprocess.run(["unshare", "-Ur", "sh", "-c", limit], check=False, capture_output=True).returncode:
        pytest.skip("this system lets nobody set a limit of their own")
    running = Process(place, "unshare", "-Ur", "sh", "-c", f'{limit} && exec "$@"', "sh")
    until(lambda: running.said("Watching is degraded"))
    assert running.said("raise fs.inotify.max_user_watches")
    place.write("deep/er/new.md", "n\n")
    until(lambda: running.said("Direct edit of deep/er/new.md"))
    assert running.process.poll() is None
    assert running.log.read_text().count("Watching is degraded") == 1
    assert running.end(signal.SIGINT) == 0


def test_the_service_takes_hand_edits_in(place: Watched):
    log = place.root.parent / "serve.log"
    command = [sys.executable, "-m", "quorra", "serve", "--port", "0", "--home", str(place.root), "--json"]
    with open(log, "wb") as out, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out) as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["url"]
        place.write("home/boiler.md", "sesame words\n")
        place.settled(seconds=SECONDS)
        running.send_signal(signal.SIGTERM)
        assert running.wait(SECONDS) == 0
    assert [subject for _, subject, _ in place.commits()] == ["Direct edit of home/boiler.md"]
    (told,) = [json.loads(line) for line in log.read_text().splitlines() if '"adopted"' in line]
    assert told["paths"] == ["home/boiler.md"]
    assert "sesame" not in log.read_text()


def test_a_home_whose_hands_commit_themselves_is_not_watched(place: Watched):
    toml = place.root / "quorra.toml"
    toml.write_text(toml.read_text().replace("[watch]\n", "[watch]\nadopt = false\n"))
    place.write("home/a.md", "a\n")
    running = Process(place, words=("--once",))
    assert running.process.wait(SECONDS) == 1
    assert running.said("set adopt = true under [watch]")
    assert place.commits() == []


def test_this_repository_is_not_watched():
    assert not settings.read(ROOT).watch.adopt


def test_the_service_waits_for_another_watcher_and_then_watches(place: Watched):
    first = Process(place)
    until(lambda: first.said("Quorra watches"))
    log = place.root.parent / "serve.log"
    command = [sys.executable, "-m", "quorra", "serve", "--port", "0", "--home", str(place.root)]
    with open(log, "wb") as out, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=out) as running:
        until(lambda: "watches" in log.read_text())
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        place.write("home/a.md", "a\n")
        place.settled(seconds=SECONDS)
        running.send_signal(signal.SIGTERM)
        assert running.wait(SECONDS) == 0
    assert log.read_text().count("watches") == 1
