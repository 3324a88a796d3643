"""Conversations on a real home with a model that does what it is told."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quorra.access.confirmations import Changed, NoConfirmation, Resolved
from quorra.agent.conversation.talks import Nothing
from quorra.agent.prompting.prompt import PromptAway
from quorra.agent.scopes import UnknownOrigin, UnknownScope
from quorra.home import Home
from quorra.inference.protocol import GenerationFailed
from quorra.state.sessions import ScopeFixed, UnknownSession
from tests.agent.conversation.talk import Person, call, made, opened

BINS = "vault/household/bins.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made(tmp_path / "home")


@pytest.fixture
def home(root: Path) -> Iterator[Home]:
    home = opened(root)
    yield home
    home.close()


@pytest.fixture
def owner(home: Home) -> Person:
    return Person(home)


def asked(owner: Person) -> str:
    """Lets the model ask for a yes to a proposal, and gives the confirmation's id."""
    reply = owner.say(f"{call('review_approve', id=owner.proposal())}\n!then\n!say Done as you said.")
    assert reply.outcome == "asked"
    assert reply.pending_confirmation
    return reply.pending_confirmation.id


def actions(home: Home) -> list[tuple[str, str]]:
    assert home.stores.audit.verify() == []
    return [(entry.action, entry.tool) for entry in home.stores.audit.entries()]


def test_a_reply_streams_and_is_kept(owner: Person):
    reply = owner.say("!say Good morning to you.")
    assert (reply.outcome, reply.answer) == ("answered", "Good morning to you.")
    assert "".join(owner.told("token")) == reply.answer
    assert [(entry.seq, entry.kind) for entry in owner.entries()] == [(0, "user"), (1, "assistant")]
    run = owner.home.stores.runs.get(reply.run_id, "owner")
    assert (run.state, run.strategy, run.question) == ("done", "tools", 0)


def test_without_a_scope_no_tool_is_reachable(owner: Person):
    reply = owner.say(f"{call('search_knowledge_base', question='boiler')}\n!then\n!say Well.", scope=None)
    assert reply.answer == "Well."
    (result,) = owner.entries("tool_result")
    assert not result.data["ok"]
    assert "There are no tools" in result.text


def test_a_scope_is_fixed_by_the_first_message_that_names_one(owner: Person):
    owner.say("!say Hello.", scope=None)
    with pytest.raises(UnknownScope):
        owner.home.talks.say(said(owner, scope=("finance",)), owner.principal, surface="test", now=owner.now)
    owner.home.talks.say(said(owner, scope=("general",)), owner.principal, surface="test", now=owner.now)
    owner.home.talks.say(said(owner, scope=("general",)), owner.principal, surface="test", now=owner.now)
    owner.home.stores.database.ask("UPDATE sessions SET scope = '[\"other\"]'")
    with pytest.raises(ScopeFixed):
        owner.home.talks.say(said(owner, scope=("general",)), owner.principal, surface="test", now=owner.now)


def said(owner: Person, **more: object):
    from quorra.agent.conversation.reply import Said

    return Said("!say Hello again.", owner.session, **more)  # type: ignore[arg-type]


def test_what_is_looked_up_carries_the_reply(owner: Person):
    step = call("search_knowledge_base", question="boiler pressure")
    reply = owner.say(
        f"What should the boiler pressure be?\n{step}\n!then\n"
        "!say The boiler pressure should stay at 1.4 bar. It was made in Kiel in 1987."
    )
    (citation,) = reply.citations
    assert (citation.path, citation.quote) == ("household/boiler.md", "The boiler pressure should stay at 1.4 bar.")
    assert reply.claims is not None
    assert [claim.citations for claim in reply.claims] == [(1,), ()]
    kinds = [event.kind for event in owner.home.stores.runs.events(reply.run_id)]
    assert kinds == ["prompt", "call", "retrieval", "result", "verdict", "reply"]
    assert "Kiel" not in str(owner.home.stores.runs.events(reply.run_id))


def test_a_model_hears_of_review_only_where_something_waits(owner: Person):
    def offered() -> set[str]:
        return {tool["function"]["name"] for tool in owner.home.inspector.of("owner")[0]["calls"][0]["tools"]}

    owner.say("!say Hello.")
    without = offered()
    owner.proposal()
    owner.say("!say Hello again.")
    assert offered() - without == {"review_list", "review_show", "review_approve", "review_decline"}


