"""The composition root: opens a home's rooms and hands one to the other; wiring, no logic."""

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from quorra.access import window
from quorra.access.changes import asked
from quorra.access.changes.asked import Changes
from quorra.access.proposals import Proposals, Review
from quorra.access.window import Window
from quorra.ledger.change import Origin, Refused
from quorra.ledger.ledger import Ledger
from quorra.settings import FACTS, Settings
from quorra.state import database
from quorra.state.audit import LOG, Audit
from quorra.state.database import Database
from quorra.state.inbox import Inbox
from quorra.state.keys import Keys
from quorra.state.outbox import Outbox
from quorra.state.preferences import Preferences
from quorra.state.runs import Runs
from quorra.state.sessions import Sessions
from quorra.vault import past, starter
from quorra.vault.library import Known, Library
from quorra.vault.reorg.reorganize import LinkGraph
from quorra.vault.starter import Made
from quorra.vault.texts import Texts

if TYPE_CHECKING:
    from quorra.agent.asking.answer import Answer, Event
    from quorra.agent.asking.ask import Witness
    from quorra.agent.conversation.kept import Stores
    from quorra.agent.conversation.talks import Talks
    from quorra.agent.inspector import Inspector
    from quorra.agent.prompting.prompt import Prompts
    from quorra.index.found import Found, Mode
    from quorra.index.index import Index, Report
    from quorra.index.past import Past
    from quorra.inference.protocol import Chat, Embedder

PACKAGE = Path(__file__).resolve().parent
SHIPPED = PACKAGE / "shipped" if (PACKAGE / "shipped").is_dir() else PACKAGE.parent
FIRST_LOOK = 8.0
PAST = "at"
PASSAGES = 12


def create(folder: Path, *, vault: str = "vault", empty: bool = False, surface: str = "cli") -> Made:
    """Makes a home of a folder; raises Unfit."""
    return starter.create(folder, SHIPPED, Origin("owner", surface, "quorra init"), vault=vault, empty=empty)


