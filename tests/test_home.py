"""What a home tells of itself when it is opened."""

from pathlib import Path

from quorra import home as homes
from quorra import settings
from quorra.home import Home
from tests.ledger.places import killed, opened


def test_a_home_tells_of_edits_that_met(tmp_path: Path):
    root = tmp_path / "home"
    homes.create(root, empty=True)
    (root / "vault").mkdir(exist_ok=True)
    (root / "vault/a.md").write_bytes(b"# A\n\nNot committed by anyone.\n")
    killed(root, {"vault/a.md": b"# A\n\nHers.\n"}, "files written")
    (root / ".git/index.lock").unlink()
    (root / "vault/a.md").write_bytes(b"# A\n\nA second hand's.\n")
    (root / ".git/HEAD").write_text("ref: refs/heads/other\n")
    (root / ".git/refs/heads/other").write_bytes((root / ".git/refs/heads/main").read_bytes())
    home = Home.open(settings.read(root))
    assert ["vault/a (kept edit).md" in notice for notice in home.notices()] == [True]
    assert "vault/a (kept edit).md" in home.ledger.snapshot().dirty
    home.close()


def test_a_home_tells_of_a_commit_that_it_can_not_finish(tmp_path: Path):
    root = tmp_path / "home"
    homes.create(root, empty=True)
    killed(root, {"vault/a.md": b"# A\n\nHers.\n"}, "files written")
    lock = root / ".git/index.lock"
    lock.unlink()
    lock.touch()
    home = Home.open(settings.read(root))
    (notice,) = home.notices()
    assert "not finished yet" in notice
    assert "index.lock" in notice
    home.close()
    lock.unlink()
    home = Home.open(settings.read(root))
    assert home.notices() == []
    assert opened(root).snapshot().dirty == {}
    home.close()
