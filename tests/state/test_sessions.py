"""Sessions: dense numbers whoever writes, a scope that is fixed once, a stranger who learns nothing, and forgetting."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quorra.state import database
from quorra.state.database import Database
from quorra.state.inbox import Inbox, Item
from quorra.state.outbox import Outbox
from quorra.state.runs import Runs
from quorra.state.sessions import Repeated, ScopeFixed, Sessions, UnknownSession

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from quorra.state import database
from quorra.state.sessions import Sessions

sessions = Sessions(database.open(Path(sys.argv[1])))
for turn in range(int(sys.argv[3])):
    print(sessions.append(sys.argv[2], "user", f"{sys.argv[4]} {turn}", datetime.now(UTC)).seq)
"""


@pytest.fixture
def state(tmp_path: Path) -> Database:
    return database.open(tmp_path / "state.db")


@pytest.fixture
def sessions(state: Database) -> Sessions:
    return Sessions(state)


def test_numbers_are_dense_under_many_threads_that_share_a_database(sessions: Sessions):
    ident = sessions.begin("owner", "standard", NOW).id
    with ThreadPoolExecutor(16) as pool:
        given = list(pool.map(lambda n: sessions.append(ident, "user", str(n), NOW).seq, range(320)))
    assert sorted(given) == list(range(320))
    assert {entry.text for entry in sessions.entries(ident)} == {str(n) for n in range(320)}


def test_numbers_are_dense_under_many_processes(tmp_path: Path, sessions: Sessions):
    ident = sessions.begin("owner", "standard", NOW).id
    words = [sys.executable, "-c", WRITER, str(tmp_path / "state.db"), ident, "50"]
    writers = [subprocess.Popen([*words, str(n)], stdout=subprocess.PIPE, text=True) for n in range(4)]
    given = [int(line) for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert [writer.returncode for writer in writers] == [0] * 4
    assert sorted(given) == list(range(200))
    kept = [entry.text for entry in sessions.entries(ident)]
    for n in range(4):
        assert [text for text in kept if text.startswith(f"{n} ")] == [f"{n} {turn}" for turn in range(50)]


def test_a_session_starts_without_a_scope_and_keeps_the_one_it_gets(sessions: Sessions):
    ident = sessions.begin("owner", "matrix", NOW).id
    begun = sessions.get(ident, "owner")
    assert (begun.scope, begun.mode, begun.purpose, begun.title, begun.origin) == (None, None, None, "", "matrix")
    sessions.commit_scope(ident, ["general", "general"])
    sessions.commit_scope(ident, ("general",))
    assert sessions.get(ident, "owner").scope == ("general",)
    with pytest.raises(ScopeFixed, match="general") as told:
        sessions.commit_scope(ident, ["general", "finance"])
    assert told.value.scope == ("general",)
    with pytest.raises(ScopeFixed):
        sessions.commit_scope(ident, [])
    assert sessions.get(ident, "owner").scope == ("general",)


def test_of_many_scopes_at_once_one_is_fixed(tmp_path: Path, sessions: Sessions):
    ident = sessions.begin("owner", "standard", NOW).id

    def commit(n: int) -> bool:
        try:
            Sessions(database.open(tmp_path / "state.db")).commit_scope(ident, [f"scope{n}"])
        except ScopeFixed:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [n for n, fixed in enumerate(pool.map(commit, range(16))) if fixed]
    assert [(f"scope{n}",) for n in won] == [sessions.get(ident, "owner").scope]


def test_a_mode_brings_its_entry_context_once(sessions: Sessions):
    ident = sessions.begin("owner", "standard", NOW).id
    sessions.set_mode(ident, "research")
    assert (sessions.get(ident, "owner").mode, sessions.get(ident, "owner").entering) == ("research", True)
    sessions.entered(ident)
    assert (sessions.get(ident, "owner").mode, sessions.get(ident, "owner").entering) == ("research", False)
    sessions.set_mode(ident, None)
    assert (sessions.get(ident, "owner").mode, sessions.get(ident, "owner").entering) == (None, False)
    sessions.set_purpose(ident, "the move")
    sessions.set_title(ident, "Moving house")
    assert (sessions.get(ident, "owner").purpose, sessions.get(ident, "owner").title) == ("the move", "Moving house")


def test_another_s_session_is_as_unknown_as_one_that_is_not_there(sessions: Sessions):
    ident = sessions.begin("member:mira", "standard", NOW).id
    sentences = set()
    for asked in (ident, "f" * 32):
        with pytest.raises(UnknownSession) as told:
            sessions.get(asked, "member:tom")
        sentences.add((told.value.code, told.value.message.replace(asked, ""), told.value.next))
    assert len(sentences) == 1
    assert sessions.every("member:tom") == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda sessions: sessions.commit_scope("none", ["general"]),
        lambda sessions: sessions.set_mode("none", "research"),
        lambda sessions: sessions.set_purpose("none", "x"),
        lambda sessions: sessions.set_title("none", "x"),
        lambda sessions: sessions.entered("none"),
        lambda sessions: sessions.append("none", "user", "x", NOW),
        lambda sessions: sessions.forget("none"),
    ],
)
def test_what_is_gone_can_not_be_changed(state: Database, sessions: Sessions, change):
    with pytest.raises(UnknownSession):
        change(sessions)
    assert state.ask("SELECT 1 FROM entries UNION ALL SELECT 1 FROM sessions") == []


