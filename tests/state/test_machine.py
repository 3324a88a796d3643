"""Whatever is done to sessions in whatever order, they hold what a plain model of them holds."""

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from quorra.state import database
from quorra.state.sessions import Repeated, ScopeFixed, Sessions, UnknownSession

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
WHO = st.sampled_from(["owner", "member:mira", "reservation:7"])
KINDS = st.sampled_from(["user", "assistant", "tool_call", "tool_result", "notice"])
WORDS = st.text("ab %_ß", max_size=5)


class Conversations(RuleBasedStateMachine):
    """Sessions beside a dictionary of them."""

    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.model: dict[str, tuple[str, list[tuple[str, str, str]]]] = {}
        self.scopes: dict[str, set[str]] = {}
        self.reopen()

    @rule()
    def reopen(self) -> None:
        if hasattr(self, "state"):
            self.state.close()
        self.state = database.open(Path(self.folder.name) / "state.db")
        self.sessions = Sessions(self.state)

    @rule(target=known, who=WHO)
    def begin(self, who: str) -> str:
        ident = self.sessions.begin(who, "standard", NOW).id
        self.model[ident] = (who, [])
        return ident

    @rule(ident=known, kind=KINDS, text=WORDS, ref=st.sampled_from(["", "", "r1", "r2"]))
    def append(self, ident: str, kind: str, text: str, ref: str) -> None:
        held = self.model[ident][1]
        if ref and ref in [each[2] for each in held]:
            with pytest.raises(Repeated):
                self.sessions.append(ident, kind, text, NOW, ref=ref)
        else:
            assert self.sessions.append(ident, kind, text, NOW, ref=ref).seq == len(held)
            held.append((kind, text, ref))

    @rule(ident=known, scope=st.lists(st.sampled_from(["general", "finance"]), max_size=3))
    def fix(self, ident: str, scope: list[str]) -> None:
        if self.scopes.setdefault(ident, set(scope)) != set(scope):
            with pytest.raises(ScopeFixed):
                self.sessions.commit_scope(ident, scope)
        else:
            self.sessions.commit_scope(ident, scope)

    @rule(ident=consumes(known))
    def forget(self, ident: str) -> None:
        assert self.sessions.forget(ident)
        who, _ = self.model.pop(ident)
        self.scopes.pop(ident, None)
        with pytest.raises(UnknownSession):
            self.sessions.get(ident, who)

    @rule(who=WHO, words=WORDS)
    def search(self, who: str, words: str) -> None:
        wanted = words.casefold().split()
        held = sorted(
            (ident, seq)
            for ident, (owner, entries) in self.model.items()
            for seq, (kind, text, _) in enumerate(entries)
            if owner == who and kind in ("user", "assistant") and all(word in text.casefold() for word in wanted)
        )
        found = sorted((entry.session, entry.seq) for entry in self.sessions.search(who, words, 1000))
        assert found == (held if wanted else [])

    @invariant()
    def agrees(self) -> None:
        for ident, (who, held) in self.model.items():
            entries = self.sessions.entries(ident)
            assert [(entry.seq, entry.kind, entry.text, entry.ref) for entry in entries] == [
                (seq, *each) for seq, each in enumerate(held)
            ]
            said = [entry for entry in entries if entry.kind in ("user", "assistant")]
            assert self.sessions.recent(ident, 3) == tuple(said[-3:])
            scope = self.sessions.get(ident, who).scope
            assert (None if scope is None else set(scope)) == self.scopes.get(ident)
        for who in ("owner", "member:mira", "reservation:7"):
            mine = {ident for ident, (owner, _) in self.model.items() if owner == who}
            assert {session.id for session in self.sessions.every(who)} == mine

    def teardown(self) -> None:
        self.state.close()
        self.folder.cleanup()


TestConversations = Conversations.TestCase
TestConversations.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
