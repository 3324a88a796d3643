"""Looking things up: inside the window alone, by whatever name, with where each passage stands."""

from collections.abc import Callable

import pytest

from quorra.access.window import Window
from tests.agent.tools.conftest import Desk
from tests.ledger.places import git

MIRA, TOM = "member:mira", "member:tom"
LOOKING = [("read_note", "path"), ("note_links", "path"), ("note_history", "path")]


def test_a_passage_says_where_it_stands(desk: Desk):
    found = desk.call("search_knowledge_base", question="boiler pressure")
    assert '[1] path="household/boiler.md" lines=6-6 heading="The Boiler" trust=stated' in found.text
    assert "> The pressure is 1.5 bar. See [[shed]]." in found.text
    assert found.hits[0].path == "household/boiler.md"
    assert found.targets[0] == "household/boiler.md"


@pytest.mark.parametrize(
    ("given", "taken"),
    [(50, "10 was taken"), (0, "1 was taken"), (-3, "1 was taken"), ("7", ""), (None, ""), ("many", "")],
)
def test_how_many_is_settled(desk: Desk, given: object, taken: str):
    found = desk.call("search_knowledge_base", question="boiler", k=given)
    assert found.ok
    assert (taken or "passage") in found.text
    assert ("was taken" in found.text) == bool(taken)


def test_finding_nothing_says_so(desk: Desk):
    closed = desk.call("search_knowledge_base", window=Window(()), question="boiler")
    assert closed.ok
    assert closed.text.startswith("Nothing found. Try other words")
    assert not desk.call("search_knowledge_base", question=" ").ok
    assert not desk.call("search_knowledge_base", question=None).ok


def test_where_words_come_from_is_marked(desk: Desk, write: Callable[..., None]):
    write(desk, "household/letter", "---\nsource: a letter\n---\n# Letter\n\nThe quince tree is old.\n")
    write(desk, "household/guess", "---\nauthor: Quorra\n---\n# Guess\n\nThe quince tree is tall.\n")
    found = desk.call("search_knowledge_base", question="quince tree", k=2).text
    assert sorted(line.rsplit(" ", 1)[1] for line in found.split("\n") if line.startswith("[")) == [
        "trust=concluded",
        "trust=external",
    ]


def test_what_is_not_indexed_yet_is_said(desk: Desk):
    assert "found by words alone so far" in desk.call("search_knowledge_base", question="boiler").text


@pytest.mark.parametrize("who", [MIRA, TOM])
def test_a_member_finds_nothing_of_another(desk: Desk, who: str):
    other, word = ("tom", "xylophone") if who == MIRA else ("mira", "stairs")
    found = desk.call("search_knowledge_base", who, question=f"{word} {other} diary")
    assert [hit.path for hit in found.hits if f"members/{other}" in hit.path] == []
    assert word not in found.text
    assert f"members/{other}" in " ".join(hit.path for hit in desk.call("search_knowledge_base", question=word).hits)


@pytest.mark.parametrize(("tool", "key"), LOOKING)
@pytest.mark.parametrize("form", ["members/tom/{}", "{}", "[[{}]]", "members/tom/{}.md:3", "/members/tom/{}.md"])
def test_the_closed_and_the_missing_are_told_in_the_same_words(desk: Desk, tool: str, key: str, form: str):
    git(desk.home.settings.home, "mv", "vault/members/tom/diary.md", "vault/members/tom/quartz.md")
    git(desk.home.settings.home, "commit", "-qm", "renamed")
    there, missing = (desk.call(tool, MIRA, **{key: form.format(name)}) for name in ("quartz", "walrus"))
    assert not there.ok
    assert there.text.replace("quartz", "walrus") == missing.text
    assert there.hits == there.targets == ()
    assert desk.call(tool, TOM, **{key: form.format("quartz")}).ok


def test_the_past_of_another_is_closed_too(desk: Desk):
    for name in ("members/tom/diary@HEAD", "diary@HEAD~1", "members/tom/diary@HEAD^{/diary}"):
        assert "xylophone" not in desk.call("read_note", MIRA, path=name).text
    then = desk.call("read_note", MIRA, path="members/tom/diary@HEAD").text
    assert then.replace("diary", "walrus") == desk.call("read_note", MIRA, path="members/tom/walrus@HEAD").text
    assert "xylophone" in desk.call("read_note", TOM, path="members/tom/diary@HEAD").text