def test_a_tier_1_act_is_done_audited_and_told_afterwards(owner: Person, root: Path):
    step = call("document", path="household/attic", title="Attic", text="The attic is empty.")
    reply = owner.say(f"{step}\n!then\n!say I wrote it down.")
    assert (root / "vault/household/attic.md").is_file()
    (notice,) = reply.notices
    assert "household/attic.md" in notice
    (waiting,) = owner.home.stores.outbox.waiting("owner")
    assert waiting.subject == notice
    assert actions(owner.home) == [("call", "document"), ("done", "document")]


def test_a_tier_2_act_waits_for_a_yes_by_its_id(owner: Person, root: Path):
    before = (root / BINS).read_text()
    ident = asked(owner)
    assert (root / BINS).read_text() == before
    assert owner.home.stores.runs.get(owner.entries()[0].run, "owner").state == "paused"
    reply = owner.say("", confirmation_id=ident)
    assert reply.answer == "Done as you said."
    assert "Friday" in (root / BINS).read_text()
    assert actions(owner.home) == [
        ("ask", "review_approve"),
        ("approved", "review_approve"),
        ("call", "review_approve"),
        ("done", "review_approve"),
    ]
    with pytest.raises(Resolved):
        owner.say("", confirmation_id=ident)


@pytest.mark.parametrize("word", ["yes", "Go ahead!", "👍", "Ja, bitte."])
def test_a_plain_yes_answers_what_was_asked_last(owner: Person, root: Path, word: str):
    asked(owner)
    assert owner.say(word).answer == "Done as you said."
    assert "Friday" in (root / BINS).read_text()


@pytest.mark.parametrize("word", ["> yes", '"yes"', "yes, but on Monday", "Is that a yes?", "Note: yes"])
def test_no_other_message_does(owner: Person, root: Path, word: str):
    asked(owner)
    owner.say(f"{word}\n!say I see." if ">" not in word else word)
    assert "Thursday" in (root / BINS).read_text()
    assert len(owner.home.talks.waiting(owner.principal, owner.now)) == 1


def test_a_yes_after_something_else_was_said_is_asked_again(owner: Person, root: Path):
    ident = asked(owner)
    owner.say("!say Shall I look up the boiler?")
    again = owner.say("yes")
    assert again.outcome == "asked"
    assert again.pending_confirmation
    assert again.pending_confirmation.id == ident
    assert "Thursday" in (root / BINS).read_text()
    assert owner.say("yes").answer == "Done as you said."
    assert "Friday" in (root / BINS).read_text()


def test_a_no_is_told_to_the_model(owner: Person, root: Path):
    ident = asked(owner)
    assert owner.say("no, thanks").answer == "Done as you said."
    assert "The person said no" in owner.entries("tool_result")[-1].text
    assert "Thursday" in (root / BINS).read_text()
    with pytest.raises(Resolved):
        owner.say("", confirmation_id=ident)
    assert ("declined", "review_approve") in actions(owner.home)


def test_a_no_to_what_is_named_is_a_no(owner: Person, root: Path):
    ident = asked(owner)
    owner.say("No, thanks.", confirmation_id=ident)
    assert "Thursday" in (root / BINS).read_text()
    assert ("declined", "review_approve") in actions(owner.home)


def test_what_was_found_before_a_yes_carries_the_reply_behind_it(owner: Person):
    found = call("search_knowledge_base", question="boiler pressure")
    owner.say(
        f"What should the boiler pressure be?\n{found}\n!then\n{call('review_approve', id=owner.proposal())}\n!then\n"
        "!say The boiler pressure should stay at 1.4 bar."
    )
    reply = owner.say("yes")
    assert [one.path for one in reply.citations] == ["household/boiler.md"]


def test_a_run_that_falls_can_be_taken_up(owner: Person, root: Path):
    (root / "prompts/origin").mkdir(parents=True, exist_ok=True)
    style = root / "prompts/origin/standard.md"
    style.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(PromptAway):
        owner.say("!say Good morning.", message_id="m1")
    assert [run.state for run in owner.home.runs.of_session(sole(owner))] == ["failed"]
    style.unlink()
    assert owner.say("!say Good morning.", message_id="m1").answer == "Good morning."


def sole(owner: Person) -> str:
    (session,) = owner.home.sessions.every("owner")
    return session.id