class Home:
    """An open home. Rooms are opened when first used; ``close`` ends their processes and models.

    ``model_key`` goes to the server of the settings' model alone, ``embedder_key`` to the embedder's.
    """

    def __init__(
        self, settings: Settings, *, model_key: str = "", embedder_key: str = "", cache: Path | None = None
    ) -> None:
        self.settings = settings
        self.model_key = model_key
        self.embedder_key = embedder_key
        self.writable = _writable(settings)
        self._spare: TemporaryDirectory[str] | None = None
        self.cache = cache or (settings.private if self.writable else self.spare) / "cache"
        self.unfinished: Refused | None = None

    @classmethod
    def open(
        cls, settings: Settings, *, model_key: str = "", embedder_key: str = "", cache: Path | None = None
    ) -> "Home":
        """Opens a home and finishes what a killed process left half done."""
        home = cls(settings, model_key=model_key, embedder_key=embedder_key, cache=cache)
        home.unfinished = home.ledger.recover()
        return home

    def notices(self) -> list[str]:
        """Says what a person should know of the home as it was found."""
        told = [
            f"{path} holds an edit that met another one; take over what it says, then remove it."
            for path in self.ledger.rescued
        ]
        if self.unfinished:
            told.append(f"A commit that was cut short waits: {self.unfinished.reason} {self.unfinished.next}")
        if not self.writable:
            told.append(f"{self.settings.home} can't be written: it can be asked, but nothing is changed or kept.")
        return told

    def close(self) -> None:
        """Closes whatever was opened."""
        for name in ("index", "embedder", "model", "state", "ledger"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
        for name in ("keys", "sessions", "runs", "audit", "outbox", "preferences", "proposals", "review"):
            self.__dict__.pop(name, None)
        if self._spare:
            self._spare.cleanup()

    @property
    def spare(self) -> Path:
        """A folder for what this process alone derives from a home that can't be written."""
        self._spare = self._spare or TemporaryDirectory(prefix="quorra-")
        return Path(self._spare.name)

    @cached_property
    def private(self) -> Path:
        """The home's own folder, there and out of git's sight where the home can be written."""
        return starter.private(self.settings.private) if self.writable else self.settings.private

    @cached_property
    def ledger(self) -> Ledger:
        """The git side."""
        owner = (self.settings.owner.name, self.settings.owner.email)
        return Ledger(self.settings.home, (self.settings.vault_root, FACTS), owner)

    @cached_property
    def model(self) -> "Chat":
        """The chat model that the settings name."""
        from quorra.inference import open as models

        return models.chat(self.settings.model, self.model_key, home=self.settings.home)

    @cached_property
    def embedder(self) -> "Embedder":
        """The embedding model that the settings name."""
        from quorra.inference import open as models

        return models.embedder(self.settings.embedder, self.embedder_key, home=self.settings.home)

    @cached_property
    def texts(self) -> Texts:
        """What is on disk, by public name."""
        return Texts(self.ledger, self.settings)

    @cached_property
    def library(self) -> Library:
        """The notes as a whole."""
        return Library(self.texts)

    @cached_property
    def prompts(self) -> "Prompts":
        """The home's prompt files, with the shipped ones for those it lacks."""
        from quorra.agent.prompting.prompt import FOLDER, Prompts, standing

        return Prompts(self.settings.home / FOLDER, SHIPPED / FOLDER, standing(self.ledger.head, self.ledger.at))

    @cached_property
    def index(self) -> "Index":
        """The derived side."""
        from quorra.index.index import Index

        folder = self.private / "index"
        if not self.writable:
            kept, folder = folder, self.spare / "index"
            if kept.is_dir():
                shutil.copytree(kept, folder, ignore=shutil.ignore_patterns(PAST))
        return Index(folder, self.cache, self.texts, lambda: self.embedder)

    @cached_property
    def past(self) -> "Past":
        """The derived side of past commits."""
        from quorra.index.past import Past

        return Past(self.index.folder / PAST, self.cache, lambda: self.index, lambda: self.embedder)

    @cached_property
    def state(self) -> Database:
        """The private database, which all that is kept in it shares."""
        return database.open(self.private / database.STATE)

    @cached_property
    def keys(self) -> Keys:
        """The API keys."""
        return Keys(self.state)

    @cached_property
    def sessions(self) -> Sessions:
        """The conversations."""
        return Sessions(self.state)

    @cached_property
    def runs(self) -> Runs:
        """The turns and their traces."""
        return Runs(self.state)

    @cached_property
    def audit(self) -> Audit:
        """What was done at tier 1 and above."""
        return Audit(self.state, self.private / LOG)

    @cached_property
    def outbox(self) -> Outbox:
        """What people are told afterwards."""
        return Outbox(self.state)

    @cached_property
    def preferences(self) -> Preferences:
        """What each principal has chosen."""
        return Preferences(self.state)

    def window(self, principal: str, text: str | None) -> Window:
        """Gives a principal's window, narrowed to the domains in ``text`` (separated by commas).

        Raises UnknownPrincipal and UnknownDomain.
        """
        known = {window.HOUSEHOLD, *map(window.domain, self.texts.owned())}
        whole = window.of(principal, known)
        if text is None:
            return whole
        return whole.narrowed([part.strip() for part in text.split(",") if part.strip()], known)

    def search(
        self,
        question: str,
        *,
        window: Window,
        k: int = 10,
        mode: "Mode" = "hybrid",
        wait: float = 0.5,
        per_note: bool = True,
        at: str | None = None,
    ) -> "Found":
        """Finds passages, one a note unless ``per_note`` is off; where no domain is open, the reason says so.

        ``at`` names the revision to search, by meaning as far as vectors are known; raises UnknownRevision.
        """
        with self._then(at, window, None if mode == "words" else 0.0) as index:
            found = index.search(question, k=k, mode=mode, window=window, wait=wait, per_note=per_note)
        return found if window.domains != () else replace(found, reason="closed_window")

    def _then(
        self, revision: str | None, window: Window, seconds: float | None, say: Callable[[str], None] = lambda _: None
    ) -> "AbstractContextManager[Index]":
        """Opens the index of a revision, embedded for some seconds, or of the present where no revision is named."""
        if revision is None:
            return nullcontext(self.index)
        return self.past.open(past.at(self.texts, revision, window), seconds, say)

    def sync(
        self, *, rebuild: bool = False, seconds: float | None = None, say: Callable[[str], None] = lambda _: None
    ) -> "Report":
        """Brings words up to date, then embeds what is pending, for ``seconds`` at most."""
        self.index.catch_up(rebuild=rebuild)
        return self.index.embed(seconds=seconds, progress=say)

    def prepare(self, say: Callable[[str], None]) -> None:
        """Gets a home ready for a question: words at once, and a few seconds of embedding."""
        self.sync(seconds=FIRST_LOOK, say=say)

    def ask(
        self,
        question: str,
        *,
        window: Window,
        model: str | None = None,
        at: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        emit: "Callable[[Event], None]" = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
        witness: "Witness | None" = None,
    ) -> "Answer":
        """Answers from what the window shows; ``model`` overrides the settings for this one question.

        ``at`` names the revision to answer from, which is embedded for a few seconds first.
        """
        from quorra.agent.asking import ask

        chat = self.model if model is None else self._other(model)
        try:
            with self._then(at, window, FIRST_LOOK, say) as index:
                return ask.answer(
                    question,
                    search=lambda words: index.search(words, window=window, k=PASSAGES, per_note=False),
                    chat=chat,
                    embedder=self.embedder,
                    prompts=self.prompts,
                    max_tokens=self.settings.model.max_tokens,
                    emit=emit,
                    cancelled=cancelled,
                    witness=witness,
                )
        finally:
            if model is not None:
                chat.close()

    def _other(self, model: str) -> "Chat":
        from quorra.inference import open as models

        home = self.settings.home
        told = models.override(model, self.settings.model, (home, self.settings.private / "models"))
        key = self.model_key if self.settings.model.serves(told.url) else ""
        return models.chat(told, key, home=home)

    def graph(self) -> LinkGraph:
        """Gives the links of all notes, as far as they can be had from the index."""

        def known() -> Known:
            from quorra.index import links

            return links.known(self.settings.private / "index")

        return self.library.graph(known)

    @cached_property
    def changes(self) -> Changes:
        """The ways to change the home."""
        return Changes(self.library, self.graph, lambda: self.proposals)

    @cached_property
    def stores(self) -> "Stores":
        """What conversations are kept in."""
        from quorra.agent.conversation.kept import Stores

        return Stores(self.state, self.sessions, self.runs, self.audit, self.outbox)

    @cached_property
    def inspector(self) -> "Inspector":
        """What was really sent to the model, for a while, in memory alone."""
        from quorra.agent.inspector import Inspector

        return Inspector()

    @cached_property
    def talks(self) -> "Talks":
        """The conversations."""
        from quorra.access.confirmations import Confirmations
        from quorra.agent.calling.registry import Registry
        from quorra.agent.calling.tool import Rooms
        from quorra.agent.conversation.runner import Runner
        from quorra.agent.conversation.talks import Talks
        from quorra.agent.tools.families import EVERY

        confirmations = Confirmations(Inbox(self.state))
        runner = Runner(
            stores=self.stores,
            rooms=Rooms(self.library, self.changes, self.search, lambda: self.proposals, self.sessions),
            model=lambda: self.model,
            look=self.ask,
            window=self.window,
            prompts=self.prompts,
            registry=Registry(EVERY),
            confirmations=confirmations,
            inspector=self.inspector,
            max_tokens=self.settings.model.max_tokens,
        )
        return Talks(self.stores, confirmations, runner)

    @cached_property
    def proposals(self) -> Proposals:
        """What waits in the inbox; what a killed process left half done there is finished first."""
        found = Proposals(Inbox(self.state), self.texts, asked.kinds(self.library, self.graph))
        found.recover(self.ledger.clock(), self.audit)
        return found

    @cached_property
    def review(self) -> Review:
        """The answers to what waits in the inbox."""
        return Review(self.proposals, self.audit, self.ledger.clock)

    def reachable(self) -> dict[str, bool]:
        """Really asks model, index and git whether they answer."""
        return {"model": self.model.reachable(), "index": self.index.readable(), "git": self.ledger.readable()}


def _writable(settings: Settings) -> bool:
    return os.access(settings.private if settings.private.is_dir() else settings.home, os.W_OK)