def test_sessions_come_with_the_one_last_spoken_in_first(sessions: Sessions):
    first, second = (sessions.begin("owner", "standard", NOW).id for _ in range(2))
    sessions.append(first, "user", "hello", NOW + timedelta(minutes=1))
    assert [session.id for session in sessions.every("owner")] == [first, second]


def test_an_entry_comes_back_as_it_was_put(sessions: Sessions):
    ident = sessions.begin("owner", "standard", NOW).id
    data = {"name": "note", "arguments": '{"path": "ä.md"}', "ok": None, "citations": [{"lines": [1, 2]}]}
    put = sessions.append(
        ident, "tool_call", "line\nwith \0 and 🜚", NOW, run="r1", mark="failed", call="c1", data=data, ref="$e:x"
    )
    assert (put.seq, put.at, put.data) == (0, NOW.isoformat(), data)
    assert sessions.entries(ident) == (put,)
    assert sessions.of_run("r1") == (put,)
    assert sessions.of_run("") == ()
    assert sessions.by_ref(ident, "$e:x") == put
    assert sessions.by_ref(ident, "") is None


def test_half_a_surrogate_pair_is_no_reason_to_lose_a_message(sessions: Sessions):
    ident = sessions.begin("owner", "standard", NOW).id
    sessions.append(ident, "user", "a\ud83dz", NOW, data={"x": "\ud83d"})
    assert [(entry.text, entry.data) for entry in sessions.entries(ident)] == [("a?z", {"x": "\ud83d"})]
    assert sessions.entries(ident, after=10**30, limit=10**30) == ()


def test_what_a_client_sends_twice_is_kept_once(tmp_path: Path, sessions: Sessions):
    ident, other = (sessions.begin("owner", "matrix", NOW).id for _ in range(2))

    def send(n: int) -> bool:
        try:
            Sessions(database.open(tmp_path / "state.db")).append(ident, "user", f"try {n}", NOW, ref="$event")
        except Repeated as error:
            return error.entry.seq != 0
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(16))) == 1
    assert len(sessions.entries(ident)) == 1
    assert sessions.append(other, "user", "elsewhere", NOW, ref="$event").seq == 0


