"""Reading and resolving links, by the cases of public bug reports and by the rules they leave open."""

from typing import Any

import pytest

from quorra.vault import links
from quorra.vault.reading import parse
from tests.conftest import cases


def moved(case: dict[str, Any]) -> dict[str, str]:
    """Gives where the operation takes each file of the vault."""
    op = case["op"]
    steps = op["ops"] if op["op"] == "plan" else [op]
    return {path: _one(path, steps) for path in case["vault"]}


def _one(path: str, steps: list[dict[str, str]]) -> str:
    for step in steps:
        if step["op"] == "promote_to_folder" and path == step["src"]:
            return path.removesuffix(".md") + "/overview.md"
        if step["op"] in ("move", "rename") and (path == step["src"] or path.startswith(step["src"] + "/")):
            return step["dst"] + path.removeprefix(step["src"])
    return path


def reached(files: dict[str, str], path: str) -> list[str | None]:
    names = links.Names(files)
    note = parse.note(path, files[path].encode())
    assert all(
        note.text[link.span.start : link.span.end] in link.text or link.kind == "reference" for link in note.links
    )
    return [links.resolve(link, path, names) for link in note.links]


@pytest.mark.parametrize("case", [case for case in cases("links") if case.values[0]["expect"].get("resolves")])
def test_case_before_the_operation(case: dict[str, Any]):
    where = moved(case)
    back = {after: before for before, after in where.items()}
    checked = 0
    for after, wanted in case["expect"]["resolves"].items():
        if after in back:
            want = [back.get(path, path) for path in wanted]
            assert reached(case["vault"], back[after]) == want
            checked += 1
    assert checked


@pytest.mark.parametrize("case", [case for case in cases("links") if case.values[0]["expect"].get("files")])
def test_case_after_the_operation(case: dict[str, Any]):
    where, expect = moved(case), case["expect"]
    files = {where[path]: text for path, text in case["vault"].items()} | expect["files"]
    for path, wanted in expect["resolves"].items():
        assert reached(files, path) == wanted
    for path, texts in expect.get("also_ok", {}).items():
        for text in texts:
            assert reached(files | {path: text}, path) == expect["resolves"][path]


def test_promotion_as_its_parts_say():
    files = {
        "vehicles/van/overview.md": "![v](../van.jpg) [insurer](../../people/insurer.md) [[van/overview#History]]\n",
        "vehicles/van.jpg": "",
        "people/insurer.md": "",
        "trips/lisbon.md": "---\nentities: [vehicles/van/overview]\n---\n[van](../vehicles/van/overview.md#history)\n",
    }
    overview = "vehicles/van/overview.md"
    assert reached(files, overview) == ["vehicles/van.jpg", "people/insurer.md", overview]
    assert reached(files, "trips/lisbon.md") == [overview, overview]


FILES = [
    "index.md",
    "home/boiler.md",
    "home/todo.md",
    "garden/todo.md",
    "garden/beds/list.md",
    "another-todo.md",
    "docs/v1.2.md",
    "docs/guide/index.md",
    "docs/100%.md",
    "docs/what?.md",
    "attachments/plan.png",
    "attachments/Plan.md",
    "Straße.md",
    "pe\u0301rez.md",
]


