"""What the medium holds when the power fails at a step of a commit, shown on a copy of a real disk image."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quorra.ledger.change import Applied
from tests.ledger.places import git, opened, repository, sound, write

OLD = {"a.md": b"one\n", "d/b.md": b"two\n", "d/c.md": b"three\n"}
NEW: dict[str, bytes | None] = {"a.md": b"mine\nand hers\n", "d/b.md": None, "e/f.md": b"fresh\n"}
MINE = b"mine\n"


@contextmanager
def mounted(image: Path, place: Path) -> Iterator[Path]:
    place.mkdir()
    if subprocess.run(["mount", "-o", "loop", str(image), str(place)], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A disk of its own; a copy of its image holds what had reached it, and nothing that was only in memory."""
    path = tmp_path / "image"
    with open(path, "wb") as file:
        file.truncate(16 << 20)
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("no ext4 can be made here")
    subprocess.run(["mkfs.ext4", "-q", str(path)], check=True)
    return path


def texts(root: Path) -> dict[str, bytes]:
    return {path: (root / path).read_bytes() for path in {**OLD, **NEW} if (root / path).exists()}


def test_the_power_may_fail_at_any_step(image: Path, tmp_path: Path):
    seen: list[str] = []

    def steps(name: str) -> None:
        seen.append(name)
        shutil.copy(image, tmp_path / f"{len(seen)}.image")

    with mounted(image, tmp_path / "disk") as disk:
        home = repository(disk / "home", OLD)
        (home / "a.md").write_bytes(MINE)
        subprocess.run(["sync", "-f", str(home)], check=True)
        assert isinstance(write(opened(home, steps), NEW), Applied)
    before, after = OLD | {"a.md": MINE}, {path: text for path, text in (OLD | NEW).items() if text is not None}
    for number, name in enumerate(seen, 1):
        with mounted(tmp_path / f"{number}.image", tmp_path / str(number)) as disk:
            home = disk / "home"
            ledger = opened(home)
            assert ledger.recover() is None, name
            assert ledger.rescued == [], name
            assert texts(home) in (before, after), name
            whole = texts(home) == after
            assert git(home, "status", "--porcelain") == ("" if whole else " M a.md\n"), name
            assert git(home, "log", "--format=%an").split() == (["Quorra", "Mira", "Seed"] if whole else ["Seed"]), name
            if whole:
                assert git(home, "show", "HEAD^:a.md") == "mine\n", name
            ledger.close()
            sound(home)
