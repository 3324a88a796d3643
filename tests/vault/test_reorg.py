"""Reorganization: every link follows its target, in the form its author chose, by cases and by what they leave open."""

from typing import Any

import pytest
import yaml

from quorra.ledger.change import Refused
from quorra.vault import links
from quorra.vault.reading import parse
from quorra.vault.reorg import operation
from quorra.vault.reorg.moves import expand
from quorra.vault.reorg.operation import BadPlan
from quorra.vault.reorg.reorganize import LinkGraph, Reorganized, reorganize
from tests.conftest import cases

Files = dict[str, bytes]


def done(files: Files, *steps: dict[str, str]) -> tuple[Reorganized | Refused, Files]:
    """Gives the outcome of a plan and the files as it leaves them."""
    moves = expand(operation.read(yaml.safe_dump(list(steps), allow_unicode=True)), files)
    if isinstance(moves, Refused):
        return moves, files
    held = {path: parse.note(path, raw).links for path, raw in files.items() if path.endswith(".md")}
    outcome = reorganize(moves, LinkGraph(list(files), held), files.__getitem__)
    if isinstance(outcome, Refused):
        return outcome, files
    after = {new: raw for path, raw in files.items() if (new := moves.after(path)) is not None}
    return outcome, after | dict(outcome.texts)


def move(src: str, dst: str) -> dict[str, str]:
    return {"op": "move", "src": src, "dst": dst}


def text(content: str | dict[str, str]) -> bytes:
    return content.encode() if isinstance(content, str) else b""


@pytest.mark.parametrize("case", cases("links"))
def test_case(case: dict[str, Any]):
    steps = case["op"]["ops"] if case["op"]["op"] == "plan" else [case["op"]]
    outcome, after = done({path: text(content) for path, content in case["vault"].items()}, *steps)
    expect = case["expect"]
    said = "refused" if isinstance(outcome, Refused) else "ok"
    assert said == expect["outcome"] or said in expect.get("allow_outcome", []), outcome
    if said == "refused":
        return
    for path, wanted in expect.get("files", {}).items():
        assert after[path].decode() in (wanted, *expect.get("also_ok", {}).get(path, []))
    for path, parts in (expect.get("contains") or {}).items():
        for part in [parts] if isinstance(parts, str) else parts:
            assert part in after[path].decode()
    names = links.Names(after)
    for path, wanted in expect.get("resolves", {}).items():
        assert [links.resolve(link, path, names) for link in parse.note(path, after[path]).links] == wanted