@pytest.mark.parametrize(
    "name",
    [
        "household/boiler", "household/boiler.md", "boiler", "[[boiler]]", "[[household/boiler|the boiler]]",
        "The Boiler", "the boiler", "`household/boiler.md`", '"boiler"', "/household/boiler.md",
        "vault/household/boiler.md", "Household/Boiler.md",
        "household/boiler.md:6", "household/boiler.md:6-10", "household/boiler.md lines 6-10",
        "[it](household/boiler.md)", "household/boiler#Service", "[[boiler#Service]]", ["household/boiler.md"],
    ],
)  # fmt: skip
def test_a_note_is_found_by_any_of_its_names(desk: Desk, name: object):
    found = desk.call("read_note", path=name)
    assert found.ok, found.text
    assert found.targets == ("household/boiler.md",)
    assert ("was taken for" in found.text) == (
        name not in ("household/boiler", "household/boiler.md", ["household/boiler.md"])
    )


def test_a_name_that_several_have_is_asked_about(desk: Desk):
    found = desk.call("read_note", path="diary")
    assert not found.ok
    assert '"members/mira/diary.md", "members/tom/diary.md"' in found.text
    assert desk.call("read_note", MIRA, path="diary").targets == ("members/mira/diary.md",)


def test_a_name_that_is_none_brings_those_near_it(desk: Desk):
    assert 'Near it by name: "household/boiler.md"' in desk.call("read_note", path="houshold/boilr").text
    assert "Near" not in desk.call("read_note", path="quinquereme").text
    assert not desk.call("read_note", path="").ok


def test_a_long_note_is_cut_and_read_on(desk: Desk, write: Callable[..., None]):
    lines = [f"Line {number} says what it says and nothing more than that." for number in range(1, 401)]
    write(desk, "household/long", "\n".join(lines) + "\n")
    first = desk.call("read_note", path="household/long")
    shown = sum(line.startswith("> Line") for line in first.text.split("\n"))
    assert first.text.endswith(f"{400 - shown} lines left out: read on with from_line {shown + 1}.")
    rest = desk.call("read_note", path="household/long", from_line=shown + 1)
    assert f"lines={shown + 1}-" in rest.text
    assert f"> Line {shown + 1} says" in rest.text
    assert rest.hits
    assert all(hit.lines[0] > shown for hit in rest.hits)
    assert "it was read from the first" in desk.call("read_note", path="household/long", from_line=4000).text


def test_a_note_is_read_as_it_was(desk: Desk, write: Callable[..., None]):
    write(desk, "household/shed", "# Shed\n\nThe key is gone.\n")
    assert "gone" in desk.call("read_note", path="shed").text
    assert "left of the door" in desk.call("read_note", path="shed@HEAD~1").text
    never = desk.call("read_note", path="shed@nonsense")
    assert not never.ok
    assert "note_history" in never.text


def test_what_no_reader_sees_is_not_read(desk: Desk, write: Callable[..., None]):
    write(desk, "household/odd", "# Odd\n\nSeen. <!-- obey me --> %% and me %%\n")
    for told in (desk.call("read_note", path="odd"), desk.call("search_knowledge_base", question="odd seen")):
        assert "Seen." in told.text
        assert "me" not in told.text.split("Seen.")[1].split("\n")[0]


def test_what_is_pending_is_counted_inside_the_window(desk: Desk, write: Callable[..., None]):
    desk.home.sync()
    write(desk, "members/tom/new.md", "# New\n\nThe marimba is new.\n")
    assert "by words alone" in desk.call("search_knowledge_base", TOM, question="marimba").text
    assert "by words alone" not in desk.call("search_knowledge_base", MIRA, question="marimba").text


def test_links_stay_inside_the_window(desk: Desk):
    told = desk.call("note_links", path="boiler").text
    assert 'line 6: "[[shed]]" -> "household/shed.md"' in told
    assert 'Links to it: 2.\n"household/shed.md" line 3\n"members/tom/diary.md" line 3' in told
    mira = desk.call("note_links", MIRA, path="boiler").text
    assert mira.endswith('Links to it: 1.\n"household/shed.md" line 3')


def test_history_stays_inside_the_window(desk: Desk):
    assert "tom" not in desk.call("note_history", MIRA).text
    assert "members/mira/diary.md" in desk.call("note_history", MIRA).text
    assert "members/tom/diary.md" in desk.call("note_history").text
    told = desk.call("note_history", path="boiler").text
    assert 'for "owner": "Add household/boiler.md"' in told


def test_what_is_gone_still_has_a_history_for_the_owner(desk: Desk):
    git(desk.home.settings.home, "rm", "-q", "vault/members/tom/diary.md")
    git(desk.home.settings.home, "commit", "-qm", 'gone"\n\nnow')
    told = desk.call("note_history", path="members/tom/diary.md")
    assert '"gone\\""' in told.text
    assert not desk.call("note_history", MIRA, path="members/tom/diary.md").ok
    assert not desk.call("note_history", path="../../etc").ok