def test_a_yes_that_was_cut_short_before_anything_was_done_waits_again(root: Path):
    first = Person(opened(root))
    ident = asked(first)
    died = subprocess.run([sys.executable, "-c", _DIE, str(root), str(first.session), ident], check=False)
    assert died.returncode == 9
    first.home.close()
    second = Person(opened(root), session=first.session, now=first.now)
    second.home.talks.recover(second.now)
    assert "Thursday" in (root / BINS).read_text()
    (notice,) = second.home.outbox.waiting("owner")
    assert "it waits again" in notice.subject
    again = second.say("", confirmation_id=ident, message_id="y1")
    assert (again.outcome, again.pending_confirmation is not None) == ("asked", True)
    assert second.say("yes", message_id="y2").answer == "Done as you said."
    assert "Friday" in (root / BINS).read_text()
    second.home.close()


_DIE = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from quorra import settings
from quorra.access.principals import named
from quorra.agent.conversation.reply import Said
from quorra.home import Home

home = Home.open(settings.read(Path(sys.argv[1])))
home.stores.database._connection.set_trace_callback(
    lambda sql: os._exit(9) if "'call'" in sql and sql.startswith("INSERT") else None
)
now = datetime(2026, 12, 1, 8, 30, tzinfo=UTC)
said = Said("", sys.argv[2], confirmation_id=sys.argv[3], message_id="y1")
home.talks.say(said, named("owner"), surface="test", now=now)
"""


def test_a_run_is_at_work_in_one_process_alone(root: Path):
    first, second = Person(opened(root)), Person(opened(root))
    reply = first.say("!say Good morning.", message_id="m1")
    first.home.stores.database.ask("UPDATE runs SET state = 'running'")
    with first.home.runs.hold(reply.run_id):
        held = subprocess.run(
            [sys.executable, "-c", _TAKE, str(root), reply.session_id], capture_output=True, text=True, check=True
        )
        assert held.stdout.split() == ["0", "Held"]
    assert second.home.talks.recover(second.now) == 1
    first.home.close()
    second.home.close()


_TAKE = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from quorra import settings
from quorra.access.principals import named
from quorra.agent.conversation.reply import Said
from quorra.home import Home

home = Home.open(settings.read(Path(sys.argv[1])))
now = datetime.now(UTC)
print(home.talks.recover(now))
try:
    home.talks.say(Said("!say Good morning.", sys.argv[2], message_id="m1"), named("owner"), surface="test", now=now)
except Exception as error:
    print(type(error).__name__)
"""


def test_the_inspector_sees_what_a_look_up_found_and_sent(root: Path):
    settings = (root / "quorra.toml").read_text()
    (root / "quorra.toml").write_text(f"{settings}tools = 'off'\n")
    person = Person(opened(root))
    object.__setattr__(person.home.model, "abilities", replace(person.home.model.abilities, tools=False))
    person.say("What should the boiler pressure be?\n!say The boiler pressure should stay at 1.4 bar.")
    (turn,) = person.home.inspector.of("owner")
    assert turn["passages"]
    assert "1.4 bar" in str(turn["calls"][0]["messages"])
    person.home.close()


def test_a_yes_stands_where_the_model_of_the_day_can_not_go_on(root: Path):
    first = Person(opened(root))
    asked(first)
    first.home.close()
    settings = (root / "quorra.toml").read_text()
    (root / "quorra.toml").write_text(settings.replace('"scripted"', '"scripted"\nanswers = "quotation"'))
    second = Person(opened(root), session=first.session, now=first.now)
    reply = second.say("yes")
    assert reply.outcome == "stopped"
    assert "can't go on" in reply.notices[-1]
    assert "Friday" in (root / BINS).read_text()
    second.home.close()


def test_the_audit_knows_the_end_of_what_a_forgotten_session_asked(owner: Person):
    asked(owner)
    assert owner.session
    owner.home.talks.forget(owner.session, owner.principal, surface="test", now=owner.now)
    assert [act.action for act in owner.home.audit.entries()][-2:] == ["ask", "cancelled"]
    assert owner.home.talks.waiting(owner.principal, owner.now) == ()
    with pytest.raises(UnknownSession):
        owner.home.sessions.get(owner.session, "owner")


