"""Writing notes at the command line: assembled ones, changed ones byte for byte, and found by the next command."""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.test_cli import quorra
from tests.surfaces.test_organize import git

ODD = (
    b"\xef\xbb\xbf---\r\n# by hand\r\ntags:   [ home ,  'heat' ]  # two\r\n\"title\": 'Ol''d'   \r\nwhen: 12:30\r\n"
    b"list:\r\n- a\r\n-   b\r\n---\r\n\r\n# Old\t\r\n\r\nThe pressure is 1.5 bar.  \r\nNo end"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("home")
    for number in range(200):
        file = place / f"vault/n{number % 7}/note-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {number}\n\nIt tells of shelf {number} and [[note-{(number + 1) % 200}]].\n")
    (place / "vault/odd.md").write_bytes(ODD)
    assert quorra("init", str(place), "--empty").code == 0
    return place


def blob(home: Path, path: str) -> str:
    return git(home, "rev-parse", f"HEAD:vault/{path}").strip()


def hits(home: Path, word: str) -> list[str]:
    """Searches; where the machine was too busy for the catch-up, the search says so and is asked again."""
    for _ in range(20):
        said = quorra("search", "--mode", "words", word, at=home).fields
        if not said["behind"]:
            return [hit["path"] for hit in said["hits"]]
    raise AssertionError("the index never caught up")


def test_a_title_names_and_heads_a_new_note(home: Path):
    words = [
        "--title",
        "The Boiler's Service",
        "--summary",
        "It holds what was done.",
        "--tag",
        "home",
        "--tag",
        "heat",
    ]
    said = quorra("note", "household/", *words, "--entity", "note-7", "--source", "a: bill", at=home, text="Done.\n")
    assert (said.code, said.fields["outcome"]) == (0, "applied")
    assert said.fields["path"] == "household/the-boilers-service.md"
    read = quorra("read", "household/the-boilers-service", at=home).fields
    metadata = read["metadata"]
    assert metadata.pop("created") == metadata.pop("updated")
    assert metadata.pop("author")
    assert metadata == {
        "title": "The Boiler's Service", "tags": ["home", "heat"], "entities": ["n0/note-7"], "source": "a: bill",
    }  # fmt: skip
    assert read["body"] == "\n# The Boiler's Service\n\nIt holds what was done.\n\nDone.\n"
    again = quorra("note", "household/", *words, at=home, text="Other.\n")
    assert (again.code, again.fields["outcome"], again.fields["code"]) == (1, "refused", "taken")
    assert "household/the-boilers-service.md" in again.fields["reason"]


def test_fields_of_a_note_that_is_there_are_set_by_who_read_it(home: Path):
    quorra("note", "pump", at=home, text="---\nx: 1 # why\ntags: [a]\n---\nThe pump stands in the cellar.\n")
    assert quorra("note", "pump", "--tag", "b", at=home, text="New.").fields["code"] == "taken"
    said = quorra("note", "pump", "--tag", "b", "--expect", blob(home, "pump.md"), at=home, text="")
    assert said.fields["outcome"] == "applied"
    text = (home / "vault/pump.md").read_text()
    assert text.startswith("---\nx: 1 # why\ntags: [a, b]\nupdated: ")
    assert text.endswith("\n---\nThe pump stands in the cellar.\n")
    commits = git(home, "rev-list", "--count", "HEAD")
    same = quorra("note", "pump", "--tag", "b", "--expect", blob(home, "pump.md"), at=home, text="")
    assert (same.fields["outcome"], git(home, "rev-list", "--count", "HEAD")) == ("applied", commits)


def test_what_is_missing_is_what_is_asked_for(home: Path):
    quorra("note", "lamp", at=home, text="# Lamp\n\nThe lamp hangs in the hall.\n")
    said = quorra("note", "lamp", "--title", "Lamps", at=home, text="").fields
    assert (said["code"], "--expect" in said["next"]) == ("taken", True)
    said = quorra("note", "lamp", "--as", "tom", "--title", "Lamps", at=home, text="").fields
    assert said["error"]["code"] == "unknown_principal"
    said = quorra("note", "lantern", "--title", "Lantern", at=home, text="").fields
    assert said["error"]["next"].endswith("--from /dev/null")
    done = quorra("note", "lantern", "--title", "Lantern", "--from", "/dev/null", at=home).fields
    assert (done["outcome"], done["path"]) == ("applied", "lantern.md")


def test_a_name_of_a_conflicted_copy_is_warned_of(home: Path):
    for name, codes in (("loft", []), ("loft (conflicted copy 2026-07-10 070952)", ["conflicted-copy"])):
        said = quorra("note", name, at=home, text="# Loft\n\nThe loft is where the skis are kept.\n").fields
        assert (said["outcome"], [issue["code"] for issue in said["issues"]]) == ("applied", codes)


