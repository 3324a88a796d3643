"""A backup holds all that is in no other place, and what is brought back from it is the same home."""

import hashlib
import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from quorra import home as homes
from quorra import settings
from quorra.home import Home
from quorra.jobs.backup import archive, make
from quorra.jobs.backup.archive import Damaged, Newer, Writer
from quorra.jobs.backup.beside import sweep
from quorra.jobs.backup.restore import Unfit, restore
from quorra.ledger.change import Origin
from quorra.state.database import StateError
from tests.conftest import ROOT

BOILER = b"# Boiler\n\nThe pressure of the boiler is 1.5 bar.\n"
WHO = ("-c", "user.name=Mira", "-c", "user.email=mira@localhost")
SHED = b"# Shed\n\nThe shed key hangs behind the door.\n"


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True)
    return os.fsdecode(done.stdout)


def made(home: Path, file: Path, **how: Any) -> make.Made:
    opened = Home.open(settings.read(home))
    try:
        return make.make(opened, file, **how)
    finally:
        opened.close()


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path).encode(), 0
        elif path.is_file() and not name.startswith((".git/", ".quorra/")):
            found[name] = path.read_bytes(), path.stat().st_mode & 0o777
    return found


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A home with a history, a proposal, a key, and every kind of hand edit."""
    root = tmp_path / "house"
    homes.create(root, empty=True)
    home = Home.open(settings.read(root))
    for name, content in (("household/boiler", BOILER), ("gone", b"# Gone\n"), ("kept", b"# Kept\n")):
        assert home.changes.write(name, content, Origin("owner", "test", "")).outcome == "applied"
    assert home.changes.write("shed", SHED, Origin("owner", "test", ""), propose=True).outcome == "parked"
    home.close()
    vault = root / "vault"
    (vault / "household/boiler.md").write_bytes(BOILER + b"\nBled in May.\n")
    (vault / "gone.md").unlink()
    (vault / "née 'x'\n.md").write_bytes(b"odd\r\n")
    (vault / os.fsdecode(b"latin-\xe9.md")).write_bytes(b"\xef\xbb\xbfodd too")
    (vault / "run.sh").write_bytes(b"#!/bin/sh\n")
    (vault / "run.sh").chmod(0o755)
    (vault / "empty" / "deep").mkdir(parents=True)
    (vault / "link.md").symlink_to("kept.md")
    return root


@pytest.fixture
def kept(house: Path, tmp_path: Path) -> Path:
    made(house, tmp_path / "kept.tar")
    return tmp_path / "kept.tar"


def test_everything_comes_back_as_it_was(house: Path, tmp_path: Path):
    (house / "vault/staged.md").write_bytes(b"as it was staged")
    git(house, "add", "vault/staged.md")
    (house / "vault/staged.md").write_bytes(b"as it is on disk")
    git(house, "config", "user.name", "Mira")
    git(house, "-c", "user.email=mira@localhost", "tag", "--annotate", "--message=one", "v1")
    git(house, "branch", "other", "HEAD^")
    git(house, "remote", "add", "origin", "https://mira:hidden@example.org/house.git?token=hidden")
    (house / ".git/info/attributes").write_text("*.png binary\n")
    (house / "vault/kept.md").write_bytes(b"# Put aside\n")
    git(house, "-c", "user.email=mira@localhost", "stash", "push", "--quiet", "--message", "later", "vault/kept.md")
    status = git(house, "status", "--porcelain=v2", "-z", "-uall")
    done = made(house, tmp_path / "kept.tar")
    back = restore(tmp_path / "kept.tar", tmp_path / "back")
    assert (back.files, back.bytes, back.commit) == (done.files, done.bytes, git(house, "rev-parse", "HEAD").strip())
    root = tmp_path / "back"
    assert files(root) == files(house)
    assert done.files == len(files(root)) + 1
    assert (root / "vault/empty/deep").is_dir()
    assert git(root, "status", "--porcelain=v2", "-z", "-uall") == status
    for words in (("show-ref",), ("log", "--all", "--format=raw"), ("stash", "list"), ("symbolic-ref", "HEAD")):
        assert git(root, *words) == git(house, *words)
    assert git(root, "config", "remote.origin.url") == "https://example.org/house.git\n"
    assert git(root, "config", "user.name") == "Mira\n"
    assert git(root, "check-attr", "binary", "a.png") == "a.png: binary: set\n"
    assert git(root, "fsck", "--strict", "--no-dangling") == ""
    assert b"hidden" not in (tmp_path / "kept.tar").read_bytes()
    assert (tmp_path / "kept.tar").stat().st_mode & 0o777 == 0o600
    assert (root / ".quorra/state.db").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(root / ".quorra")) == ["state.db"]
    assert sorted(os.listdir(tmp_path)) == ["back", "house", "kept.tar"]


def test_another_machine_answers_and_approves_as_before(house: Path, tmp_path: Path):
    def quorra(machine: str, *words: str) -> Any:
        place = tmp_path / machine
        place.mkdir(exist_ok=True)
        plain = {"PATH": "/usr/bin:/bin", "HOME": str(place), "TMPDIR": str(place), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "quorra", "--json", *words]
        done = subprocess.run(command, cwd=place, env=plain, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    secret = quorra("one", "keys", "create", "phone", "--home", str(house))["key"]
    question = ("ask", "What is the pressure of the boiler?", "--home")
    before = quorra("one", *question, str(house))
    assert before["outcome"] == "quoted"
    kept = quorra("one", "backup", str(tmp_path / "kept.tar"), "--home", str(house))
    house.rename(tmp_path / "away")
    (tmp_path / "new").mkdir()
    back = quorra("two", "restore", str(tmp_path / "kept.tar"), "--home", str(tmp_path / "new"))
    assert (back["files"], back["bytes"]) == (kept["files"], kept["bytes"])
    after = quorra("two", *question, str(tmp_path / "new"))
    assert {**after, "timings": None} == {**before, "timings": None}
    (item,) = quorra("two", "review", "list", "--home", str(tmp_path / "new"))["items"]
    done = quorra("two", "review", "approve", item["id"], "--home", str(tmp_path / "new"))
    assert done["outcome"] == "applied"
    assert (tmp_path / "new/vault/shed.md").read_bytes() == SHED
    home = Home.open(settings.read(tmp_path / "new"))
    key = home.keys.verify(secret)
    assert key is not None
    assert key.principal == "owner"
    home.close()


def test_a_home_that_never_rests_is_kept_whole(tmp_path: Path):
    root = tmp_path / "house"
    homes.create(root, empty=True)
    words = [sys.executable, "-c", WRITER, str(root)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as writer:
        assert writer.stdout
        try:
            for number in range(12):
                begun = int(writer.stdout.readline())
                file, back = tmp_path / f"{number}.tar", tmp_path / f"back{number}"
                made(root, file)
                restore(file, back)
                assert git(back, "fsck", "--no-dangling") == ""
                texts = {path.read_text() for path in (back / "vault").rglob("*.md")}
                # Whatever a hand had written, committed or moved before the backup began is in it, and in one place.
                for hand in range(begun):
                    assert f"# Hand {hand}\n" in texts
                assert len(texts) == sum(1 for _ in (back / "vault").rglob("*.md"))
        finally:
            writer.kill()


@contextmanager
def busy(work: Callable[[], None]) -> Iterator[None]:
    """Has a hand at work all the while."""
    done = threading.Event()

    def run() -> None:
        while not done.is_set():
            work()

    hand = threading.Thread(target=run)
    hand.start()
    try:
        yield
    finally:
        done.set()
        hand.join()


def test_a_file_that_never_rests_is_kept_as_it_was_read(house: Path, tmp_path: Path):
    log = house / "vault/log.txt"

    def write() -> None:
        with open(log, "ab") as file:
            file.write(b"a line\n")

    write()
    with busy(write):
        made(house, tmp_path / "kept.tar")
    restore(tmp_path / "kept.tar", tmp_path / "back")
    kept = (tmp_path / "back/vault/log.txt").read_bytes()
    assert kept
    assert log.read_bytes().startswith(kept)


def test_a_home_whose_files_come_and_go_too_fast_is_told_of(house: Path, tmp_path: Path):
    numbers = itertools.count()

    def write() -> None:
        (house / f"vault/{next(numbers)}.md").touch()
        time.sleep(0.002)

    with busy(write), pytest.raises(make.Restless):
        made(house, tmp_path / "kept.tar")
    assert os.listdir(tmp_path) == ["house"]


WRITER = """
import sys
from pathlib import Path
from quorra import settings
from quorra.home import Home
from quorra.ledger.change import Origin
from quorra.vault.reorg.operation import Operation
root = Path(sys.argv[1])
home = Home.open(settings.read(root))
for number in range(100000):
    (root / f"vault/hand{number}.md").write_text(f"# Hand {number}\\n")
    print(number, flush=True)
    assert home.ledger.adopt([f"vault/hand{number}.md"], Origin("owner", "test", "by hand"))
    (root / f"vault/hand{number}.md").rename(root / f"vault/moved{number}.md")
    home.ledger.adopt([f"vault/hand{number}.md", f"vault/moved{number}.md"], Origin("owner", "test", "by hand"))
    home.changes.write(f"own{number}", f"# Own {number}".encode(), Origin("owner", "test", ""), propose=number % 5 == 0)
