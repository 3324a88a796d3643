"""The gate lets the owner write notes and facts and nobody write anything else."""

from pathlib import Path

import pytest

from quorra.access import gate
from quorra.ledger.change import Applied, ChangeSet, Edit, Origin, Refused
from quorra.settings import Settings, Vault
from quorra.vault.texts import Texts
from tests.ledger.places import git, opened, repository

CLAIMED = Origin("somebody else", "test", "to see")


def home(root: Path, vault: str = "vault") -> Texts:
    settings = Settings(home=root, vault=Vault(path=vault))
    return Texts(opened(root, roots=(settings.vault_root, "facts")), settings)


def to(path: str) -> ChangeSet:
    return ChangeSet((Edit(path, b"text\n", None),), "Write", CLAIMED)


def test_the_owner_writes_in_their_own_name(tmp_path: Path):
    root = repository(tmp_path / "home", {"quorra.toml": b""})
    texts = home(root)
    assert isinstance(gate.apply(to("vault/a.md"), "owner", texts), Applied)
    assert isinstance(gate.apply(to("facts/household.md"), "owner", texts), Applied)
    assert texts.ledger.log(limit=1)[0].trailers["Quorra-Principal"] == "owner"


def test_nobody_else_writes(tmp_path: Path):
    root = repository(tmp_path / "home", {"quorra.toml": b""})
    outcome = gate.apply(to("vault/a.md"), "tom", home(root))
    assert isinstance(outcome, Refused)
    assert (outcome.code, "tom" in outcome.reason) == ("not_owner", True)
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.parametrize(
    "path",
    [
        "quorra.toml",
        "prompts/ask.md",
        "../x.md",
        "/etc/x",
        "vault/../quorra.toml",
        "vault",
        "vaults/x.md",
        "vault/.x.md",
    ],
)
def test_only_notes_and_facts_are_written(tmp_path: Path, path: str):
    root = repository(tmp_path / "home", {"quorra.toml": b""})
    assert isinstance(gate.apply(to(path), "owner", home(root)), Refused)
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("path", "fine"),
    [
        ("a.md", True),
        ("deep/a.md", True),
        ("facts/household.md", True),
        ("deep/quorra.toml", True),
        ("prompts/a.md", False),
        ("evals/x/cases.jsonl", False),
        ("jobs/a.md", False),
        ("quorra.toml", False),
        (".obsidian/x.json", False),
        (".quorra/x", False),
        (".git/x", False),
    ],
)
def test_where_the_vault_is_the_home_quorras_folders_are_not_in_it(tmp_path: Path, path: str, fine: bool):
    root = repository(tmp_path / "home", {"quorra.toml": b""})
    assert isinstance(gate.apply(to(path), "owner", home(root, ".")), Applied if fine else Refused)