def test_an_act_that_a_dead_process_left_open_is_closed_in_the_audit(root: Path):
    first = Person(opened(root))
    reply = first.say("!say Hello.")
    acted = {"principal": "owner", "tool": "document", "tier": 1, "session": reply.session_id, "run": reply.run_id}
    first.home.audit.record(first.now, action="call", **acted)
    first.home.state.ask("UPDATE runs SET state = 'running'")
    first.home.close()
    second = Person(opened(root), now=first.now)
    assert (second.home.talks.recover(second.now), second.home.talks.recover(second.now)) == (1, 0)
    last = second.home.audit.entries()[-1]
    assert (last.action, last.tool, last.tier, last.run, last.ok) == ("interrupted", "document", 1, reply.run_id, None)
    assert "document was cut short" in second.home.outbox.waiting("owner")[-1].subject
    second.home.close()


def test_an_act_that_a_dead_process_did_and_never_told_of_is_told(root: Path):
    first = Person(opened(root))
    reply = first.say("!say Hello.")
    acted = {"principal": "owner", "tool": "document", "tier": 1, "session": reply.session_id, "run": reply.run_id}
    data = {"name": "document", "arguments": "{}", "step": 0}
    for ident in ("told", "untold"):
        first.home.sessions.append(
            reply.session_id, "tool_call", "", first.now, run=reply.run_id, call=ident, data=data
        )
    result = {"name": "document", "ok": True}
    first.home.sessions.append(
        reply.session_id, "tool_result", "x", first.now, run=reply.run_id, call="told", data=result
    )
    first.home.audit.record(first.now, action="call", **acted)
    first.home.audit.record(first.now, action="done", ok=True, **acted)
    first.home.state.ask("UPDATE runs SET state = 'running'")
    assert first.home.talks.recover(first.now) == 1
    assert [one.subject for one in first.home.outbox.waiting("owner")] == [
        "document was done, and then it was cut short."
    ]
    first.home.close()


def test_where_others_listen_only_the_household_is_open(home: Home):
    mira = Person(home, "mira")
    mira.say(f"{call('search_knowledge_base', question='kite with a long tail')}\n!then\n!say Hm.", window="household")
    mira.say(f"{call('read_note', path='members/mira/kite')}\n!then\n!say Hm.", window="household")
    mira.say(f"{call('search_history', words='kite')}\n!then\n!say Hm.", window="household")
    mira.say(f"{call('get_my_context')}\n!then\n!say Hm.", window="household")
    told = "\n".join(entry.text for entry in mira.entries("tool_result"))
    assert "long tail" not in told
    assert "Others listen here" in told
    mira.say(f"{call('read_note', path='members/mira/kite')}\n!then\n!say Hm.")
    assert "long tail" in mira.entries("tool_result")[-1].text


def test_where_others_listen_the_owner_can_say_yes_to_what_all_may_see(owner: Person, root: Path):
    hidden = owner.proposal("members/tom/diary.md", "# Diary\n\nTom likes the green one.\n")
    shown = owner.proposal()
    owner.say(f"{call('review_list')}\n!then\n!say So.", window="household")
    told = owner.entries("tool_result")[-1].text
    assert shown in told
    assert hidden not in told
    asking = f"{call('review_approve', id=hidden)}\n{call('review_approve', id=shown)}\n!then\n!say Done."
    assert owner.say(asking, window="household").outcome == "asked"
    assert owner.say("yes", window="household").answer == "Done."
    assert "Friday" in (root / BINS).read_text()
    assert "violet" in (root / "vault/members/tom/diary.md").read_text()


def test_nobody_else_and_no_other_session_can_say_yes(owner: Person, root: Path):
    ident = asked(owner)
    mira = Person(owner.home, "mira")
    with pytest.raises(NoConfirmation):
        mira.say("", confirmation_id=ident)
    with pytest.raises(UnknownSession):
        mira.say("yes", session=owner.session)
    mira.say("yes")
    other = Person(owner.home)
    other.say("!say Hello.")
    with pytest.raises(NoConfirmation):
        other.say("", confirmation_id=ident)
    other.say("yes")
    for forged in ("", "00000000", "' OR 1=1 --"):
        with pytest.raises((NoConfirmation, Nothing)):
            owner.say("", confirmation_id=forged)
    assert "Thursday" in (root / BINS).read_text()


