"""A state machine: whatever Quorra and a person do in turn, git, disk and the snapshot tell one story."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from quorra.ledger.change import Applied, ChangeSet, Edit, Refused, Stale
from tests.ledger.places import ORIGIN, git, opened, repository, sound, write

PATHS = st.sampled_from(["a.md", "b.md", "d/a.md", "d/e/c.md", "d/e/f.md", "ü/-x.md"])
TEXTS = st.binary(max_size=12) | st.sampled_from([b"one\n", b"one\r\n", b"two\n"])
Files = dict[str, bytes]


class Household(RuleBasedStateMachine):
    """The model holds what HEAD, the index and the disk should hold."""

    @initialize()
    def begin(self) -> None:
        self.root = repository(Path(tempfile.mkdtemp(prefix="quorra-machine-")) / "home", {"a.md": b"one\n"})
        self.ledger = opened(self.root)
        self.head: Files = {"a.md": b"one\n"}
        self.index: Files = dict(self.head)
        self.disk: Files = dict(self.head)
        self.commits = 1

    def staged(self, path: str) -> bool:
        return self.head.get(path) != self.index.get(path)

    def put(self, files: Files, path: str, content: bytes | None) -> None:
        if content is None:
            files.pop(path, None)
        else:
            files[path] = content

    @rule(files=st.dictionaries(PATHS, TEXTS | st.none(), min_size=1, max_size=3))
    def quorra_writes(self, files: dict[str, bytes | None]) -> None:
        outcome = write(self.ledger, files)
        blocked = [path for path, content in files.items() if self.staged(path) and self.index.get(path) != content]
        if blocked:
            assert isinstance(outcome, Refused), outcome
            assert outcome.code == "staged"
            return
        assert isinstance(outcome, Applied), outcome
        self.commits += any(self.disk.get(path) != self.head.get(path) for path in files)
        self.commits += any(self.disk.get(path) != content for path, content in files.items())
        for path, content in files.items():
            for place in (self.head, self.index, self.disk):
                self.put(place, path, content)

    @rule(path=PATHS, text=TEXTS)
    def quorra_is_late(self, path: str, text: bytes) -> None:
        wrong = self.ledger.id_of(b"a text that was never there")
        outcome = self.ledger.commit(ChangeSet((Edit(path, text, wrong),), "late", ORIGIN))
        assert isinstance(outcome, Stale)

    @rule(path=PATHS, text=TEXTS | st.none())
    def person_edits(self, path: str, text: bytes | None) -> None:
        file = self.root / path
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        self.put(self.disk, path, text)

    @rule(path=PATHS)
    def person_stages(self, path: str) -> None:
        if path in self.disk or path in self.index:
            git(self.root, "add", "-A", "--", path)
            self.put(self.index, path, self.disk.get(path))

    @rule()
    def person_commits(self) -> None:
        self.commits += self.head != self.index
        git(self.root, "commit", "-q", "-m", "mine", check=False)
        self.head = dict(self.index)

    @rule(paths=st.lists(PATHS, max_size=4))
    def adopts(self, paths: list[str]) -> None:
        outcome = self.ledger.adopt(paths, ORIGIN)
        differing = [path for path in dict.fromkeys(paths) if self.disk.get(path) != self.head.get(path)]
        if any(self.staged(path) for path in differing):
            assert isinstance(outcome, Refused), outcome
            return
        assert isinstance(outcome, Applied), outcome
        self.commits += bool(differing)
        for path in differing:
            for place in (self.head, self.index):
                self.put(place, path, self.disk.get(path))

    @rule()
    def another_process(self) -> None:
        self.ledger.close()
        self.ledger = opened(self.root)
        self.ledger.recover()

    @invariant()
    def one_story(self) -> None:
        ids = {path: self.ledger.id_of(content) for path, content in self.head.items()}
        assert self.ledger.tree("HEAD") == ids
        paths = self.head.keys() | self.disk.keys()
        differing = {path for path in paths if self.head.get(path) != self.disk.get(path)}
        wanted = {path: self.ledger.id_of(self.disk[path]) if path in self.disk else None for path in differing}
        snapshot = self.ledger.snapshot()
        assert snapshot.dirty == wanted
        assert snapshot.head == git(self.root, "rev-parse", "HEAD").strip()
        assert git(self.root, "rev-list", "--count", "HEAD").strip() == str(self.commits)
        listed = git(self.root, "ls-files", "--stage", "-z").split("\0")[:-1]
        index = {path: self.ledger.id_of(content) for path, content in self.index.items()}
        assert {row.partition("\t")[2]: row.split()[1] for row in listed} == index
        clean = self.head == self.index == self.disk
        assert (git(self.root, "status", "--porcelain") == "") == clean

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
            sound(self.root)
            shutil.rmtree(self.root.parent)


Household.TestCase.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestHousehold = Household.TestCase
