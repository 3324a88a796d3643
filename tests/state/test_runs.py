"""Runs: moved once, whoever moves them; a trace that keeps its order and no text."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorra.state import database
from quorra.state.database import Database
from quorra.state.runs import Run, Runs, UnknownRun
from quorra.state.sessions import Sessions

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def state(tmp_path: Path) -> Database:
    return database.open(tmp_path / "state.db")


@pytest.fixture
def runs(state: Database) -> Runs:
    return Runs(state)


def begun(state: Database, principal: str = "owner", now: datetime = NOW) -> Run:
    session = Sessions(state).begin(principal, "standard", now).id
    return Runs(state).begin(session, principal, 0, "scripted", "chat", now)


def test_a_run_begins_in_its_principal_s_own_session_only(state: Database, runs: Runs):
    run = begun(state, "member:mira")
    assert (run.state, run.ended, run.question) == ("running", "", 0)
    assert runs.get(run.id, "member:mira") == run
    for session in (run.session, "none"):
        with pytest.raises(UnknownRun):
            runs.begin(session, "member:tom", 0, "scripted", "chat", NOW)
    with pytest.raises(UnknownRun):
        runs.get(run.id, "member:tom")
    assert runs.of_session(run.session) == (run,)


def test_of_many_who_move_a_run_one_does(tmp_path: Path, state: Database):
    run = begun(state)

    def resume(_: int) -> bool:
        return Runs(database.open(tmp_path / "state.db")).move(run.id, "paused", "running", NOW)

    assert Runs(state).move(run.id, "running", "paused", NOW)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(resume, range(16))) == 1


def test_a_run_has_an_end_while_it_is_not_open(state: Database, runs: Runs):
    run = begun(state)
    assert runs.open() == (run,)
    assert runs.move(run.id, "running", "failed", NOW)
    assert (runs.get(run.id, "owner").ended, runs.open()) == (NOW.isoformat(), ())
    assert runs.move(run.id, "failed", "running", NOW)
    assert runs.get(run.id, "owner") == run
    assert runs.move(run.id, "running", "paused", NOW)
    assert (runs.get(run.id, "owner").ended, runs.open()) == ("", ())


def test_a_trace_keeps_its_order_under_many_threads(state: Database, runs: Runs):
    run = begun(state)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: runs.note(run.id, "call", {"seq": n}, NOW), range(100)))
    told = runs.events(run.id)
    assert [event.n for event in told] == list(range(100))
    assert sorted(event.data["seq"] for event in told) == list(range(100))
    with pytest.raises(UnknownRun):
        runs.note("none", "call", {}, NOW)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(TEXT, TEXT, st.sampled_from([lambda text: text, lambda text: [text], lambda text: {"deep": [{text: text}]}]))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_that_gets_into_a_trace_is_sealed(state: Database, runs: Runs, first: str, second: str, wrapped):
    run, text = begun(state), f"{first}secret phrase{second}"
    runs.note(run.id, "call", {"tool": "note", "blob": "a" * 40, "ms": 1.5, "told": wrapped(text)}, NOW)
    (row,) = state.ask("SELECT data FROM events WHERE run = ?", run.id)
    assert "secret phrase" not in row["data"]
    assert state.sealed(text) in row["data"]
    event = runs.events(run.id)[0]
    assert [event.data[name] for name in ("tool", "blob", "ms")] == ["note", "a" * 40, 1.5]


def test_what_ended_long_ago_is_purged_with_its_trace_and_what_waits_is_not(state: Database, runs: Runs):
    # Half an hour apart, though their text in local time says otherwise.
    old = NOW.astimezone(datetime.strptime("+0500", "%z").tzinfo)
    first, second, waits = (begun(state, now=old) for _ in range(3))
    runs.note(first.id, "reply", {}, NOW)
    runs.move(first.id, "running", "done", old)
    runs.move(second.id, "running", "done", NOW + timedelta(hours=1))
    runs.move(waits.id, "running", "paused", old)
    assert runs.purge(NOW + timedelta(minutes=30)) == 1
    assert runs.events(first.id) == ()
    assert [runs.get(run.id, "owner").state for run in (second, waits)] == ["done", "paused"]
    assert state.ask("SELECT 1 FROM events") == []
