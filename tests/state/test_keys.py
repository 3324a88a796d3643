"""API keys: shown once, kept as a hash, ended for good."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from quorra.state import database
from quorra.state.keys import Keys, UnknownKey

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_key_stands_for_its_principal_until_it_is_revoked(tmp_path: Path):
    keys = Keys(database.open(tmp_path / "state.db"))
    key, secret = keys.create("phone", "mira", NOW)
    other, second = keys.create("desk", "owner", NOW)
    assert keys.verify(secret) == key
    assert keys.verify(second) == other
    assert keys.every() == (key, other)
    revoked = keys.revoke(key.id, NOW)
    assert revoked.revoked == NOW.isoformat()
    assert keys.active() == (other,)
    assert keys.verify(secret) is None
    assert keys.verify(second) == other


def test_a_secret_is_nowhere_in_the_files(tmp_path: Path):
    keys = Keys(database.open(tmp_path / "state.db"))
    _, secret = keys.create("phone", "mira", NOW)
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"phone" in held
    assert secret.split("_", 2)[2].encode() not in held


@pytest.mark.parametrize(
    "wrong", ["", "qk", "qk__", "qk_x_y", "nonsense", "é", "qk_{id}_", "qk_{id}_wrong", "xx_{id}_{rest}"]
)
def test_a_wrong_secret_stands_for_nobody(tmp_path: Path, wrong: str):
    keys = Keys(database.open(tmp_path / "state.db"))
    key, secret = keys.create("phone", "mira", NOW)
    assert keys.verify(wrong.format(id=key.id, rest=secret.split("_", 2)[2])) is None


def test_an_unknown_id_is_said(tmp_path: Path):
    with pytest.raises(UnknownKey):
        Keys(database.open(tmp_path / "state.db")).revoke("nope", NOW)
