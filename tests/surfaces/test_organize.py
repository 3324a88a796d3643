"""Reorganizing and the inbox at the command line, on a real home, re-read with git."""

import subprocess
from pathlib import Path

import pytest

from tests.surfaces.test_cli import quorra, vault

NOTES = {
    "home/boiler.md": "# Boiler\n\nThe pressure is 1.5 bar.\n",
    "log.md": "Called about [[boiler|the heater]] and [it](home/boiler.md#pressure).\n",
    "inbox/empty.md": "",
}


def git(home: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(home), *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return vault(tmp_path, NOTES)


def note(home: Path, name: str) -> str:
    return (home / "vault" / name).read_text()


def test_a_move_is_one_commit_that_takes_links_along(home: Path):
    said = quorra("move", "home/boiler", "cellar/heating", "--message", "it is a heating", at=home)
    assert (said.code, said.fields["outcome"]) == (0, "applied")
    assert said.fields["moved"] == [["home/boiler.md", "cellar/heating.md"]]
    assert said.fields["rewritten"] == [{"path": "log.md", "links": 2}]
    assert (said.fields["dangling_before"], said.fields["dangling_after"]) == (0, 0)
    assert note(home, "log.md") == "Called about [[heating|the heater]] and [it](cellar/heating.md#pressure).\n"
    assert git(home, "status", "--porcelain") == ""
    assert "R100\tvault/home/boiler.md\tvault/cellar/heating.md" in git(home, "show", "--name-status", "-M", "HEAD")
    assert "Quorra-Reason: it is a heating" in git(home, "log", "-1")


def test_into_a_folder_that_is_there(home: Path):
    assert quorra("move", "log", "home", at=home).fields["moved"] == [["log.md", "home/log.md"]]


def test_into_a_folder_that_holds_nothing_yet(home: Path):
    assert quorra("mkdir", "loft", at=home).code == 0
    assert quorra("move", "home/boiler", "loft", at=home).fields["moved"] == [["home/boiler.md", "loft/boiler.md"]]
    assert quorra("move", "loft", "attic", at=home).fields["moved"] == [["loft/boiler.md", "attic/boiler.md"]]


def test_a_folder_does_not_go_into_itself(home: Path):
    head = git(home, "rev-parse", "HEAD")
    for to in ("home", "home/in"):
        said = quorra("move", "home", to, at=home)
        assert (said.code, said.fields["code"]) == (1, "itself")
        assert said.fields["reason"] == "The folder home can't be moved into itself."
    assert git(home, "rev-parse", "HEAD") == head


def test_an_empty_folder_is_removed_and_comes_back(home: Path):
    quorra("mkdir", "attic/left", at=home)
    said = quorra("move", "attic/left", "loft", at=home)
    assert (said.fields["code"], said.fields["reason"]) == (
        "empty_folder",
        "There is nothing in the folder attic/left to move.",
    )
    assert quorra("remove", "attic", at=home).fields["code"] == "not_empty"
    assert quorra("remove", "home", at=home).fields["code"] == "not_empty"
    done = quorra("remove", "attic/left", at=home)
    assert (done.code, done.fields["outcome"]) == (0, "applied")
    assert not (home / "vault/attic/left").exists()
    assert quorra("undo", done.fields["commit"], at=home).code == 0
    assert (home / "vault/attic/left").is_dir()
    (home / "vault/attic/left/.hidden").write_text("")
    assert quorra("remove", "attic/left", at=home).fields["code"] == "not_empty"
    assert quorra("remove", "cellar", at=home).fields["code"] == "no_note"


def test_a_plan_empties_a_folder_and_removes_it(home: Path):
    file = home / "plan.yaml"
    file.write_text("- {op: move, src: home/boiler, dst: b}\n- {op: delete, src: home}\n")
    assert quorra("plan", str(file), at=home).fields["outcome"] == "applied"
    assert not (home / "vault/home").exists()


def test_a_refusal_counts_only_links_that_were_looked_at(home: Path):
    (home / "vault/log.md").write_text("[[nowhere]] [[empty]]\n\n[[empty]]\n")
    known = ("moved", "rewritten", "dangling_before", "dangling_after")
    dangles = quorra("remove", "inbox/empty", at=home)
    assert dangles.fields["code"] == "dangling"
    assert [dangles.fields[name] for name in known] == [[], [], 1, 3]
    for words in (("remove", "home/boiler"), ("move", "none", "some"), ("promote", "log", "--as", "mira")):
        (home / "vault/members/mira").mkdir(parents=True, exist_ok=True)
        said = quorra(*words, at=home)
        assert (said.code, said.fields["outcome"]) == (1, "refused")
        assert [said.fields[name] for name in known] == [[], [], None, None]
        assert said.fields["next"]


def test_a_rename_stays_where_it_is(home: Path):
    assert quorra("rename", "home/boiler", "heater", at=home).fields["moved"] == [["home/boiler.md", "home/heater.md"]]
    assert quorra("rename", "home/heater", "cellar/heater", at=home).code == 2


def test_names_may_begin_with_dashes(home: Path):
    assert quorra("rename", "log", "--", "-log", at=home).fields["moved"] == [["log.md", "-log.md"]]
    assert quorra("rename", "--", "-log", "--log", at=home).code == 2
    assert quorra("move", "--", "-log", "-home/-dash", at=home).fields["moved"] == [["-log.md", "-home/-dash.md"]]
    said = quorra("move", "--", "-home/-dash", "log", "--message", "back", at=home)
    assert said.fields["moved"] == [["-home/-dash.md", "log.md"]]


def test_a_note_becomes_a_folder(home: Path):
    assert quorra("promote", "home/boiler", at=home).fields["moved"] == [["home/boiler.md", "home/boiler/overview.md"]]
    assert "[[boiler/overview|the heater]]" in note(home, "log.md")


def test_a_folder_is_made_and_a_note_without_text_removed(home: Path):
    assert quorra("mkdir", "attic/left", at=home).fields["outcome"] == "applied"
    assert (home / "vault/attic/left").is_dir()
    assert quorra("remove", "inbox/empty", at=home).fields["outcome"] == "applied"
    assert not (home / "vault/inbox/empty.md").exists()
    refused = quorra("remove", "home/boiler", at=home)
    assert (refused.code, refused.fields["outcome"], refused.fields["code"]) == (1, "refused", "not_dead")
    assert note(home, "home/boiler.md") == NOTES["home/boiler.md"]


def test_a_plan_is_done_as_one_and_shown_first(home: Path):
    file = home / "plan.yaml"
    file.write_text("- {op: move, src: home/boiler, dst: b}\n- {op: rename, src: log, dst: diary}\n")
    head = git(home, "rev-parse", "HEAD")
    shown = quorra("plan", str(file), "--dry-run", at=home)
    assert (shown.code, shown.fields["outcome"]) == (0, "planned")
    assert git(home, "rev-parse", "HEAD") == head
    assert (home / "vault/log.md").exists()
    done = quorra("plan", str(file), at=home)
    assert done.fields["moved"] == shown.fields["moved"] == [["home/boiler.md", "b.md"], ["log.md", "diary.md"]]
    assert git(home, "rev-list", "--count", f"{head.strip()}..HEAD") == "1\n"


def test_a_plan_that_is_none_says_what_to_write(home: Path):
    file = home / "plan.yaml"
    for text in (b"- {op: burn, src: log}\n", b"- {op: move, src: log, dst: caf\xe9}\n"):
        file.write_bytes(text)
        said = quorra("plan", str(file), at=home)
        assert (said.code, said.fields["error"]["code"]) == (1, "bad_plan")


def test_a_proposal_waits_is_shown_and_done_once(home: Path):
    parked = quorra("move", "home/boiler", "cellar/boiler", "--propose", at=home)
    assert (parked.code, parked.fields["outcome"]) == (0, "parked")
    ident = parked.fields["proposal"]
    assert note(home, "home/boiler.md")
    assert [item["id"] for item in quorra("review", "list", at=home).fields["items"]] == [ident]
    shown = quorra("review", "show", ident, at=home).fields["item"]
    assert shown["moved"] == [["home/boiler.md", "cellar/boiler.md"]]
    assert "+Called about [[boiler|the heater]] and [it](cellar/boiler.md#pressure)." in shown["diff"]
    assert git(home, "diff", "--stat", f"refs/quorra/proposals/{ident}^", f"refs/quorra/proposals/{ident}")
    done = quorra("review", "approve", ident, at=home)
    assert (done.code, done.fields["outcome"]) == (0, "applied")
    assert f"Quorra-Proposal: {ident}" in git(home, "log", "-1")
    again = quorra("review", "approve", ident, at=home)
    assert (again.code, again.fields["code"], again.fields["commit"]) == (1, "decided", done.fields["commit"])
    assert git(home, "for-each-ref", "refs/quorra") == ""


def test_a_proposed_text_meets_a_hand_edit_elsewhere_and_on_its_own_line(home: Path):
    text = "# Boiler\n\nThe pressure is 1.6 bar.\n"
    ident = quorra("note", "home/boiler", "--propose", text=text, at=home).fields["proposal"]
    other = quorra("note", "home/boiler", "--propose", text=text.replace("1.6", "1.7"), at=home).fields["proposal"]
    (home / "vault/home/boiler.md").write_text(NOTES["home/boiler.md"] + "\nServiced in May.\n")
    assert quorra("review", "approve", ident, at=home).fields["outcome"] == "applied"
    assert note(home, "home/boiler.md") == text + "\nServiced in May.\n"
    stale = quorra("review", "approve", other, at=home)
    assert (stale.code, stale.fields["outcome"]) == (1, "stale")
    assert quorra("review", "decline", other, "--reason", "no", at=home).fields["outcome"] == "declined"
    assert quorra("review", "list", at=home).fields["items"] == []


def test_what_would_do_something_else_now_is_shown_again(home: Path):
    ident = quorra("move", "home/boiler", "cellar/boiler", "--propose", at=home).fields["proposal"]
    (home / "vault/new.md").write_text("[boiler](home/boiler.md)\n")
    again = quorra("review", "approve", ident, at=home)
    assert (again.code, again.fields["outcome"]) == (0, "parked")
    assert (home / "vault/home/boiler.md").exists()
    assert {"path": "new.md", "links": 1} in quorra("review", "show", ident, at=home).fields["item"]["rewritten"]
    assert quorra("review", "approve", ident, at=home).fields["outcome"] == "applied"
    assert note(home, "new.md") == "[boiler](cellar/boiler.md)\n"


def test_only_the_owner_reorganizes_and_reviews(home: Path):
    (home / "vault/members/mira").mkdir(parents=True)
    said = quorra("move", "home/boiler", "x", "--as", "mira", at=home)
    assert (said.code, said.fields["outcome"], said.fields["code"]) == (1, "refused", "not_owner")
    assert quorra("review", "list", "--as", "mira", at=home).fields["error"]["code"] == "not_owner"


def test_an_undone_move_leaves_the_very_tree_it_found(home: Path):
    before = git(home, "rev-parse", "HEAD^{tree}")
    moved = quorra("move", "home", "cellar", at=home).fields["commit"]
    assert git(home, "rev-parse", "HEAD^{tree}") != before
    undone = quorra("undo", moved, at=home)
    assert (undone.code, undone.fields["outcome"]) == (0, "applied")
    assert git(home, "rev-parse", "HEAD^{tree}") == before
    assert git(home, "status", "--porcelain") == ""
    assert git(home, "log", "-1", "--format=%s").startswith(f"Undo {moved[:10]}: Move home to cellar")


def test_an_undo_keeps_what_was_written_since_elsewhere_in_the_note(home: Path):
    text = NOTES["home/boiler.md"]
    commit = quorra("note", "home/boiler", text=text.replace("1.5", "1.6"), at=home).fields["commit"]
    (home / "vault/home/boiler.md").write_text(text.replace("1.5", "1.6") + "\nServiced in May.\n")
    assert quorra("undo", commit, at=home).fields["outcome"] == "applied"
    assert note(home, "home/boiler.md") == text + "\nServiced in May.\n"
    again = quorra("undo", commit, at=home).fields
    assert (again["outcome"], again["next"].partition(",")[0]) == ("stale", "Undo the later commit first")


def test_what_can_not_be_undone_says_so(home: Path):
    first = git(home, "rev-list", "--max-parents=0", "HEAD").strip()
    assert quorra("undo", first, at=home).fields["code"] == "undo"
    assert quorra("undo", "nothing", at=home).fields["error"]["code"] == "revision"
