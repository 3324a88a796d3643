"""The inspector: what was sent, for its owner alone, in memory, within its bytes."""

import ast
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import quorra
from quorra.agent import inspector as module
from quorra.agent.inspector import ALL, EACH, LONGEST, REASONING, Inspector, bug
from quorra.index.found import Hit, Ranks

NOW = datetime(2026, 12, 1, 8, 10, 5, tzinfo=UTC)


@pytest.fixture
def inspector() -> Inspector:
    return Inspector()


def payload(*texts):
    return {"model": "m", "messages": [{"role": "user", "content": text} for text in texts], "tools": []}


def test_a_running_turn_is_seen_and_grows(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    assert inspector.get("owner", record.id)["state"] == "running"
    record.call(payload("Hello?"))
    record.reasoning("Well, ")
    record.reasoning("now.")
    record.tool("search", "1.4 bar")
    record.passages([Hit("boiler.md", "", (1, 2), None, "b1", "1.4 bar", 0.5, Ranks(None, None))])
    record.facts(["A fact."])
    record.reply("1.4 bar.")
    record.end("answered")
    shown = inspector.get("owner", record.id)
    assert 0 < shown.pop("bytes") < 2000
    assert shown == {
        "id": record.id,
        "session": "s",
        "run": "r",
        "started": NOW.isoformat(),
        "state": "answered",
        "truncated": False,
        "calls": [payload("Hello?")],
        "tools": [{"name": "search", "result": "1.4 bar"}],
        "passages": [{"path": "boiler.md", "lines": [1, 2], "commit": None, "blob": "b1", "text": "1.4 bar"}],
        "facts": ["A fact."],
        "reasoning": "Well, now.",
        "reply": "1.4 bar.",
    }


def test_a_payload_stays_as_it_was_sent(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    sent = payload("Hello?")
    record.call(sent)
    sent["messages"][0]["content"] = "changed"
    sent["messages"].append({"role": "assistant", "content": "more"})
    shown = inspector.get("owner", record.id)
    assert shown["calls"] == [payload("Hello?")]
    shown["calls"][0]["messages"].clear()
    assert inspector.get("owner", record.id)["calls"] == [payload("Hello?")]


def test_anothers_record_is_as_if_it_were_not_there(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    other = inspector.begin("member:mira", "t", "q", NOW)
    assert inspector.get("member:mira", record.id) is inspector.get("member:mira", "nothing") is None
    assert [shown["id"] for shown in inspector.of("member:mira")] == [other.id]
    inspector.clear("member:mira")
    assert inspector.of("member:mira") == []
    assert [shown["id"] for shown in inspector.of("owner")] == [record.id]


def test_the_last_fifty_turns_are_kept_the_newest_first(inspector):
    for n in range(60):
        inspector.begin("owner", "s", f"r{n}", NOW)
    assert [shown["run"] for shown in inspector.of("owner")] == [f"r{n}" for n in reversed(range(10, 60))]


def test_a_long_text_is_cut_and_the_record_says_so(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    record.call(payload("q" * 3_000_000, "short"))
    record.tool("read", "x" * 3_000_000)
    shown = inspector.get("owner", record.id)
    assert shown["truncated"]
    long, short = (message["content"] for message in shown["calls"][0]["messages"])
    assert long == "q" * LONGEST + f" [cut: {3_000_000 - LONGEST:,} more characters]"
    assert short == "short"
    assert len(shown["tools"][0]["result"]) < LONGEST + 100


def test_a_record_keeps_to_its_bytes_and_the_newest_payloads(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    for step in range(100):
        record.call(payload(f"step {step}", *("ж" * LONGEST for _ in range(10))))
        record.tool("read", f"{step} " + "x" * 5000)
    for _ in range(50_000):
        record.facts(["f"])
    shown = inspector.get("owner", record.id)
    assert record.size <= EACH
    assert shown["truncated"]
    assert [tool["result"].split()[0] for tool in shown["tools"]][:3] == ["0", "1", "2"]


def test_newer_payloads_push_out_older_ones(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    for step in range(20):
        record.call(payload(f"step {step}", *("x" * LONGEST for _ in range(10))))
    told = [call["messages"][0]["content"] for call in inspector.get("owner", record.id)["calls"]]
    assert told[-1] == "step 19"
    assert 3 <= len(told) < 20


@pytest.mark.parametrize("many", [1_000, 100_000])
def test_a_payload_of_many_messages_is_cut_further_or_left_out(inspector, many):
    record = inspector.begin("owner", "s", "r", NOW)
    record.call(payload(*("x" * 3_000 for _ in range(many))))
    assert record.size <= EACH
    shown = inspector.get("owner", record.id)
    assert shown["truncated"]
    assert len(shown["calls"]) == 1


def test_reasoning_without_end_is_cut(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    for _ in range(200_000):
        record.reasoning("ж")
    shown = inspector.get("owner", record.id)
    assert (len(shown["reasoning"]), shown["truncated"]) == (REASONING, True)
    assert record.size <= EACH


def test_all_records_together_keep_to_their_bytes(inspector):
    for n in range(80):
        record = inspector.begin("owner" if n % 2 else "member:mira", "s", f"r{n}", NOW)
        for _ in range(8):
            record.call(payload(*("x" * LONGEST for _ in range(9))))
        assert inspector.size <= ALL
    assert inspector.of("owner")[0]["run"] == "r79"
    assert len(inspector.of("owner")) + len(inspector.of("member:mira")) < 50


def test_text_that_is_no_unicode_is_kept(inspector):
    record = inspector.begin("owner", "s", "r", NOW)
    record.call(payload("a\udc80b"))
    record.reasoning("\udc80")
    assert inspector.get("owner", record.id)["calls"] == [payload("a\udc80b")]


def test_several_threads_may_write_and_read(inspector):
    def work(owner):
        for n in range(60):
            record = inspector.begin(owner, "s", f"r{n}", NOW)
            record.call(payload("x" * 1000))
            record.reasoning("thinking")
            assert all(shown["session"] == "s" for shown in inspector.of(owner))
            record.end("answered")
            if n == 30:
                inspector.clear(owner)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, [f"member:m{n}" for n in range(4)])) == [None] * 4
    left = [inspector.of(f"member:m{n}") for n in range(4)]
    assert 29 <= sum(map(len, left)) <= 50  # the slowest has begun 29 since it forgot its own
    assert any(records and records[0]["run"] == "r59" for records in left)


def test_a_report_holds_a_record_only_where_one_is_given(inspector, tmp_path):
    record = inspector.begin("owner", "s", "r", NOW)
    record.call(payload("A secret of the house."))
    assert not list(tmp_path.iterdir())
    (alone,) = bug(None, "It said Monday.", tmp_path / "bugs", NOW)
    assert alone.name.startswith("20261201T081005-")
    assert "It said Monday." in alone.read_text(encoding="utf-8")
    told, attached = bug(inspector.get("owner", record.id), "Again.", tmp_path / "bugs", NOW)
    assert attached.name == told.name.removesuffix(".md") + "-payload.json"
    assert json.loads(attached.read_text(encoding="utf-8"))["calls"] == [payload("A secret of the house.")]
    assert len(list((tmp_path / "bugs").iterdir())) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in (alone, told, attached)} == {0o600}
    assert stat.S_IMODE((tmp_path / "bugs").stat().st_mode) == 0o700


def test_only_the_households_own_loop_and_its_address_reach_the_inspector():
    root = Path(quorra.__file__).parent
    users = set()
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            source = getattr(node, "module", None) or ""
            if module.__name__ in (source, *names, *(f"{source}.{name}" for name in names)):
                users.add(file.relative_to(root).as_posix())
    assert users <= {
        "agent/conversation/runner.py",
        "agent/conversation/turn.py",
        "home.py",
        "surfaces/http/addresses/inspect.py",
    }
    assert "agent/conversation/turn.py" in users