@pytest.mark.parametrize(
    ("text", "source", "result"),
    [
        ("[[boiler]]", "x.md", "home/boiler.md"),
        ("[[BOILER.md]]", "x.md", "home/boiler.md"),
        ("[[home/boiler]]", "garden/x.md", "home/boiler.md"),
        ("[[/home/boiler]]", "garden/x.md", "home/boiler.md"),
        ("[[oiler]]", "x.md", None),
        ("[[ome/boiler]]", "x.md", None),
        ("[[todo]]", "home/x.md", "home/todo.md"),
        ("[[todo]]", "garden/beds/x.md", "garden/todo.md"),
        ("[[todo]]", "x.md", "garden/todo.md"),
        ("[[../todo]]", "garden/beds/x.md", "garden/todo.md"),
        ("[[beds/list]]", "garden/x.md", "garden/beds/list.md"),
        ("[[beds/list]]", "x.md", "garden/beds/list.md"),
        ("[[v1.2]]", "x.md", "docs/v1.2.md"),
        ("![[plan.png]]", "x.md", "attachments/plan.png"),
        ("[[plan]]", "x.md", "attachments/Plan.md"),
        ("[[STRASSE]]", "x.md", "Straße.md"),
        ("[[P\u00c9rez]]", "x.md", "pe\u0301rez.md"),
        ("[[#Section]]", "x.md", "SELF"),
        ("[[#^block|b]]", "x.md", "SELF"),
        ("[b](home/boiler.md)", "x.md", "home/boiler.md"),
        ("[b](home/boiler)", "x.md", "home/boiler.md"),
        ("[b](boiler.md)", "x.md", None),
        ("[b](boiler.md)", "home/x.md", "home/boiler.md"),
        ("[b](./boiler.md#a)", "home/x.md", "home/boiler.md"),
        ("[b](../home/boiler.md)", "garden/x.md", "home/boiler.md"),
        ("[b](../../home/boiler.md)", "garden/x.md", None),
        ("[b](/home/boiler)", "garden/x.md", "home/boiler.md"),
        ("[b](home/boiler.md)", "garden/x.md", "home/boiler.md"),
        ("[b](docs/guide/)", "x.md", "docs/guide/index.md"),
        ("[b](docs/100%25.md)", "x.md", "docs/100%.md"),
        ("[b](docs/what%3F.md)", "x.md", "docs/what?.md"),
        ("[b](home/boiler.md?view=7)", "x.md", "home/boiler.md"),
        ("[b](Stra%C3%9Fe.md)", "x.md", "Straße.md"),
        ("[b](#top)", "x.md", "SELF"),
        ("[b](https://example.org/x.md)", "x.md", "EXTERNAL"),
        ("[b](//example.org/x.md)", "x.md", "EXTERNAL"),
        ("[b](mailto:a@example.org)", "x.md", "EXTERNAL"),
        ("<https://example.org>", "x.md", "EXTERNAL"),
        ("<mira@example.org>", "x.md", "EXTERNAL"),
        ('<a href="home/boiler.md?a=1&amp;b=2">x</a>', "x.md", "home/boiler.md"),
    ],
)
def test_resolve(text: str, source: str, result: str | None):
    (link,) = parse.note(source, f"Word {text} word.\n".encode()).links
    assert links.resolve(link, source, links.Names(FILES)) == result


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("[[home/boiler.md]]", "boiler"),
        ("[[boiler/overview]]", "boiler"),
        ("[[/home/boiler/README.md#Pressure]]", "boiler > Pressure"),
        ("[[boiler/overview|the heater]]", "the heater"),
        ("[[overview]]", "overview"),
        ("[[../overview]]", "overview"),
    ],
)
def test_a_page_that_opens_a_folder_is_seen_by_the_folders_name(text: str, seen: str):
    (block,) = parse.note("x.md", f"On the {text} cupboard.\n".encode()).blocks
    assert block.text == f"On the {seen} cupboard."
    assert links.shown(f"On the {text} cupboard.") == f"On the {seen.partition(' > ')[0]} cupboard."


def test_the_tie_rule_does_not_hang_on_the_order_of_files():
    (link,) = parse.note("x.md", b"[[todo]]").links
    assert {links.resolve(link, "x.md", links.Names(order)) for order in (FILES, FILES[::-1])} == {"garden/todo.md"}


def test_two_spellings_of_one_name():
    names = links.Names(["A/note.md", "a/Note.md"])
    (link,) = parse.note("x.md", b"[[a/Note]]").links
    assert links.resolve(link, "x.md", names) == "a/Note.md"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("![[plan.png]]", "a/plan.png"),
        ("![[a/plan.png]]", "a/plan.png"),
        ("![](a/plan.png)", "a/plan.png"),
        ("[[Plan.PNG]]", "a/plan.png"),
        ("[[plan.png.md]]", "a/plan.png.md"),
        ("[[other.png]]", "a/other.png.md"),
        ("[x](n.md)", "n.md"),
        ("[[n]]", "n.md"),
        ("[[make]]", "make.md"),
        ("[[v1.2]]", "v1.2.md"),
    ],
)
def test_a_file_that_is_there_goes_before_a_note_about_it(text: str, result: str):
    files = ["a/plan.png", "a/plan.png.md", "a/other.png.md", "n.md", "n.md.md", "make", "make.md", "v1.2.md"]
    (link,) = parse.note("x.md", text.encode()).links
    assert links.resolve(link, "x.md", links.Names(files)) == result