"""


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_a_killed_one_leaves_nothing_or_the_whole(house: Path, kept: Path, tmp_path: Path, verb: str):
    place = tmp_path / "place"
    place.mkdir()
    target = place / "target"
    words = {"backup": [str(target), "--home", str(house)], "restore": [str(kept), "--home", str(target)]}[verb]
    command = [sys.executable, "-m", "quorra", verb, *words]
    killed = 0
    for delay in (0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        while process.poll() is None and not any(place.glob(".target.*.part/*")):
            time.sleep(0.001)
        time.sleep(delay)
        process.kill()
        process.wait()
        killed += not target.exists()
        if verb == "backup" and target.exists():
            restore(target, tmp_path / f"back{delay}")
            target.unlink()
        elif target.exists():
            assert files(target) == files(house)
            assert git(target, "fsck", "--no-dangling") == ""
            shutil.rmtree(target)
    assert killed
    assert subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL).returncode == 0
    assert [path.name for path in place.iterdir()] == ["target"]


def test_a_cut_or_changed_file_is_refused(kept: Path, tmp_path: Path):
    whole = kept.read_bytes()
    dice = random.Random(7)
    damaged = [whole[: len(whole) * part // 20] for part in range(20)] + [whole[:-1], whole + b"\0", whole + whole]
    for _ in range(60):
        at = dice.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :])
    for content in damaged:
        kept.write_bytes(content)
        with pytest.raises((Damaged, Newer)):
            restore(kept, tmp_path / "back")
    assert not (tmp_path / "back").exists()
    assert sorted(os.listdir(tmp_path)) == ["house", "kept.tar"]


def remade(file: Path, change: Callable[[dict[str, Any]], None], more: Mapping[str, bytes] | None = None) -> None:
    """Writes a backup anew with another manifest, all its checksums right."""
    with open(file, "rb") as source:
        reader = archive.read(file, source)
        manifest = json.loads(json.dumps(reader.manifest))
        members = {name: reader.content(name) for name in reader.manifest["members"]}
    members |= more or {}
    change(manifest)
    del members[archive.FIRST]
    with open(file, "w+b") as out:
        writer = Writer(out)
        for name, content in members.items():
            writer.add(name, [content])
        writer.close(manifest)


HOSTILE: dict[str, Callable[[dict[str, Any]], None]] = {
    "a path above": lambda told: told["changed"][0].update(path="../out.md"),
    "an absolute path": lambda told: told["changed"][0].update(path="/tmp/out.md"),
    "a path in git's folder": lambda told: told["changed"][0].update(path="vault/.GIT/hooks/post-commit"),
    "a path in the private folder": lambda told: told["changed"][0].update(path=".quorra/state.db"),
    "a path through a link": lambda told: told["changed"].append({**told["changed"][0], "path": "vault/out/x"}),
    "a removal above": lambda told: told["gone"].append("../kept.tar"),
    "a folder above": lambda told: told["folders"].append("../out"),
    "a link above": lambda told: told["links"].update({"../out": "x"}),
    "a member that is not there": lambda told: told["changed"][0].update(member="files/99"),
    "a list of another kind": lambda told: told.update(changed=7),
    "a moment beyond time": lambda told: told["changed"][0].update(when=1 << 100),
    "no settings": lambda told: told["gone"].append("quorra.toml"),
    "a head that is nowhere": lambda told: told.update(head="0" * 39 + "1"),
    "a stash that is nowhere": lambda told: told["stash"].append(["0" * 39 + "1", "x"]),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_would_lead_out_is_refused(house: Path, tmp_path: Path, kind: str):
    (tmp_path / "outside").mkdir()
    (house / "vault/out").symlink_to(tmp_path / "outside")
    git(house, "add", "vault/out")
    kept = tmp_path / "kept.tar"
    made(house, kept)
    remade(kept, HOSTILE[kind])
    with pytest.raises(Damaged):
        restore(kept, tmp_path / "back")
    assert sorted(os.listdir(tmp_path)) == ["house", "kept.tar", "outside"]
    assert os.listdir(tmp_path / "outside") == []


def test_settings_of_git_that_run_commands_are_not_brought_back(kept: Path, tmp_path: Path):
    bad = [["core.sshCommand", "false"], ["core.fsmonitor", "false"], ["alias.status", "!false"], ["user.name", "Tom"]]

    def change(told: dict[str, Any]) -> None:
        told["config"] += bad
        told["symbolic"]["../../hooks"] = "refs/heads/main"

    remade(kept, change)
    restore(kept, tmp_path / "back")
    told = git(tmp_path / "back", "config", "--local", "--list")
    assert "user.name=Tom" in told
    assert "false" not in told.replace("bare=false", "")
    assert not (tmp_path / "back/hooks").exists()


@pytest.mark.parametrize("kind", ["link", "device", "twice"])
def test_a_tar_of_another_make_is_refused(kept: Path, tmp_path: Path, kind: str):
    import tarfile

    with tarfile.open(kept, "a") as tar:
        head = tarfile.TarInfo("state.db" if kind == "twice" else "x")
        head.type = {"link": tarfile.SYMTYPE, "device": tarfile.CHRTYPE, "twice": tarfile.REGTYPE}[kind]
        head.linkname = "/etc/passwd"
        tar.addfile(head)
    with pytest.raises(Damaged):
        restore(kept, tmp_path / "back")
    assert sorted(os.listdir(tmp_path)) == ["house", "kept.tar"]


def test_newer_things_are_refused(kept: Path, tmp_path: Path, house: Path):
    content = kept.read_bytes()
    with open(kept, "r+b") as file:
        file.seek(archive.BLOCK)
        file.write(b"2")
    with pytest.raises(Newer):
        restore(kept, tmp_path / "back")
    kept.write_bytes(content)
    with sqlite3.connect(house / ".quorra/state.db") as database:
        database.execute("INSERT INTO migrations VALUES (999, 'later', 'x')")
    database.close()
    state = (house / ".quorra/state.db").read_bytes()
    remade(kept, lambda told: None, {"state.db": state})
    with pytest.raises(StateError, match="newer Quorra"):
        restore(kept, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_only_an_empty_place_takes_a_home(kept: Path, tmp_path: Path):
    full, file, empty = tmp_path / "full", tmp_path / "file", tmp_path / "empty"
    full.mkdir()
    (full / "mine.md").write_bytes(b"mine")
    file.write_bytes(b"mine")
    for place in (full, file, tmp_path / "none" / "deep"):
        with pytest.raises(Unfit):
            restore(kept, place)
    assert os.listdir(full) == ["mine.md"]
    assert file.read_bytes() == b"mine"
    empty.mkdir()
    inode = empty.stat().st_ino
    restore(kept, empty)
    assert empty.stat().st_ino == inode
    with pytest.raises(Unfit):
        restore(kept, empty)


def test_a_backup_goes_only_where_nothing_is_lost(house: Path, kept: Path, tmp_path: Path):
    before = kept.read_bytes()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(make.BadPlace, match="no ordinary file"):
        made(house, tmp_path / "pipe", replace=True)
    (tmp_path / "pipe").unlink()
    for place in (kept, house / "kept.tar", house / ".quorra/kept.tar", tmp_path / "none/kept.tar", tmp_path):
        with pytest.raises(make.BadPlace):
            made(house, place)
    assert kept.read_bytes() == before
    (house / "vault/more.md").write_bytes(b"more")
    made(house, kept, replace=True)
    assert hashlib.sha256(kept.read_bytes()).digest() != hashlib.sha256(before).digest()
    assert sorted(os.listdir(tmp_path)) == ["house", "kept.tar"]


def test_what_was_killed_while_it_was_cleared_is_swept(tmp_path: Path):
    left = tmp_path / ".back.x.part"
    (left / "home").mkdir(parents=True)
    sweep(tmp_path, "back")
    assert not left.exists()


def test_of_many_who_restore_at_once_one_does(kept: Path, tmp_path: Path):
    def back(_: int) -> str:
        try:
            return str(restore(kept, tmp_path / "back").home)
        except Unfit as error:
            return error.next

    with ThreadPoolExecutor(4) as pool:
        found = sorted(pool.map(back, range(4)))
    assert found == [str(tmp_path / "back"), *["Name an empty or a new folder with --home."] * 3]
    assert sorted(os.listdir(tmp_path)) == ["back", "house", "kept.tar"]


def test_a_full_disk_leaves_nothing(house: Path, kept: Path, tmp_path: Path):
    (house / "vault/large.png").write_bytes(random.Random(1).randbytes(300_000))
    made(house, kept, replace=True)
    (tmp_path / "place").mkdir()
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    run = limited + "from quorra.surfaces.cli.main import main; main()"
    for words in (
        ["backup", str(tmp_path / "place/kept.tar"), "--home", str(house)],
        ["restore", str(kept), "--home", str(tmp_path / "place/back")],
    ):
        done = subprocess.run(
            [sys.executable, "-c", run, *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stdout
        assert "Make room" in done.stderr
        assert os.listdir(tmp_path / "place") == []


@pytest.mark.parametrize("room", [0, 8, 40, 64, 96])
def test_a_disk_that_is_full_is_not_the_backups_fault(house: Path, kept: Path, small: Path, room: int):
    for number in range(20):
        (house / f"vault/{number}.md").write_bytes(b"x" * 5000)
    made(house, kept, replace=True)
    free = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
    (small / "filler").write_bytes(bytes(free - room * 1024))
    done = subprocess.run(
        [sys.executable, "-m", "quorra", "restore", str(kept), "--home", str(small / "back")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "Make room" in done.stderr
    assert os.listdir(small) == ["filler"]


def test_what_is_in_no_common_place_is_kept_or_told_of(house: Path, tmp_path: Path):
    git(house, "init", "--quiet", str(house / "vault/other"))
    (house / "vault/other/own.md").write_bytes(b"own")
    tray = house / ".git/quorra/tray"
    tray.mkdir(parents=True, exist_ok=True)
    (tray / "kept-t-1").write_bytes(b"a hand edit that waits")
    git(house, "checkout", "--quiet", "-b", "side")
    for branch, text in (("side", b"side"), ("main", b"main")):
        git(house, "checkout", "--quiet", branch)
        (house / "vault/kept.md").write_bytes(text)
        git(house, *WHO, "commit", "--quiet", "-m", "x", "vault/kept.md")
    with pytest.raises(subprocess.CalledProcessError):
        git(house, *WHO, "merge", "--quiet", "side")
    assert made(house, tmp_path / "kept.tar").apart == ("vault/other/",)
    restore(tmp_path / "kept.tar", tmp_path / "back")
    assert (tmp_path / "back/.git/quorra/tray/kept-t-1").read_bytes() == b"a hand edit that waits"
    assert (tmp_path / "back/vault/kept.md").read_bytes() == (house / "vault/kept.md").read_bytes()
    assert git(tmp_path / "back", "ls-files", "--unmerged") == git(house, "ls-files", "--unmerged") != ""
    assert not (tmp_path / "back/vault/other").exists()


def test_other_shapes_of_a_repository(tmp_path: Path):
    root = tmp_path / "house"
    root.mkdir()
    git(root, "init", "--quiet", "--object-format=sha256", "--initial-branch=trunk")
    homes.create(root, empty=True)
    (root / "vault/new.md").write_bytes(b"new")
    git(root, "add", "--intent-to-add", "vault/new.md")
    made(root, tmp_path / "kept.tar")
    restore(tmp_path / "kept.tar", tmp_path / "back")
    assert git(tmp_path / "back", "symbolic-ref", "HEAD") == "refs/heads/trunk\n"
    assert git(tmp_path / "back", "rev-parse", "HEAD") == git(root, "rev-parse", "HEAD")
    assert (tmp_path / "back/vault/new.md").read_bytes() == b"new"
    git(root, "checkout", "--quiet", "--detach")
    made(root, tmp_path / "kept.tar", replace=True)
    restore(tmp_path / "kept.tar", tmp_path / "detached")
    assert git(tmp_path / "detached", "rev-parse", "HEAD") == git(root, "rev-parse", "HEAD")
    assert not (tmp_path / "detached/.git/HEAD").read_text().startswith("ref:")