def test_a_yes_counts_for_what_was_shown(owner: Person, root: Path):
    ident = asked(owner)
    with pytest.raises(Changed):
        owner.say("", confirmation_id=ident, digest="0" * 64)
    (shown,) = owner.home.talks.waiting(owner.principal, owner.now)
    other = owner.proposal("household/boiler.md", "# Boiler\n\nIt is gone.\n")
    edited = owner.home.talks.edit(ident, {"id": other}, owner.principal, surface="test", now=owner.now)
    assert edited.digest != shown.digest
    assert "household/boiler.md" in edited.description
    with pytest.raises(Changed):
        owner.say("", confirmation_id=ident, digest=shown.digest)
    owner.say("", confirmation_id=ident, digest=edited.digest)
    assert "gone" in (root / "vault/household/boiler.md").read_text()
    assert "Thursday" in (root / BINS).read_text()


def test_a_plain_yes_does_not_cover_what_was_edited_elsewhere(owner: Person, root: Path):
    ident = asked(owner)
    other = owner.proposal("household/boiler.md", "# Boiler\n\nIt is gone.\n")
    owner.home.talks.edit(ident, {"id": other}, owner.principal, surface="test", now=owner.now)
    again = owner.say("yes")
    assert again.outcome == "asked"
    assert "household/boiler.md" in again.answer
    assert "1.4 bar" in (root / "vault/household/boiler.md").read_text()
    owner.say("yes")
    assert "gone" in (root / "vault/household/boiler.md").read_text()


def test_what_is_said_beside_the_yes_and_what_was_edited_reach_the_model(owner: Person):
    ident = asked(owner)
    other = owner.proposal("household/boiler.md", "# Boiler\n\nIt is gone.\n")
    edited = owner.home.talks.edit(ident, {"id": other}, owner.principal, surface="test", now=owner.now)
    with pytest.raises(Changed):
        owner.say("Yes, and tell Tom.", confirmation_id=ident)
    owner.say("Yes, and tell Tom.", confirmation_id=ident, digest=edited.digest)
    told = owner.entries("tool_result")[-1].text
    assert f'said yes to other arguments: {{"id": "{other}"}}' in told
    assert 'The person added: "Yes, and tell Tom."' in told


def test_what_would_be_done_otherwise_by_now_is_asked_again(owner: Person, root: Path):
    asked(owner)
    (root / BINS).write_text("# Bins\n\nThe paper bins go out on Thursday evening, by the gate.\n")
    reply = owner.say("yes")
    assert "by the gate" in (root / BINS).read_text()
    assert reply.outcome in ("asked", "answered")
    assert "Friday" not in (root / BINS).read_text()


def test_it_survives_a_restart_and_keeps_what_its_siblings_found(root: Path):
    first = Person(opened(root))
    proposal = first.proposal()
    found = call("search_knowledge_base", question="boiler pressure")
    behind = call("document", path="household/attic", title="Attic", text="The attic is empty.")
    reply = first.say(f"{found}\n{call('review_approve', id=proposal)}\n{behind}\n!then\n!say All done.")
    assert reply.outcome == "asked"
    assert [entry.data["name"] for entry in first.entries("tool_result")] == ["search_knowledge_base"]
    assert not (root / "vault/household/attic.md").exists()
    first.home.close()
    second = Person(opened(root), session=first.session, now=first.now)
    assert second.home.talks.recover(second.now) == 0
    assert second.say("yes").answer == "All done."
    names = [entry.data["name"] for entry in second.entries("tool_result")]
    assert names == ["search_knowledge_base", "review_approve", "document"]
    assert (root / "vault/household/attic.md").is_file()
    second.home.close()


def test_a_resumed_run_may_ask_again(owner: Person, root: Path):
    one, other = owner.proposal(), owner.proposal("household/boiler.md", "# Boiler\n\nIt is gone.\n")
    owner.say(f"{call('review_approve', id=one)}\n{call('review_approve', id=other)}\n!then\n!say Both done.")
    again = owner.say("yes")
    assert again.outcome == "asked"
    assert "Friday" in (root / BINS).read_text()
    assert "1.4 bar" in (root / "vault/household/boiler.md").read_text()
    assert owner.say("yes").answer == "Both done."
    assert "gone" in (root / "vault/household/boiler.md").read_text()