def test_an_overwrite_that_is_proposed_waits(home: Path):
    quorra("note", "valve", at=home, text="# Valve\n\nThe valve of the house is blue.\n")
    said = quorra("note", "valve", "--title", "Valves", "--propose", at=home, text="They are red.\n")
    assert (said.code, said.fields["outcome"]) == (0, "parked")
    assert "blue" in (home / "vault/valve.md").read_text()
    done = quorra("review", "approve", said.fields["proposal"], at=home)
    assert done.fields["outcome"] == "applied"
    assert (home / "vault/valve.md").read_text().endswith("# Valves\n\nThey are red.\n")


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["x/", "--title", "?!"], "t", "no letter or digit"),
        (["x", "--tag", "a"], "t", "no title"),
        (["x", "--title", ""], "t", "no title"),
        (["x", "--title", "T"], "---\na: b\n---\nt", "begins with frontmatter"),
        (["x", "--title", "T"], "", "No text came"),
        (["x", "--title", "T"], "a\n<<<<<<< x\n=======\n>>>>>>> y\n", "x.md has errors"),
        (["../x", "--title", "T"], "t", "leads upwards"),
        (["x/../../y", "--title", "T"], "t", "leads upwards"),
        (["/etc/", "--title", "T"], "t", "begins with a slash"),
        (["/facts/x", "--title", "T"], "t", "begins with a slash"),
        (["a//b"], "t", "is empty"),
        ([".hidden/x"], "t", "begins with a dot"),
        (["a\nb"], "t", "can't be seen"),
        (["new./x"], "t", "ends with a dot"),
        (["new /x"], "t", "space"),
        (["l" * 300], "t", "longer than a file name"),
        (["out/x"], "t", "leads out of the vault"),
    ],
)
def test_what_makes_no_note_gets_one_sentence(home: Path, words: list[str], text: str, said: str):
    link = home / "vault/out"
    if not link.is_symlink():
        link.symlink_to(home.parent)
    before = git(home, "rev-parse", "HEAD"), git(home, "status", "--porcelain")
    done = quorra("note", *words, at=home, text=text)
    told = done.fields.get("reason") or done.fields["error"]["message"]
    assert done.code == 1
    assert said in told
    assert told.count(". ") == 0 or told.startswith("No text")
    assert (git(home, "rev-parse", "HEAD"), git(home, "status", "--porcelain")) == before


def test_a_link_inside_the_vault_leads_to_its_note(home: Path):
    (home / "vault/alias.md").symlink_to("n1/note-1.md")
    said = quorra("note", "alias", at=home, text="# Note 1\n\nIt tells of shelf 1 and of a vase.\n")
    (home / "vault/alias.md").unlink()
    assert said.fields["path"] == "n1/note-1.md"
    assert "vase" in (home / "vault/n1/note-1.md").read_text()


def test_an_edit_of_one_line_is_a_change_of_one_line(home: Path):
    edited = ODD.replace(b"1.5 bar", b"1.7 bar")
    (home / "edited").write_bytes(edited)
    said = quorra("note", "odd", "--from", "edited", "--expect", blob(home, "odd.md"), at=home)
    (home / "edited").unlink()
    assert said.fields["outcome"] == "applied"
    assert (home / "vault/odd.md").read_bytes() == edited
    assert git(home, "show", "--numstat", "--format=").split() == ["1", "1", "vault/odd.md"]
    words = ["--tag", "home", "--tag", "water", "--expect", blob(home, "odd.md")]
    assert quorra("note", "odd", *words, at=home, text="").fields["outcome"] == "applied"
    assert git(home, "show", "--numstat", "--format=").split() == ["2", "1", "vault/odd.md"]  # and a line ``updated``


def test_a_path_that_counts_from_the_home_is_told_how_it_counts(home: Path):
    said = quorra("note", "vault/garden/z", at=home, text="# Z\n")
    assert (said.code, said.fields["error"]["code"]) == (1, "bad_name")
    assert "paths count from the vault" in said.fields["error"]["message"]
    assert said.fields["error"]["next"] == "Write it as garden/z.md"
    assert quorra("note", "vault/", "--title", "Z", at=home, text="z\n").fields["error"]["next"] == "Write it as z.md"
    assert not (home / "vault/vault").exists()
    for words in (
        ("read", "vault/odd.md"),
        ("links", "vault/odd.md"),
        ("check", "vault/odd.md"),
        ("log", "vault/odd.md"),
    ):
        said = quorra(*words, at=home)
        assert (said.code, said.fields["error"]["code"]) == (1, "no_note")
        assert "try odd.md" in said.fields["error"]["next"]
    assert "try" not in quorra("read", "none", at=home).fields["error"]["next"]


def test_a_folder_in_the_vault_may_be_called_as_the_vault_is(tmp_path: Path):
    (tmp_path / "vault/vault").mkdir(parents=True)
    (tmp_path / "vault/vault/key.md").write_text("k\n")
    assert quorra("init", str(tmp_path), "--empty").code == 0
    assert quorra("note", "vault/lock", at=tmp_path, text="l\n").fields["path"] == "vault/lock.md"


def test_the_next_search_finds_what_was_written_and_moved(home: Path):
    for number in range(2):
        quorra("note", "found/", "--title", f"Zither {number}", at=home, text=f"The harp{number} is in tune.\n")
        assert hits(home, f"harp{number}") == [f"found/zither-{number}.md"]
    quorra("note", "found/zither-0", at=home, text="# Zither\n\nThe lyre is in tune.\n")
    assert (hits(home, "harp0"), hits(home, "lyre")) == ([], ["found/zither-0.md"])
    quorra("move", "found/zither-0", "kept/lyre", at=home)
    assert hits(home, "lyre") == ["kept/lyre.md"]


@pytest.fixture
def served(home: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "quorra", "serve", "--port", "0", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        said = itertools.takewhile(lambda line: "http://" not in line, process.stdout)
        assert "Traceback" not in "".join(said)
        yield
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=20)


@pytest.mark.usefixtures("served")
def test_beside_a_service_the_next_search_finds_it_too(home: Path):
    quorra("note", "beside/", "--title", "Oboe", at=home, text="The oboe is in tune.\n")
    assert hits(home, "oboe") == ["beside/oboe.md"]
    quorra("move", "beside/oboe", "kept/oboe", at=home)
    assert hits(home, "oboe") == ["kept/oboe.md"]
