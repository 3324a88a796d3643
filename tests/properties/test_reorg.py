"""Laws of a reorganization.

Links follow their targets; nothing dangles that did not before; no byte
outside a link's target changes; a plan that is undone leaves the exact tree;
and the links that the index knows never lead a plan astray, however old it is.
"""

import posixpath
import tempfile
from pathlib import Path
from urllib.parse import quote

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quorra.access import gate
from quorra.access.changes import organizing, undoing
from quorra.access.planned import Planned
from quorra.index import links as indexed
from quorra.ledger.change import Origin, Refused
from quorra.vault import links
from quorra.vault.library import Library
from quorra.vault.note import Note
from quorra.vault.reading import parse
from quorra.vault.reorg.moves import Moves, expand
from quorra.vault.reorg.operation import Operation
from quorra.vault.reorg.reorganize import LinkGraph, reorganize
from tests.index.place import Place

NAMES = st.sampled_from(
    ["a", "b", "A", "todo", "x y", "größe", "it's", "50%", "n (1)", "overview", "index", "🜚", "c&d"]
)
FOLDERS = st.sampled_from(["", "home/", "home/deep/", "Inbox/", "an other/"])
PATHS = st.builds(
    lambda folder, name, end: f"{folder}{name}{end}", FOLDERS, NAMES, st.sampled_from([".md"] * 4 + [".png"])
)
VAULTS = st.lists(PATHS, min_size=2, max_size=8, unique_by=links.fold)
FORMS = st.sampled_from(
    ["whole", "bare", "relative", "angle", "root", "html", "entity", "reference", "embed", "dangling"]
)


def written(form: str, source: str, target: str) -> str:
    """Writes a link to a file as a person might."""
    whole = target.removesuffix(".md")
    relative = posixpath.relpath("/" + target, "/" + posixpath.dirname(source))
    return {
        "whole": f"[[{whole}]]",
        "bare": f"[[{posixpath.basename(whole)}|shown]]",
        "embed": f"![[{posixpath.basename(target)}#part]]",
        "relative": f"[x]({quote(relative)}#part)",
        "angle": f"[x](<{relative}> 'title')",
        "root": f"![x](/{quote(target)})",
        "html": f'<img src="{relative.replace("&", "&amp;").replace("%", "%25")}">',
        "reference": f"[x][r]\n\n[r]: {quote(relative)}",
        "dangling": "[[nowhere]] [x](no/where.md)",
        "entity": "",
    }[form]


@st.composite
def vaults(draw: st.DrawFn) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    paths = draw(VAULTS)
    for path in paths:
        if not path.endswith(".md"):
            files[path] = b"\x89PNG"
            continue
        chosen = draw(st.lists(st.tuples(FORMS, st.sampled_from(paths)), max_size=4))
        named = [target.removesuffix(".md") for form, target in chosen if form == "entity"]
        head = "---\nentities:\n" + "".join(f'- "{name}" # kept\n' for name in named) + "---\n" if named else ""
        if draw(st.integers(0, 4)) == 0:
            files[path] = draw(st.sampled_from([b"", b"---\nstatus: dead\n---\nold [[a]]\n", b" \n"]))
            continue
        end = draw(st.sampled_from(["\n", "\r\n", ""]))
        files[path] = (head + "\n\n".join(written(form, path, target) for form, target in chosen) + end).encode()
    return files


def steps(draw: st.DrawFn, files: dict[str, bytes]) -> list[Operation]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        verb = draw(st.sampled_from(["move", "rename", "promote_to_folder", "folder", "create_folder", "delete"]))
        src = draw(st.sampled_from(sorted(files)))
        if verb == "create_folder":
            found.append(Operation(verb, draw(PATHS).removesuffix(".md")))
        elif verb == "folder":
            found.append(Operation("move", posixpath.dirname(src) or src, draw(PATHS).removesuffix(".md")))
        elif verb in ("promote_to_folder", "delete"):
            found.append(Operation(verb, src))
        else:
            found.append(Operation(verb, src, draw(PATHS).removesuffix(".md")))
    return found


@st.composite
def plans(draw: st.DrawFn) -> tuple[dict[str, bytes], list[Operation]]:
    files = draw(vaults())
    return files, steps(draw, files)


def blanked(note: Note) -> str:
    """Gives a note's text without the targets of its links."""
    text = note.text
    for start, end in sorted({link.span for link in note.links}, reverse=True):
        text = f"{text[:start]}\0{text[end:]}"
    return text


def wanted(found: str | None, moves: Moves) -> str | None:
    return found if found in (None, links.EXTERNAL, links.SELF) else moves.after(str(found))


def dangling(notes: dict[str, Note], names: links.Names) -> int:
    return sum(links.resolve(link, path, names) is None for path, note in notes.items() for link in note.links)


