"""A home's settings: every default, every refusal."""

from pathlib import Path

import pytest

from quorra import settings


def home(tmp_path: Path, text: str) -> Path:
    (tmp_path / "quorra.toml").write_text(text)
    return tmp_path


def test_an_empty_file_gives_every_default(tmp_path: Path):
    read = settings.read(home(tmp_path, ""))
    assert (read.vault.path, read.model.backend, read.service.port) == ("vault", "llama", 8750)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[modle]\nname = 'x'", "modle is not a setting; the nearest known key is model"),
        ("[model]\nbackand = 'llama'", "model.backand is not a setting; the nearest known key is model.backend"),
        ("[service]\nport = 'x'", "service.port"),
        ("[service]\nport = 70000", "service.port"),
        ("[vault]\npath = '../elsewhere'", "vault.path: it must lie inside the home"),
        ("[vault]\npath = '/etc'", "vault.path: it must lie inside the home"),
        ("[vault]\npath = '.git'", "vault.path: .git is a folder of Quorra's own"),
        ("[models.x]\nurl = 'u'\nsha256 = 'short'", "models.x.sha256"),
        ("[people]\n'A@b.c' = 'mira'\n'a@B.c' = 'tom'", "people: 'a@B.c' stands there twice"),
        ("[people]\nmira = 'mira'", "people: 'mira' is neither an e-mail address nor a subject (sub:…)"),
        ("[people]\n'a@b@c' = 'mira'", "people: 'a@b@c' is neither"),
        ("[people]\n'sub:' = 'mira'", "people: 'sub:' is neither"),
        ("[people]\n'a@b.c' = ''", "people: 'a@b.c' is given to nobody"),
        ("[oidc]\nissuer = 'https://id.example'", "oidc: issuer and audience belong together"),
        ("[oidc]\njwks = 'https://id.example'", "oidc: issuer and audience belong together"),
        ("[oidc]\nissuer = 'http://id.example'\naudience = 'x'", "oidc.issuer: it must begin with https://"),
        ("[oidc]\nissuer = 'http://['\naudience = 'x'", "oidc.issuer"),
        ("[models.x]\nurll = 'u'", "models.x.url"),
        ("[model", "is not TOML"),
    ],
)
def test_a_wrong_file_is_told_by_key(tmp_path: Path, text: str, said: str):
    with pytest.raises(settings.SettingsError) as error:
        settings.read(home(tmp_path, text))
    assert said in error.value.message


def test_an_address_is_spelled_one_way_and_a_subject_is_left_alone(tmp_path: Path):
    text = "[people]\n' Mira@Home.Example' = 'mira'\n'sub:Ab@C' = 'tom'\n'K\u212a@h' = 'ida'"
    assert settings.read(home(tmp_path, text)).people == {
        "mira@home.example": "mira",
        "sub:Ab@C": "tom",
        "k\u212a@h": "ida",
    }


def test_a_home_is_found_from_below(tmp_path: Path):
    below = home(tmp_path, "") / "vault" / "deep"
    below.mkdir(parents=True)
    assert settings.find(below) == tmp_path


def test_no_home_says_how_to_make_one(tmp_path: Path):
    with pytest.raises(settings.NoHome) as error:
        settings.find(tmp_path)
    assert "quorra init" in error.value.next


@pytest.mark.parametrize(
    ("vault", "path", "name"),
    [
        ("vault", "vault/household/boiler.md", "household/boiler.md"),
        ("vault", "facts/household.md", "/facts/household.md"),
        ("vault", "README.md", None),
        (".", "household/boiler.md", "household/boiler.md"),
        (".", "prompts/ask/rules.md", None),
        ("notes/mine", "notes/mine/a.md", "a.md"),
    ],
)
def test_paths_are_named_from_the_vault(tmp_path: Path, vault: str, path: str, name: str | None):
    read = settings.read(home(tmp_path, f"[vault]\npath = '{vault}'"))
    assert read.public(path) == name
    assert name is None or read.inside(name) == path


def test_a_file_that_can_not_be_read_is_no_reason_to_make_a_home(tmp_path: Path):
    (tmp_path / "quorra.toml").symlink_to("/proc/self/mem")
    with pytest.raises(settings.SettingsError) as error:
        settings.read(tmp_path)
    assert "can't be read" in error.value.message
    assert "init" not in error.value.next


@pytest.mark.parametrize("path", ["quorra.toml", "facts", "prompts/ask.md", "evals/a/cases.jsonl", ".quorra/state.db"])
def test_what_is_quorras_own_is_no_note(tmp_path: Path, path: str):
    assert settings.Settings(home=tmp_path, vault=settings.Vault(path=".")).public(path) is None
