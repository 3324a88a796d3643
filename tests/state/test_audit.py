"""The audit: rows and lines say the same whatever kills whom, and what was tampered with is told, never mended away."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorra.state import database
from quorra.state.audit import LOG, MADE, Audit
from quorra.state.database import Database, StateError

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from quorra.state import database
from quorra.state.audit import LOG, Audit

folder, name = Path(sys.argv[1]), sys.argv[2]
state = database.open(folder / "state.db")
audit = Audit(state, folder / LOG)
print("ready", flush=True)
for turn in range(int(sys.argv[3])):
    with state.transaction():
        for part in range(turn % 3 + 1):
            n = audit.record(datetime.now(UTC), principal=name, action="call", tier=1, target=f"{turn}")
    print(n, flush=True)
"""
KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from quorra.state import audit, database

def work(folder, at):
    left = [at]
    def step(frame, event, argument):
        if frame.f_code.co_filename not in (audit.__file__, database.__file__):
            return None
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step
    state = database.open(folder / "state.db")
    log = audit.Audit(state, folder / audit.LOG)
    sys.settrace(step)
    with state.transaction():
        for part in ("first", "second"):
            log.record(datetime.now(UTC), principal="owner", action=part, tier=1, target="x")
    os._exit(0)

for at in range(10_000):
    folder = Path(sys.argv[1]) / str(at)
    folder.mkdir()
    state = database.open(folder / "state.db")
    log = audit.Audit(state, folder / audit.LOG)
    for part in ("before", "and"):
        log.record(datetime.now(UTC), principal="owner", action=part, tier=1)
    state.close()
    child = os.fork()
    if child == 0:
        work(folder, at)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def opened(folder: Path, log: Path | None = None) -> Audit:
    return Audit(database.open(folder / "state.db"), log or folder / LOG)


def filled(folder: Path, count: int = 6) -> Audit:
    audit = opened(folder)
    for n in range(count):
        audit.record(NOW, principal="owner", action="call", tool="note", tier=1, session="s1", run="r1", target=str(n))
    return audit


def numbers(file: Path) -> list[int]:
    return [json.loads(line)["n"] for line in file.read_text(encoding="utf-8").splitlines()]


def test_what_is_recorded_is_a_row_and_a_line(tmp_path: Path):
    audit = opened(tmp_path)
    assert (audit.file.exists(), audit.verify()) == (False, [])
    first = audit.record(NOW, principal="owner", action="call", tool="note", tier=1, session="s", run="r", target="a b")
    audit.record(
        NOW, principal="owner", action="done", tool="note", tier=1, session="s", run="r", target="a b", ok=True
    )
    one, two = audit.entries()
    assert (one.n, one.action, one.tier, one.session, one.run, one.ok) == (first, "call", 1, "s", "r", None)
    assert (two.n, two.ok, two.target) == (2, True, one.target)
    assert one.target.startswith("hmac:")
    assert [audit.entries(after=1), audit.entries(limit=1)] == [(two,), (one,)]
    lines = [json.loads(line) for line in audit.file.read_text(encoding="utf-8").splitlines()]
    assert [(line["n"], line["action"], line["target"], line["chain"]) for line in lines] == [
        (act.n, act.action, act.target, act.chain) for act in (one, two)
    ]
    assert audit.file.stat().st_mode & 0o777 == 0o600
    assert audit.verify() == opened(tmp_path).verify() == []


def test_who_used_which_key_is_told_and_chained(tmp_path: Path):
    audit = opened(tmp_path)
    audit.record(NOW, principal="member:mira", action="call", by="k1")
    audit.record(NOW, principal="member:mira", action="call")
    assert [act.by for act in audit.entries()] == ["k1", ""]
    assert [json.loads(line)["by"] for line in audit.file.read_text(encoding="utf-8").splitlines()] == ["k1", ""]
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.executescript("DROP TRIGGER audit_is_fixed; UPDATE audit SET by = '' WHERE n = 1;")
    connection.close()
    assert "Row 1 of the audit is not as it was written." in opened(tmp_path).verify()


