"""Three vaults of other people: nothing crashes, nothing is lost, links lead where they should."""

from collections import Counter
from pathlib import Path

import pytest

from quorra.vault import links, validate
from quorra.vault.note import Note
from quorra.vault.reading import parse
from quorra.vault.writing import serialize

SIZES = {"kepano": 100, "garden": 740, "powershell-docs": 630}


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def notes(root: Path) -> list[Note]:
    return [parse.note(path, (root / path).read_bytes()) for path in files(root) if path.endswith(".md")]


@pytest.mark.parametrize("name", SIZES)
def test_every_note_is_read(shared: Path, name: str):
    root = shared / "vaults" / name
    found = notes(root)
    assert len(found) > SIZES[name]
    names = links.Names(files(root))
    for note in found:
        assert serialize.note(note) == (root / note.path).read_bytes()
        assert all(block.text and note.text[block.span.start : block.span.end].strip() for block in note.blocks)
        assert all(1 <= block.lines[0] <= block.lines[1] <= note.text.count("\n") + 1 for block in note.blocks)
        spans = [(note.text[link.span.start : link.span.end], link) for link in note.links]
        assert all(written == link.target or set("%&\\'") & set(written) for written, link in spans)
        validate.note(note, lambda link, path=note.path: links.resolve(link, path, names))


def test_words_of_every_body_are_in_its_blocks(shared: Path):
    """What a reader sees is in some block or heading; link targets, markup and comments are not words."""
    lost: Counter[str] = Counter()
    for note in notes(shared / "vaults" / "kepano"):
        seen = " ".join([*(block.text for block in note.blocks), *(heading.text for heading in note.headings)])
        plain = [line for line in note.body.splitlines() if line and line.replace(" ", "").isalpha()]
        lost.update(line for line in plain if line.strip() not in seen)
    assert not lost


def test_templates_without_yaml_keep_their_text(shared: Path):
    broken = [
        note
        for note in notes(shared / "vaults" / "kepano")
        if any(issue.code == "frontmatter-invalid" for issue in note.issues)
    ]
    assert len(broken) == 28
    for note in broken:
        assert note.metadata == {}
        assert note.blocks[0].kind == "code"
        assert "{{" in note.blocks[0].text or "[[" in note.blocks[0].text


def test_links_of_the_garden_lead_to_its_notes(shared: Path):
    root = shared / "vaults" / "garden"
    names = links.Names(files(root))
    result = Counter(
        "dangling" if links.resolve(link, note.path, names) is None else "found"
        for note in notes(root)
        for link in note.links
        if link.kind == "wiki" or (link.kind == "inline" and link.target.endswith(".md"))
    )
    assert result["found"] > 3000
    assert result["dangling"] < 20
