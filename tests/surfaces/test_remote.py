"""Pull and push at the command line, as programs read them."""

import subprocess
from pathlib import Path

import pytest

from tests.ledger.places import git
from tests.surfaces.test_cli import quorra


@pytest.fixture
def home(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub")
    assert quorra("init", str(tmp_path / "home"), "--empty").code == 0
    git(tmp_path / "home", "remote", "add", "origin", "../hub")
    return tmp_path / "home"


def test_pull_and_push_speak_in_fields(home: Path):
    said = quorra("remote", "pull", at=home)
    assert (said.code, said.fields["outcome"], said.fields["commits"]) == (0, "applied", 0)
    said = quorra("remote", "push", at=home)
    assert (said.code, said.fields["outcome"]) == (0, "applied")
    assert git(home.parent / "hub", "rev-parse", "main").strip() == said.fields["commit"]
    other = home.parent / "other"
    git(home.parent, "clone", "-q", "hub", "other")
    (other / "vault").mkdir(exist_ok=True)
    (other / "vault/n.md").write_text("# N\n\ntheirs\n")
    git(other, "add", "-A")
    git(other, "-c", "user.name=Tom", "-c", "user.email=tom@localhost", "commit", "-q", "-m", "theirs")
    git(other, "push", "-q")
    (home / "vault").mkdir(exist_ok=True)
    (home / "vault/n.md").write_text("# N\n\nours\n")
    said = quorra("remote", "push", at=home)
    assert (said.code, said.fields["code"]) == (1, "remote_ahead")
    said = quorra("remote", "pull", at=home)
    assert (said.code, said.fields["outcome"], said.fields["commits"]) == (0, "applied", 1)
    assert said.fields["commit"] == git(home, "rev-parse", "HEAD").strip()
    listed = quorra("review", "list", at=home).fields["items"]
    assert [item["id"] for item in listed] == said.fields["proposals"]
    assert (listed[0]["principal"], listed[0]["surface"]) == ("remote", "remote")


@pytest.mark.parametrize("verb", ["pull", "push"])
def test_what_goes_wrong_has_its_exit_code(home: Path, verb: str):
    git(home, "remote", "set-url", "origin", "http://mira:geheim@127.0.0.1:9/x.git")
    said = quorra("remote", verb, at=home)
    assert (said.code, said.fields["outcome"], said.fields["code"]) == (3, "refused", "remote_away")
    assert "geheim" not in f"{said.fields}{said.errors}"
    git(home, "remote", "remove", "origin")
    said = quorra("remote", verb, at=home)
    assert (said.code, said.fields["code"], said.fields["next"]) == (
        1, "no_remote", "Add one with: git remote add origin URL",
    )  # fmt: skip
    said = quorra("remote", verb, "--as", "household", at=home)
    assert said.code == 1
    assert quorra("remote", verb, "--force", at=home).code == 2


def test_no_git_of_ours_outlives_its_verb(home: Path):
    quorra("remote", "push", at=home)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [line for line in listed.splitlines() if str(home) in line and line.startswith("git")]