@example(
    ({"a.md": b"", "b.md": b""}, [Operation("delete", "a"), Operation("move", "b", "c"), Operation("move", "a", "c")])
)
@given(plans())
@settings(max_examples=400, deadline=None)
def test_links_follow_and_all_else_stays(plan: tuple[dict[str, bytes], list[Operation]]):
    files, operations = plan
    moves = expand(operations, files)
    if isinstance(moves, Refused):
        return
    notes = {path: parse.note(path, raw) for path, raw in files.items() if path.endswith(".md")}
    done = reorganize(
        moves, LinkGraph(list(files), {path: note.links for path, note in notes.items()}), files.__getitem__
    )
    if isinstance(done, Refused):
        assert done.code in ("dangling", "not_utf8", "not_dead")
        return
    after = {new: raw for path, raw in files.items() if (new := moves.after(path)) is not None} | dict(done.texts)
    assert len(after) == len(files) - len(moves.gone)
    before, now = links.Names(files), links.Names(after)
    again = {path: parse.note(path, raw) for path, raw in after.items() if path.endswith(".md")}
    assert (dangling(notes, before), dangling(again, now)) == (done.dangling_before, done.dangling_after)
    for path, note in notes.items():
        place = moves.after(path)
        if place is None:
            continue
        assert blanked(again[place]) == blanked(note)
        for old, new in zip(note.links, again[place].links, strict=True):
            reached = links.resolve(old, path, before)
            assert reached not in moves.gone
            want = wanted(reached, moves)
            if want is None:
                assert new.target == old.target
            else:
                assert links.resolve(new, place, now) == want


def tree(place: Place) -> str:
    return place.git("rev-parse", "HEAD^{tree}")


def fill(place: Place, files: dict[str, bytes]) -> None:
    """Makes the vault hold just these files."""
    place.git("rm", "-rq", "--ignore-unmatch", "vault")
    for path, raw in files.items():
        place.write(path, raw)
    place.git("add", "-A")
    place.git("commit", "-q", "--allow-empty", "-m", "start")


@example(({"a.md": b"", "b.png": b""}, [Operation("move", "b.png", "x y"), Operation("create_folder", "x y")]))
@given(plans())
@settings(max_examples=25, deadline=None)
def test_a_plan_that_is_undone_leaves_the_exact_tree(plan: tuple[dict[str, bytes], list[Operation]]):
    files, operations = plan
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), {})
        fill(place, files)
        start, library = tree(place), Library(place.texts)
        origin = Origin("owner", "test", "a plan")
        planned = organizing.plan(library, library.graph(), operations, origin)
        if isinstance(planned, Planned):
            done = gate.carry(planned, "owner", place.texts)
            assert done.outcome == "applied"
            assert done.commit
            back = gate.carry(undoing.plan(place.texts, done.commit, origin), "owner", place.texts)
            assert back.outcome == "applied" or not planned.change.edits
        assert tree(place) == start
        assert not place.texts.snapshot().dirty
        place.close()


ODD = [
    b'---\nentities:\n- "a\\ud800"\n- a?\n---\n[[b]]\n',
    b"[[what?]] [x](a%3Fb.md) [y](a.md?x#z)\n",
    b"---\nup: '[[it''s]]'\nbroken: [\n---\n[[a\x00b]] [x](\xff.md)\n",
    "[[größe|x]] [[gro\u0308ße]] ![[🜚.png|300]] <img src='a&#39;b.png'>\n".encode(),
]
EDITS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write"]), PATHS, st.sampled_from(ODD)),
        st.tuples(st.sampled_from(["write"]), PATHS, st.text(max_size=60).map(str.encode)),
        st.tuples(st.sampled_from(["remove", "commit", "look"]), PATHS, st.just(b"")),
    ),
    max_size=8,
)


@example({"n.md": ODD[0], "b.md": b""}, [])
@example({"n.md": b"[[b]]", "b.md": b""}, [("write", "n.md", ODD[1])])
@given(vaults(), EDITS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_links_that_the_index_knows_are_those_of_the_files(
    files: dict[str, bytes], edits: list[tuple[str, str, bytes]]
):
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), {})
        fill(place, files)
        library = Library(place.texts)
        place.index.catch_up()
        for verb, path, raw in edits:
            if verb == "write" and not place.file(path).is_dir() and not place.file(path).parent.is_file():
                place.write(path, raw)
            elif verb == "remove" and place.file(path).is_file():
                place.remove(path)
            elif verb == "commit":
                place.git("add", "-A")
                place.git("commit", "-q", "--allow-empty", "-m", "by hand")
            elif verb == "look":
                place.index.catch_up()
        known = library.graph(lambda: indexed.known(place.index.folder), many=0)
        cold = library.graph()
        assert (known.files, shape(known)) == (cold.files, shape(cold))
        place.close()


def shape(graph: LinkGraph) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(path, sorted((link.kind, link.target) for link in held)) for path, held in graph.links.items()]


@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(str.encode), vaults().map(lambda v: b"\n".join(v.values()))
    )
)
@settings(max_examples=300, deadline=None)
def test_links_read_alone_are_those_of_the_whole_note(raw: bytes):
    whole, alone = parse.note("n.md", raw), parse.linked("n.md", raw)
    assert (alone.links, alone.issues, alone.text) == (whole.links, whole.issues, whole.text)
