"""Searching, asking and reading at a revision, as programs and people do it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorra import home as homes
from quorra import settings
from quorra.access.window import OWNER, Window
from quorra.home import Home
from quorra.ledger.change import Origin
from quorra.vault.reorg.operation import Operation
from tests.index.place import IDENTITY
from tests.surfaces.test_cli import quorra

EVERYTHING = Window()
QUESTIONS = ("What is the pressure of the boiler?", "When do the paper bins go out?", "Who feeds the cat?")


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout


class Years:
    """A home that was written, reorganized, emptied and put back, with all that was cited on the way."""

    def __init__(self, root: Path) -> None:
        self.root = root
        homes.create(root, empty=True)
        self.home = Home.open(settings.read(root))
        self.cited: list[tuple[str, tuple[int, int], str | None, str, str]] = []
        self.commits: list[str] = []
        self._write("household/boiler.md", "# Boiler\n\nThe pressure of the boiler is 1.2 bar.\n")
        self._write("household/bins.md", "# Bins\n\nThe paper bins go out on Thursday.\n")
        self._write(
            "household/boiler.md", "---\ntitle: Boiler\n---\n# Boiler\n\nThe pressure of the boiler is 1.5 bar.\n"
        )
        self._organize(Operation("move", "household/boiler.md", "cellar/heating.md"))
        self._write("household/boiler.md", "# Boiler\n\nThis is told elsewhere: the cat sleeps on it.\n")
        self._undo(self._organize(Operation("move", "household/bins.md", "garage/bins.md")))
        (root / "vault/household/bins.md").unlink()
        (root / "facts/household.md").write_text("# Facts\n\n- 2026-11-01 Tom feeds the cat.\n")
        git(root, "commit", "-q", "-a", "-m", "by hand")
        self._undo(self._note())

    def _write(self, name: str, text: str) -> None:
        old = self.home.texts.places().get(name)
        expect = old.blob if old else None
        done = self.home.changes.write(name, text.encode(), Origin(OWNER, "test", ""), expect=expect)
        assert done.outcome == "applied", done
        self._note()

    def _organize(self, *steps: Operation) -> str:
        done = self.home.changes.organize(list(steps), Origin(OWNER, "test", ""))
        assert done.outcome == "applied", done
        return self._note()

    def _undo(self, commit: str) -> None:
        done = self.home.changes.undo(commit, Origin(OWNER, "test", ""))
        assert done.outcome == "applied", done
        self._note()

    def _note(self) -> str:
        """Keeps what is cited at this moment; gives the newest commit."""
        self.commits.append(self.home.ledger.head() or "")
        self.cite(None)
        return self.commits[-1]

    def cite(self, at: str | None) -> None:
        """Asks every question, now or of a revision, and keeps what is cited."""
        for question in QUESTIONS:
            found = self.home.search(question, window=EVERYTHING, at=at, wait=60)
            self.cited += [(hit.path, hit.lines, hit.commit, hit.blob, hit.text) for hit in found.hits]
            answer = self.home.ask(question, window=EVERYTHING, at=at)
            self.cited += [(each.path, each.lines, each.commit, each.blob, each.quote) for each in answer.citations]


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Years]:
    years = Years(tmp_path_factory.mktemp("years"))
    yield years
    years.home.close()


def test_every_citation_resolves_at_its_commit_for_ever(years: Years):
    for commit in years.commits:
        before = len(years.cited)
        years.cite(commit)
        assert {commit} == {cited[2] for cited in years.cited[before:]}
    assert {cited[2] for cited in years.cited} == set(years.commits)
    for path, (first, last), commit, blob, quote in years.cited:
        assert commit
        inside = years.home.settings.inside(path)
        lines = git(years.root, "show", f"{commit}:{inside}").split("\n")
        assert quote in "\n".join(lines[first - 1 : last])
        assert git(years.root, "rev-parse", f"{commit}:{inside}").strip() == blob
        read = years.home.library.read(f"{path}@{commit}", EVERYTHING)
        assert (read.commit, read.blob, quote in read.note.text) == (commit, blob, True)
        assert years.home.library.read(path, EVERYTHING, at=commit) == read


def test_each_revision_gives_its_own_answer(years: Years):
    pressures = ["1.2", "1.2", "1.5", "1.5"]
    for commit, pressure in zip(years.commits, pressures, strict=False):
        answer = years.home.ask(QUESTIONS[0], window=EVERYTHING, at=commit)
        assert (answer.outcome, f"{pressure} bar" in answer.answer) == ("quoted", True)


def test_as_programs_ask_for_it(years: Years):
    old = years.commits[0]
    said = quorra("search", "boiler", "--at", old[:12], "--home", str(years.root))
    assert (said.code, said.fields["commit"], said.fields["behind"]) == (0, old, 0)
    assert [(hit["path"], hit["commit"]) for hit in said.fields["hits"]] == [("household/boiler.md", old)]
    assert quorra("search", "boiler", "--at", old, "--no-sync", "--home", str(years.root)).fields == said.fields
    said = quorra("ask", QUESTIONS[0], "--at", f"{years.commits[1]}~1", "--home", str(years.root))
    assert (said.code, said.fields["outcome"], said.fields["citations"][0]["commit"]) == (0, "quoted", old)
    assert "1.2 bar" in said.fields["answer"]
    said = quorra("read", "boiler", "--at", old, "--home", str(years.root))
    assert (said.code, said.fields["path"], said.fields["commit"]) == (0, "household/boiler.md", old)
    assert said.fields == quorra("read", f"household/boiler@{old}", "--home", str(years.root)).fields


def test_a_revision_without_notes_has_no_hits(years: Years):
    empty = git(years.root, "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    git(years.root, "tag", "before", git(years.root, *IDENTITY, "commit-tree", "-m", "before", empty).strip())
    said = quorra("search", "boiler", "--at", "before", "--home", str(years.root))
    assert (said.code, said.fields["hits"], said.fields["behind"]) == (0, [], 0)
    said = quorra("ask", QUESTIONS[0], "--at", "before", "--home", str(years.root))
    assert (said.code, said.fields["outcome"]) == (0, "not_found")


@pytest.mark.parametrize(
    ("verb", "revision"),
    [("search", "never"), ("search", ""), ("search", "--all"), ("ask", "HEAD:vault"), ("read", "-1")],
)
def test_a_revision_that_is_none(years: Years, verb: str, revision: str):
    said = quorra(verb, "boiler", f"--at={revision}", "--home", str(years.root))
    assert (said.code, said.fields["error"]["code"]) == (1, "revision")


def test_two_revisions_at_once_are_wrong_usage(years: Years):
    said = quorra("read", "household/boiler@HEAD", "--at", "HEAD", "--home", str(years.root))
    assert (said.code, said.fields["error"]["code"]) == (2, "usage")


def test_what_became_private_is_told_to_nobody_else(tmp_path: Path):
    homes.create(tmp_path, empty=True)
    for name, text in (
        ("household/plans", "Tom's party is on the ninth of May."),
        ("members/tom/bicycle", "It is red."),
    ):
        (tmp_path / f"vault/{name}.md").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"vault/{name}.md").write_text(f"# A note\n\n{text}\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, *IDENTITY, "commit", "-q", "-m", "by hand")
    (tmp_path / "vault/members/mira").mkdir()
    (tmp_path / "vault/household/plans.md").rename(tmp_path / "vault/members/mira/plans.md")
    (tmp_path / "vault/household/plans.md").write_text("# A note\n\nNothing is planned.\n")
    asked = ("--at", "HEAD", "--home", str(tmp_path))
    assert quorra("search", "party", *asked).fields["hits"][0]["path"] == "household/plans.md"
    for member, code in (("tom", "no_note"), ("mira", None)):
        found = quorra("search", "party ninth of May", *asked, "--as", member)
        answer = quorra("ask", "When is the party?", *asked, "--as", member)
        read = quorra("read", "household/plans", *asked, "--as", member)
        assert read.fields.get("error", {}).get("code") == code
        assert ["ninth" in str(said.fields) for said in (found, answer, read)] == [code is None] * 3