def test_what_is_done_is_recorded_around_it_however_it_ends(tmp_path: Path):
    audit = opened(tmp_path)
    told = {"principal": "owner", "action": "try", "tool": "test", "tier": 2, "by": "k1"}
    seen: list[list[tuple[str, bool | None]]] = []

    def rows() -> list[tuple[str, bool | None]]:
        return [(act.action, act.ok) for act in audit.entries()]

    assert audit.act(lambda: NOW, lambda: seen.append(rows()) or 7, lambda found: found == 7, target="a", **told) == 7
    assert audit.act(lambda: NOW, lambda: 8, lambda found: found == 7, target="b", **told) == 8
    with pytest.raises(ZeroDivisionError):
        audit.act(lambda: NOW, lambda: 1 // 0, lambda _: True, target="c", **told)
    assert seen == [[("try", None)]]
    assert rows() == [("try", None), ("done", True), *[("try", None), ("failed", False)] * 2]
    assert audit.unended("test", "abc") == {}
    audit.record(NOW, principal="owner", action="try", tool="test", target="b")
    audit.record(NOW, principal="owner", action="try", tool="other", target="c")
    assert {target: act.n for target, act in audit.unended("test", "abc").items()} == {"b": 7}


@given(st.text(min_size=3), st.sampled_from(["principal", "by", "action", "tool", "session", "run", "target"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_is_kept_wherever_it_is_given(tmp_path: Path, text: str, where: str):
    folder = tmp_path / "home"
    told = {"principal": "owner", "action": "call", where: f"my secret {text}"}
    audit = opened(folder)
    audit.record(NOW, **told)
    for file in folder.iterdir():
        assert b"my secret" not in file.read_bytes()
    assert audit.verify() == []


def test_one_word_as_a_target_is_sealed_too_and_differs_from_home_to_home(tmp_path: Path):
    sealed = set()
    for name in ("a", "b"):
        audit = opened(tmp_path / name)
        audit.record(NOW, principal="owner", action="call", target="hunter2hunter2")
        assert all(b"hunter2hunter2" not in file.read_bytes() for file in (tmp_path / name).iterdir())
        sealed.add(audit.entries()[0].target)
    assert len(sealed) == 2


def test_a_transaction_that_is_undone_leaves_neither_row_nor_line(tmp_path: Path):
    audit = filled(tmp_path, 2)
    state = database.open(tmp_path / "state.db")
    other = Audit(state, tmp_path / LOG)
    with suppress(KeyError), state.transaction():
        other.record(NOW, principal="owner", action="undone")
        raise KeyError
    assert (numbers(audit.file), len(audit.entries())) == ([1, 2], 2)
    assert other.record(NOW, principal="owner", action="call") == 3
    assert audit.verify() == []


def test_many_processes_keep_rows_and_lines_in_one_order(tmp_path: Path):
    words = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*words, f"p{n}", "30"], stdout=subprocess.DEVNULL) for n in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    audit = opened(tmp_path)
    assert audit.verify() == []
    assert numbers(audit.file) == [act.n for act in audit.entries(limit=1000)] == list(range(1, 4 * 60 + 1))


def test_a_process_killed_between_any_two_steps_leaves_what_opening_mends(tmp_path: Path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=True, timeout=120)
    found = set()
    for folder in tmp_path.iterdir():
        left = numbers(folder / LOG)
        audit = opened(folder)
        acts = [act.action for act in audit.entries()]
        assert acts in (["before", "and"], ["before", "and", "first", "second"])
        assert numbers(audit.file) == list(range(1, len(acts) + 1))
        assert audit.verify() == []
        assert audit.record(NOW, principal="owner", action="later") == len(acts) + 1
        assert audit.verify() == []
        found.add((len(acts), len(left)))
    # Killed before the commit, between it and the lines, and after them.
    assert found == {(2, 2), (4, 2), (4, 4)}


def test_processes_killed_at_any_moment_lose_nothing_that_they_reported(tmp_path: Path):
    reported = 0
    for turn in range(6):
        words = [sys.executable, "-c", WRITER, str(tmp_path)]
        writers = [subprocess.Popen([*words, f"p{n}", "9999"], stdout=subprocess.PIPE, text=True) for n in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        time.sleep(0.05 + turn * 0.013)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            reported = max([reported, *(int(line) for line in writer.communicate()[0].split("\n")[:-1])])
    audit = opened(tmp_path)
    assert audit.verify() == []
    assert numbers(audit.file) == list(range(1, len(audit.entries(limit=10**6)) + 1))
    assert len(numbers(audit.file)) >= reported > 0


def test_a_line_torn_anywhere_is_completed(tmp_path: Path):
    audit = filled(tmp_path, 3)
    whole = audit.file.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole)):
        audit.file.write_bytes(whole[:end])
        assert opened(tmp_path).file.read_bytes() == whole
    audit.file.write_bytes(whole[: last + 9])
    audit.record(NOW, principal="owner", action="call")
    assert audit.file.read_bytes().startswith(whole)
    assert audit.verify() == []


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda data: b"".join(change(data.splitlines(keepends=True)))


TAMPERED = {
    "cut": (lines(lambda each: each[:3]), ["lacks rows 4 to 6"]),
    "cut amid a line": (lambda data: data[: len(data) // 2 + 9], ["in line 4 what", "lacks rows 4 to 6"]),
    "one line gone": (lines(lambda each: each[:2] + each[3:]), ["lacks row 3 of"]),
    "the first gone": (lines(lambda each: each[1:]), ["lacks row 1 of"]),
    "a line edited": (
        lambda data: data.replace(b'"n":4,"at":"2026', b'"n":4,"at":"2025'),
        ["in line 4", "lacks row 4"],
    ),
    "the last line edited": (
        lambda data: data.replace(b'"n":6,"at":"2026', b'"n":6,"at":"2025'),
        ["in line 6", "row 6"],
    ),
    "two lines swapped": (lines(lambda each: [*each[:2], each[3], each[2], *each[4:]]), ["lacks row 3", "in line 4"]),
    "a line twice": (lines(lambda each: [*each[:3], each[2], *each[3:]]), ["in line 4"]),
    "lines too many": (lambda data: data + b'{"n":7}\n[]\n\xff\n', ["in lines 7 to 9"]),
    "a tail without end": (lambda data: data + b'{"m":', ["in line 7"]),
    "emptied": (lambda data: b"", ["is gone"]),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_file_that_was_tampered_with_is_told_and_left_as_it_is(tmp_path: Path, how: str):
    file = filled(tmp_path).file
    change, told = TAMPERED[how]
    data = change(file.read_bytes())
    file.write_bytes(data)
    audit = opened(tmp_path)
    sentences = audit.verify()
    assert len(sentences) == len(told)
    assert all(any(part in sentence for sentence in sentences) for part in told)
    assert file.read_bytes() == data
    audit.record(NOW, principal="owner", action="later")
    audit.record(NOW, principal="owner", action="later")
    assert file.read_bytes().startswith(data)
    assert numbers_at_end(file)[-2:] == [audit.entries()[-2].n, audit.entries()[-1].n]
    if data:
        assert audit.verify()


def numbers_at_end(file: Path) -> list[int]:
    return [json.loads(line)["n"] for line in file.read_bytes().splitlines()[-2:]]


def test_a_file_that_is_gone_is_made_anew_and_that_is_recorded(tmp_path: Path):
    audit = filled(tmp_path, 3)
    audit.file.unlink()
    assert "is gone" in audit.verify()[0]
    assert audit.record(NOW, principal="owner", action="later") == 5
    assert [act.action for act in audit.entries()] == ["call", "call", "call", MADE, "later"]
    assert (numbers(audit.file), audit.verify()) == ([1, 2, 3, 4, 5], [])


def test_a_home_that_was_brought_back_without_its_file_goes_on(tmp_path: Path):
    filled(tmp_path)
    place = tmp_path / "restored"
    place.mkdir()
    database.copy(tmp_path / "state.db", place / "state.db")
    audit = opened(place)
    with audit_of(place) as (state, other):
        other.record(NOW, principal="owner", action="one")
        other.record(NOW, principal="owner", action="two")
        assert state.ask("SELECT count(*) AS n FROM audit")[0]["n"] == 6 + 3
    assert [act.action for act in audit.entries(after=6)] == [MADE, "one", "two"]
    assert (numbers(place / LOG), audit.verify()) == (list(range(1, 10)), [])


@contextmanager
def audit_of(folder: Path) -> Iterator[tuple[Database, Audit]]:
    state = database.open(folder / "state.db")
    audit = Audit(state, folder / LOG)
    with state.transaction():
        yield state, audit


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE audit SET ok = 1 WHERE n = 3", ["Row 3 of the audit is not", "in line 3", "lacks row 3"]),
        (
            "UPDATE audit SET principal = 'member:tom' WHERE n = 6",
            ["Row 6 of the audit is not", "line 6", "lacks row 6"],
        ),
        ("DELETE FROM audit WHERE n IN (3, 4)", ["lost rows 3 to 4", "lacks rows 3 to 4", "lines 3 to 4"]),
        ("DELETE FROM audit WHERE n > 4", ["lost rows 5 to 6", "lines 5 to 6"]),
        ("DELETE FROM audit", ["lost rows 1 to 6", "lines 1 to 6"]),
    ],
)
def test_a_table_that_was_tampered_with_is_told(tmp_path: Path, sql: str, told: list[str]):
    audit = filled(tmp_path)
    before = audit.file.read_bytes()
    with pytest.raises(StateError, match="kept"):
        database.open(tmp_path / "state.db").ask(sql)
    connection = sqlite3.connect(tmp_path / "state.db")
    connection.executescript("DROP TRIGGER audit_is_kept; DROP TRIGGER audit_is_fixed;")
    connection.execute(sql)
    connection.commit()
    connection.close()
    sentences = opened(tmp_path).verify()
    assert len(sentences) == len(told)
    assert all(any(part in sentence for sentence in sentences) for part in told)
    assert audit.file.read_bytes() == before
    audit.record(NOW, principal="owner", action="later")
    assert audit.entries()[-1].n == 7
    assert audit.verify()


def fill(file: Path) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)


def many(audit: Audit, count: int) -> None:
    for _ in range(count):
        audit.record(NOW, principal="owner", action="call")


def test_a_full_disk_under_the_file_refuses_the_next_action_and_loses_nothing(tmp_path: Path, small: Path):
    audit = opened(tmp_path, small / LOG)
    audit.record(NOW, principal="owner", action="call")
    fill(small / "ballast")
    with pytest.raises(StateError, match=r"audit\.log can't be written") as told:
        many(audit, 100)
    assert told.value.next.startswith("Make room")
    kept = len(audit.entries(limit=1000))
    for _ in range(3):
        with pytest.raises(StateError):
            audit.record(NOW, principal="owner", action="refused")
    assert len(audit.entries(limit=1000)) == kept
    (small / "ballast").unlink()
    assert audit.record(NOW, principal="owner", action="call") == kept + 1
    assert (numbers(audit.file), audit.verify()) == (list(range(1, kept + 2)), [])


def test_a_full_disk_under_the_table_leaves_neither_row_nor_line(tmp_path: Path, small: Path):
    audit = opened(small, tmp_path / LOG)
    many(audit, 20)
    fill(small / "ballast")
    with pytest.raises(StateError, match=r"state\.db") as told:
        many(audit, 1000)
    assert told.value.next.startswith("Make room")
    kept = [act.n for act in audit.entries(limit=10_000)]
    assert (numbers(audit.file), audit.verify()) == (kept, [])
    (small / "ballast").unlink()
    audit.record(NOW, principal="owner", action="call")
    assert audit.verify() == []