def test_it_expires_and_can_be_cancelled(owner: Person, root: Path):
    ident = asked(owner)
    owner.now += timedelta(hours=25)
    with pytest.raises(Resolved):
        owner.say("", confirmation_id=ident)
    owner.say("yes")
    assert owner.home.talks.expire(owner.now) == 1
    other = Person(owner.home)
    ident = asked(other)
    other.home.talks.cancel(ident, other.principal, surface="test", now=other.now)
    with pytest.raises(Resolved):
        other.say("", confirmation_id=ident)
    assert "Thursday" in (root / BINS).read_text()
    assert {"expired", "cancelled"} <= {action for action, _ in actions(owner.home)}


def test_a_message_that_comes_again_gets_the_reply_that_there_is(owner: Person):
    one = owner.say("!say Good morning.", message_id="m1")
    again = owner.say("!say Good morning.", message_id="m1")
    assert (again.run_id, again.answer) == (one.run_id, one.answer)
    assert len(owner.entries()) == 2
    lost = Person(owner.home)
    assert lost.say("!say Good morning.", message_id="m1").session_id == owner.session


def test_a_run_that_was_cut_short_is_taken_up(root: Path):
    first = Person(opened(root))
    found = call("search_knowledge_base", question="boiler pressure")
    first.say(f"{found}\n!then\n!say All of it, word for word.", message_id="m1", stop=0)
    first.home.stores.database.ask("UPDATE runs SET state = 'running'")
    first.home.close()
    second = Person(opened(root), session=first.session)
    assert second.home.talks.recover(second.now) == 1
    reply = second.say("ignored, as it is the same message", message_id="m1")
    assert reply.answer == "All of it, word for word."
    assert [entry.kind for entry in second.entries()].count("user") == 1
    second.home.close()


def test_a_reply_that_is_cut_off_is_kept_with_its_mark(owner: Person):
    reply = owner.say("!say The boiler is due in May of next year.", stop=3)
    assert reply.interrupted
    (kept,) = owner.entries("assistant")
    assert (kept.text, kept.mark) == ("The boiler is", "interrupted")
    assert owner.home.stores.runs.get(reply.run_id, "owner").state == "cancelled"


def test_a_reply_that_breaks_off_is_kept_and_is_an_error(owner: Person):
    with pytest.raises(GenerationFailed):
        owner.say("!say The boi\n!fail")
    owner.session = owner.home.stores.sessions.every("owner")[0].id
    (kept,) = owner.entries("assistant")
    assert (kept.text.strip(), kept.mark) == ("The boi", "failed")


def test_reasoning_is_never_kept(owner: Person):
    owner.say("!think secretthought\n!say Here.")
    assert owner.told("reasoning")
    kept = owner.home.stores.database.path.read_bytes()
    owner.home.close()
    wal = owner.home.settings.private / "state.db-wal"
    assert b"secretthought" not in kept.replace(b"!think secretthought", b"")
    assert not wal.exists() or b"secretthought" not in wal.read_bytes().replace(b"!think secretthought", b"")


def test_an_unchanged_call_is_not_run_again_and_a_loop_is_ended(owner: Person):
    step = call("document", path="household/bins", title="Bins", text="x", folder=5)
    reply = owner.say("\n!then\n".join([step] * 12) + "\n!then\n!say Never said.")
    assert reply.outcome == "stopped"
    assert "again and again" in reply.notices[-1]
    assert len(owner.entries("tool_call")) < 12
    assert all("was not run again" in entry.text for entry in owner.entries("tool_result")[1:])


def test_a_retry_tells_what_it_changes(owner: Person):
    one, other = call("read_note", path="household/boilr"), call("read_note", path="household/boiler")
    reply = owner.say(f"{one}\n!then\n{other}\n!then\n!say So it is.")
    (retry,) = [event for event in owner.home.stores.runs.events(reply.run_id) if event.kind == "retry"]
    assert retry.data["changed"] == ["path"]
    assert retry.data["ok"]


def test_a_run_ends_after_so_many_steps(owner: Person):
    steps = [call("search_knowledge_base", question=f"boiler {at}") for at in range(30)]
    reply = owner.say("\n!then\n".join(steps))
    assert reply.outcome == "stopped"
    assert "24 times" in reply.notices[-1]


def test_bad_input_says_so(owner: Person):
    with pytest.raises(Nothing):
        owner.say("  ")
    with pytest.raises(UnknownOrigin):
        owner.say("!say x", origin="carrier pigeon")
    with pytest.raises(UnknownSession):
        owner.say("!say x", session="0" * 32)
    assert owner.home.stores.sessions.every("owner") == ()
