"""What a proposal would do, as a person sees it before saying yes."""

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quorra import settings
from quorra.home import Home
from quorra.surfaces.cli import tree
from tests.surfaces.test_cli import quorra, vault

NOTES = {
    "house/boiler.md": "# Boiler\n",
    "house/log.md": "[[boiler]]\n",
    "house/shed.md": "# Shed\n",
    "empty.md": "",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return vault(tmp_path, NOTES)


def parked(home: Path, *words: str, **how: Any) -> str:
    ident: str = quorra(*words, "--propose", at=home, **how).fields["proposal"]
    return ident


def told(home: Path, *words: str) -> str:
    command = [sys.executable, "-m", "quorra", "review", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=home).stdout


def test_a_plan_is_shown_as_the_tree_before_and_after(home: Path):
    steps = (
        "- {op: move, src: house/boiler.md, dst: cellar/heating.md}\n- {op: delete, src: empty.md}\n"
        "- {op: create_folder, src: attic/left}\n- {op: promote_to_folder, src: house/shed.md}\n"
    )
    (home / "plan.yaml").write_text(steps)
    ident = parked(home, "plan", "plan.yaml")
    item = quorra("review", "show", ident, at=home).fields["item"]
    assert item["tree"] == {
        "before": ["empty.md", "house/boiler.md", "house/shed.md"],
        "after": ["attic/left/", "cellar/heating.md", "house/shed/overview.md"],
    }
    head, _, diff = told(home, "show", ident).partition("\n\n")
    assert head.splitlines()[2:] == [
        "Before:",
        "  house/",
        "    boiler.md",
        "    shed.md",
        "    (1 stays)",
        "  empty.md",
        "After:",
        "  attic/",
        "    left/",
        "  cellar/",
        "    heating.md",
        "  house/",
        "    shed/",
        "      overview.md",
        "    (1 stays)",
        "Links spelled anew:",
        "  1 link in house/log.md",
    ]
    assert diff.startswith("diff --git ")
    assert "+[[heating]]" in diff


def test_notes_that_change_places_are_on_both_sides(home: Path):
    pairs = (("house/boiler.md", "house/shed.md"), ("house/shed.md", "house/boiler.md"))
    (home / "plan.yaml").write_text("".join(f"- {{op: move, src: {old}, dst: {new}}}\n" for old, new in pairs))
    item = quorra("review", "show", parked(home, "plan", "plan.yaml"), at=home).fields["item"]
    assert item["tree"]["before"] == item["tree"]["after"] == ["house/boiler.md", "house/shed.md"]


def test_a_thousand_moves_stay_short(home: Path):
    for number in range(1000):
        file = home / f"vault/box{number % 40}/n{number}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# N{number}\n\n[[boiler]] and [it](../house/boiler.md)\n")
    moves = [f"- {{op: move, src: box{number}, dst: boxes/{number}/inside}}\n" for number in range(40)]
    (home / "plan.yaml").write_text("".join(moves))
    ident = parked(home, "plan", "plan.yaml")
    lines = told(home, "show", ident).splitlines()
    assert len(lines) < 300
    assert "  boxes/  (1000 files)" in lines
    assert all(len(line) <= 80 for line in lines[: lines.index("")])
    assert len(quorra("review", "show", ident, at=home).fields["item"]["tree"]["after"]) == 1000


def test_a_tree_is_folded_where_it_is_long():
    assert tree.drawn([f"a/{number}.md" for number in range(9)], {"a": 3}) == [
        "  a/", "    0.md", "    1.md", "    2.md", "    3.md", "    4.md", "    … and 4 more", "    (3 stay)",
    ]  # fmt: skip
    deep = [f"a/{number}/b/{part}.md" for number in range(30) for part in range(3)]
    assert tree.drawn(deep, {}) == ["  a/  (90 files)"]
    wide = tree.drawn([f"{number:03}/x.md" for number in range(100)], {})
    assert (len(wide), wide[0], wide[-1]) == (tree.LINES, "  000/  (1 file)", "  … and 77 more")