@pytest.mark.parametrize(
    ("files", "steps", "path", "wanted"),
    [
        ({"a.md": "", "n.md": "[x](<a.md>)"}, [move("a", "b (1) [draft")], "n.md", None),
        ({"a b.md": "", "n.md": "[x](<a b.md>)"}, [move("a b", "c d")], "n.md", "[x](<c d.md>)"),
        ({"a.md": "", "n.md": "[x](a.md)"}, [move("a", "c d")], "n.md", "[x](c%20d.md)"),
        ({"a.md": "", "n.md": "[x](a.md)"}, [move("a", "c (d")], "n.md", "[x](c%20%28d.md)"),
        ({"a.md": "", "n.md": "[x](a.md)"}, [move("a", "50% & more")], "n.md", "[x](50%25%20&%20more.md)"),
        ({"a.md": "", "n.md": '<img src="a.md">'}, [move("a", "b & c")], "n.md", '<img src="b &amp; c.md">'),
        ({"a.md": "", "n.md": "---\nentities: [a]\n---\n"}, [move("a", "b, c")], "n.md",
         "---\nentities: ['b, c']\n---\n"),
        ({"a.md": "", "n.md": "---\nentities:\n- 'a'\n---\n"}, [move("a", "b's")], "n.md",
         "---\nentities:\n- 'b''s'\n---\n"),
        ({"a.md": "", "n.md": "---\nup: '[[a]]'\n---\n"}, [move("a", "b's")], "n.md", "---\nup: '[[b''s]]'\n---\n"),
        ({"a.md": "", "n.md": '---\nup: "[[a]]"\n---\n'}, [move("a", 'b "c"')], "n.md",
         '---\nup: "[[b \\"c\\"]]"\n---\n'),
        ({"i.md": "", "n.md": "[x](i.md)"}, [move("n", "sub/n")], "sub/n.md", "[x](../i.md)"),
        ({"d/index.md": "", "n.md": "[x](d/)"}, [move("d", "e")], "n.md", "[x](e/)"),
        ({"d/a.md": "", "n.md": "[x](/d/a.md)"}, [move("d", "e")], "n.md", "[x](/e/a.md)"),
        ({"d/a.md": "", "s/n.md": "[x](d/a.md)"}, [move("d", "e")], "s/n.md", "[x](../e/a.md)"),
        ({"g/t.md": "g", "i.md": "i", "n.md": "[[t]]"}, [move("i", "h/t")], "n.md", "[[g/t]]"),
        ({"d/a.md": "", "n.md": "[x](d/a\\.md)"}, [move("d", "e")], "n.md", "[x](e/a.md)"),
        ({"d/a'b.md": "", "n.md": "[x](d/a&#39;b.md#h)"}, [move("d", "e")], "n.md", "[x](e/a'b.md#h)"),
        ({"d/a'b.md": "", "n.md": "<a href='d/a&#39;b.md#h'>"}, [move("d", "e")], "n.md", "<a href='e/a%27b.md#h'>"),
        ({"d/a.md": "", "n.md": "<a data-href='d/a.md'>"}, [move("d", "e")], "n.md", "<a data-href='d/a.md'>"),
        ({"d/A.MD": "", "n.md": "[[d/A]]"}, [move("d", "e")], "n.md", "[[e/A]]"),
        ({"d/a [1].md": "", "n.md": "[x](d/a%20[1].md)"}, [move("d", "e")], "n.md", "[x](e/a%20[1].md)"),
        ({"d/a\"b'.md": "", "n.md": "[x](<d/a\"b'.md>)"}, [move("d", "e")], "n.md", "[x](<e/a\"b'.md>)"),
        ({"d/a\"b.md": "", "n.md": '[x](d/a"b.md "t")'}, [move("d", "e")], "n.md", '[x](e/a"b.md "t")'),
        ({"a.md": "", "n.md": "---\nentities:\n- >-\n  a\n- |\n  a\n---\n"}, [move("a", "b's: c")], "n.md",
         "---\nentities:\n- >-\n  b's: c\n- |\n  b's: c\n---\n"),
        ({"a.md": "", "n.md": "---\nup: >\n  [[a|two\n  lines]] [[a]]\n---\n"}, [move("a", "b")], "n.md",
         "---\nup: >\n  [[b|two\n  lines]] [[b]]\n---\n"),
        ({"d/a.md": "", "n.md": "[[d/a]] [x](d/a.md)"}, [move("d", "D")], "n.md", "[[D/a]] [x](D/a.md)"),
        ({"d/index.md": "", "n.md": "[x](d/)"}, [move("d", "D")], "n.md", "[x](D/)"),
        ({"g/t.md": "", "n.md": "[[t]]"}, [{"op": "promote_to_folder", "src": "g/t"}], "n.md", "[[t/overview]]"),
    ],
)  # fmt: skip
def test_the_form_is_kept(files: dict[str, str], steps: list[dict[str, str]], path: str, wanted: str | None):
    outcome, after = done({path: content.encode() for path, content in files.items()}, *steps)
    if wanted is None:
        assert isinstance(outcome, Refused)
        assert outcome.code == "bad_name"
    else:
        assert isinstance(outcome, Reorganized), outcome
        assert after[path].decode() == wanted


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfsee [[a]]\r\n", b"caf\xe9 [[a]] \x92", "see [[a]]".encode("utf-16")])
def test_bytes_around_a_link_are_kept(raw: bytes):
    _, after = done({"a.md": b"", "n.md": raw}, move("a", "b"))
    coding = "utf-16" if raw[:2] == b"\xff\xfe" else "latin-1"
    assert after["n.md"].decode(coding) == raw.decode(coding).replace("[[a]]", "[[b]]")


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([move("none", "x")], "no_note"),
        ([move("a", "b")], "exists"),
        ([move("a", "B")], "exists"),
        ([move("a", "b.md/c")], "exists"),
        ([move("a", "../c")], "bad_name"),
        ([move("a", ".hidden/c")], "bad_name"),
        ([move("a", "c#d")], "bad_name"),
        ([move("a", "c\u202edm")], "bad_name"),
        ([{"op": "create_folder", "src": "caf\u202e"}], "bad_name"),
        ([move("f", "f/g")], "itself"),
        ([{"op": "delete", "src": "f"}], "not_empty"),
        ([{"op": "delete", "src": "a"}], "not_dead"),
        ([{"op": "delete", "src": "empty"}], "dangling"),
        ([{"op": "promote_to_folder", "src": "p.png"}], "not_a_note"),
    ],
)
def test_what_can_not_be_is_refused_with_its_place(steps: list[dict[str, str]], code: str):
    files = {"a.md": b"text [[empty]]", "b.md": b"b", "empty.md": b"", "p.png": b"", "f/n.md": b""}
    outcome, after = done(files, *steps)
    assert isinstance(outcome, Refused)
    assert outcome.code == code
    assert after == files