def test_recent_is_what_was_said_with_the_oldest_first(sessions: Sessions):
    ident = sessions.begin("owner", "standard", NOW).id
    for n in range(6):
        for kind in ("user", "tool_call", "tool_result", "assistant", "notice"):
            sessions.append(ident, kind, f"{kind} {n}", NOW)
    assert [entry.text for entry in sessions.recent(ident, 3)] == ["assistant 4", "user 5", "assistant 5"]
    assert [entry.seq for entry in sessions.entries(ident, after=2, limit=2)] == [3, 4]


def test_search_finds_one_s_own_words_whatever_their_case_and_signs(sessions: Sessions):
    mine, theirs = (sessions.begin(who, "standard", NOW).id for who in ("member:mira", "member:tom"))
    sessions.append(mine, "user", "Die ÖLHEIZUNG hat 100% Druck", NOW)
    sessions.append(mine, "assistant", "The file is a_b.md", NOW)
    sessions.append(mine, "tool_result", "ölheizung in a tool's answer", NOW)
    sessions.append(theirs, "user", "Ölheizung", NOW)

    def found(words: str) -> list[str]:
        return [entry.text for entry in sessions.search("member:mira", words)]

    assert found("druck ölheizung") == found("o\u0308lheizung") == ["Die ÖLHEIZUNG hat 100% Druck"]
    assert found("100%") == ["Die ÖLHEIZUNG hat 100% Druck"]
    assert found("a_b") == ["The file is a_b.md"]
    assert found("axb") == found("%")[1:] == found("ölheizung md") == found("  ") == []
    for n in range(5):
        sessions.append(mine, "user", f"again {n}", NOW)
    assert [entry.text for entry in sessions.search("member:mira", "again", 2)] == ["again 4", "again 3"]


def confirmation(session: str, run: str, text: str, digest: str) -> Item:
    moment = NOW.isoformat()
    return Item(
        digest or "p1", "confirmation", text, {"text": text}, "owner", "chat", text, "draft_ready", moment, moment, "",
        None, session=session, run=run, tool="send", digest=digest,
    )  # fmt: skip


def test_forgetting_leaves_no_byte_of_a_session(tmp_path: Path, state: Database, sessions: Sessions):
    runs, box, outbox = Runs(state), Inbox(state), Outbox(state)
    ident, other = (sessions.begin("owner", "standard", NOW).id for _ in range(2))
    run = runs.begin(ident, "owner", 0, "scripted", "chat", NOW)
    for n in range(200):
        sessions.append(ident, "user", f"xylograph {n} " * 40, NOW, data={"said": "xylograph"}, ref=f"xylograph{n}")
    sessions.append(other, "user", "another matter", NOW)
    sessions.set_title(ident, "xylograph")
    sessions.set_purpose(ident, "xylograph")
    runs.note(run.id, "call", {"tool": "xylograph"}, NOW)
    box.put(confirmation(ident, run.id, "xylograph", "d1"))
    box.put(confirmation(ident, run.id, "a proposal stays", ""))
    outbox.put("owner", "done", "xylograph", NOW, session=ident, run=run.id)

    def held() -> bytes:
        return b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert state.settle()
    assert b"xylograph" in (tmp_path / "state.db").read_bytes()
    assert sessions.forget(ident)
    assert b"xylograph" not in held()
    assert b"another matter" in held()
    assert [item.title for item in box.every()] == ["a proposal stays"]
    assert (runs.events(run.id), outbox.waiting("owner")) == ((), ())
    assert [session.id for session in sessions.every("owner")] == [other]


def test_a_session_that_is_read_elsewhere_leaves_the_log_when_the_reader_is_done(
    tmp_path: Path, state: Database, sessions: Sessions
):
    ident = sessions.begin("owner", "standard", NOW).id
    sessions.append(ident, "user", "xylograph", NOW)
    reader = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT text FROM entries").fetchall() == [("xylograph",)]
    assert not sessions.forget(ident)
    assert sessions.search("owner", "xylograph") == ()
    reader.close()
    assert state.settle()
    assert b"xylograph" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