def test_a_stale_one_says_what_stands_in_the_way(home: Path):
    ident = parked(home, "move", "house/boiler", "cellar/heating")
    (home / "vault/cellar").mkdir()
    (home / "vault/cellar/heating.md").write_text("# Another\n")
    item = quorra("review", "show", ident, at=home).fields["item"]
    assert "cellar/heating.md is there" in item["reason_not"]
    text = told(home, "show", ident)
    assert "It can't be done now: cellar/heating.md can't be made: cellar/heating.md is there." in text
    assert "As it was proposed:\n" in text
    assert "rename to vault/cellar/heating.md" in text
    assert quorra("review", "approve", ident, at=home).code == 1
    assert f"last try: {item['reason_not']}" in told(home, "list")


def test_ended_ones_are_listed_when_asked(home: Path):
    done, not_done = parked(home, "promote", "house/boiler"), parked(home, "promote", "house/shed")
    commit = quorra("review", "approve", done, at=home).fields["commit"]
    quorra("review", "decline", not_done, "--reason", "too soon", at=home)
    assert quorra("review", "list", at=home).fields["items"] == []
    items = quorra("review", "list", "--all", at=home).fields["items"]
    assert [(item["id"], item["state"], item["result"]) for item in items] == [
        (done, "applied", commit),
        (not_done, "declined", "too soon"),
    ]
    assert "owner: Promote house/shed (declined)\n          too soon\n" in told(home, "list", "--all")


def test_what_ended_says_what_became_of_it_and_when(home: Path):
    def told(*words: str) -> list[str]:
        command = [sys.executable, "-m", "quorra", "review", *words]
        return subprocess.run(command, cwd=home, capture_output=True, text=True, check=False).stdout.splitlines()

    assert told("list") == ["Nothing waits."]
    done, other = (
        quorra("note", name, "--propose", at=home, text=f"# {name}\n").fields["proposal"] for name in ("attic", "loft")
    )
    assert told("show", done)[0] == f"{done} (waits): Add attic.md"
    commit = quorra("review", "approve", done, at=home).fields["commit"]
    shown = told("show", done)
    assert shown[0] == f"{done} (applied): Add attic.md"
    assert re.fullmatch(rf"  It was applied on \d{{4}}-\d\d-\d\d at \d\d:\d\d as {commit}\.", shown[2])
    assert told("decline", other, "--reason", "no room") == ["declined: no room"]
    assert told("show", other)[2].endswith(": no room.")
    assert len(told("show", other)) == 3


def test_answers_undone_commits_and_keys_are_in_the_audit(home: Path):
    first, second = (parked(home, "mkdir", name) for name in ("attic", "loft"))
    assert quorra("review", "approve", first, "--as", "nobody", at=home).code == 1
    commit = quorra("review", "approve", first, at=home).fields["commit"]
    assert quorra("review", "decline", second, at=home).fields["outcome"] == "declined"
    assert quorra("review", "decline", "00000000", at=home).code == 1
    assert quorra("undo", commit, at=home).fields["outcome"] == "applied"
    key = quorra("keys", "create", "phone", at=home).fields["keys"][0]["id"]
    assert quorra("keys", "revoke", key, at=home).code == 0
    assert quorra("keys", "revoke", "none", at=home).code == 1
    with closing(Home.open(settings.read(home))) as opened:
        acts = [(act.tool, act.action, act.ok) for act in opened.audit.entries()]
        assert opened.audit.verify() == []
    assert acts == [
        *(("review", "approve", None), ("review", "done", True)),
        *(("review", "decline", None), ("review", "done", True)),
        *(("undo", "undo", None), ("undo", "done", True)),
        *(("keys", "create", True), ("keys", "revoke", True)),
    ]