COPY, AGAIN = "d/a (conflicted copy).md", "d/a (conflicted copy) (conflicted copy 2026-07-10).md"


@pytest.mark.parametrize(
    ("step", "to"),
    [
        (
            move("d/a", "e/b"),
            ["e/b (conflicted copy) (conflicted copy 2026-07-10).md", "e/b (conflicted copy).md", "e/b.md"],
        ),
        (
            move("d", "e"),
            ["e/a (conflicted copy) (conflicted copy 2026-07-10).md", "e/a (conflicted copy).md", "e/a.md"],
        ),
        (
            {"op": "promote_to_folder", "src": "d/a"},
            [f"d/a/overview (conflicted copy){end}.md" for end in (" (conflicted copy 2026-07-10)", "")]
            + ["d/a/overview.md"],
        ),
    ],
)
def test_conflicted_copies_go_with_their_note(step: dict[str, str], to: list[str]):
    _, after = done({"d/a.md": b"[[a]]", COPY: b"c", AGAIN: b"cc", "n.md": b"[[d/a]]"}, step)
    assert sorted(after) == [*to, "n.md"]
    assert after[to[1]] == b"c"


def test_a_copy_that_can_not_go_with_its_note_keeps_it():
    files = {"a.md": b"a", "a (conflicted copy).md": b"c", "b (conflicted copy).md": b"b"}
    outcome, after = done(files, move("a", "b"))
    assert isinstance(outcome, Refused)
    assert outcome.code == "exists"
    assert after == files


def test_a_refusal_names_file_line_and_target():
    outcome, _ = done({"a.md": b"x\n\nsee [[gone]]", "gone.md": b""}, {"op": "delete", "src": "gone"})
    assert isinstance(outcome, Refused)
    assert "a.md:3 links to gone" in outcome.reason


def test_two_files_change_places():
    _, after = done({"a.md": b"A", "b.md": b"B", "n.md": b"[[a]] [[b]]"}, move("a", "b"), move("b", "a"))
    assert after == {"a.md": b"B", "b.md": b"A", "n.md": b"[[b]] [[a]]"}


@pytest.mark.parametrize(
    "plan",
    ["", "x: [", "- 1", "- {op: burn, src: a}", "- {op: move, src: a}", "[[[" * 2000, b"- caf\xe9", b"\xff\xfe-"],
)
def test_a_plan_that_is_none_says_so(plan: str | bytes):
    with pytest.raises(BadPlan):
        operation.read(plan)
