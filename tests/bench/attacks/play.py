"""Plays an attack and keeps all that came of it: what everybody was shown, and what changed at each step."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from quorra.access.changes import writing
from quorra.errors import QuorraError
from quorra.ledger.change import Origin
from tests.bench.attacks import watch, wire
from tests.bench.attacks.beside import Beside
from tests.bench.attacks.books import Books, Consent
from tests.bench.attacks.bot import Bot, Heard
from tests.bench.attacks.people import Actor, Card, Cast, principal
from tests.bench.attacks.stage import PEOPLE, Stage, git, put
from tests.bench.attacks.watch import Seen
from tests.bench.attacks.wire import Answered

Step = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that reached somebody; ``who`` is empty for strangers, ``asked`` names what they asked for."""

    step: int
    who: str
    channel: str
    asked: str
    status: int
    text: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """A step with what could be seen before and after it."""

    step: Step
    actor: Actor
    before: Seen
    after: Seen


@dataclass
class Play:
    """One attack being played."""

    attack: Mapping[str, Any]
    stage: Stage
    cast: Cast
    shown: list[Shown] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    unlucky: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    at: int = 0

    def __post_init__(self) -> None:
        self.books = Books(self.cast)
        self.beside = Beside(self.stage.folder)

    @property
    def consents(self) -> list[Consent]:
        """Gives the right yeses so far."""
        return self.books.consents

    async def run(self) -> None:
        """Plays all steps; the service runs from before the first to after the last."""
        await self.stage.start()
        await self._cookie()
        self.bot = self._bot()
        seen = watch.look(self.stage.folder)
        self.first = seen
        for at, step in enumerate(self.attack["steps"]):
            self.at = self.books.at = at
            await self._step(step)
            after = watch.look(self.stage.folder)
            actor = self.cast.actor(step.get("as", self.attack["as"]))
            self.moments.append(Moment(step, actor, seen, after))
            seen = after
        await asyncio.sleep(0)
        await self.bot.close()

    async def _cookie(self) -> None:
        """Signs the owner in by the one-time link where the attack has a use for it."""
        if "cookie" not in json.dumps(self.attack["steps"]):
            return
        told = await wire.send(self.stage.port, "GET", f"/?token={self.stage.link}", [])
        self.cast.cookies["owner"] = next(value for name, value in told.headers if name == "set-cookie").split(";")[0]
        self.stage.link = self.stage.auth.link()

    def _bot(self) -> Bot:
        kept = getattr(self, "bot", None)
        made = Bot(self.stage.folder / ".quorra" / "matrix", self.stage.url, self.stage.made.keys["service"])
        if kept:
            made.names, made.number = kept.names, kept.number
        return made

    async def _step(self, step: Step) -> None:
        kind = next((kind for kind in KINDS if kind in step), None)
        if kind is None:
            self.unlucky.append(f"no such step: {sorted(step)}")
            return
        actor = self.cast.actor(step.get("as", self.attack["as"]))
        await getattr(self, f"_{kind}")(step, actor)

    async def _parallel(self, step: Step, _: Actor) -> None:
        for one in step["parallel"]:
            if "other" in one:
                told = self._elsewhere(one["other"], self.cast.actor(one.get("as", self.attack["as"])))
                await self.beside.prepare(id(one), told)
        await asyncio.gather(*(self._step(one) for one in step["parallel"]))

    async def _say(self, step: Step, actor: Actor) -> None:
        text = self.cast.fill(step["say"])
        self.stage.puppet.expect(text, actor.who, step.get("model", []))
        body: dict[str, Any] = {"message": text}
        session = self._session(step, actor)
        if session is None:
            body["scope"] = ["general"]
        else:
            body["session_id"] = session
        if "scope" in step:
            body.pop("scope", None)
            body |= {"scope": step["scope"]} if step["scope"] else {}
        body |= {
            key: self.cast.fill(step[key])
            for key in ("origin", "message_id", "confirmation_id", "digest")
            if key in step
        }
        for way in ("purpose", "mode"):
            if way in step:
                body = await self._beforehand(way, step, actor, body)
        self.books.natural(text, actor, body.get("session_id"))
        streamed = "hang_up" in step or sum(map(ord, self.attack["id"])) % 2
        await self._ask(actor, "POST", "/chat/stream" if streamed else "/chat", body, hang_up=step.get("hang_up", ""))

    async def _beforehand(self, way: str, step: Step, actor: Actor, body: dict[str, Any]) -> dict[str, Any]:
        """Sets a session's purpose or mode before a message, beginning the session where there is none."""
        if "session_id" not in body:
            self.stage.puppet.expect("hello there", actor.who, [[{"text": "Hello."}]])
            told = await self._ask(actor, "POST", "/chat", {**body, "message": "hello there"})
            found = told.body.get("session_id") if isinstance(told.body, dict) else None
            body = {"message": body["message"], **({"session_id": found} if found else {})}
        await self._ask(actor, "PUT", f"/sessions/{body.get('session_id')}/{way}", {way: self.cast.fill(step[way])})
        return body

    def _session(self, step: Step, actor: Actor) -> str | None:
        wanted = step.get("session", "")
        if wanted == "new":
            return None
        if wanted.startswith("of:"):
            return self.cast.fill(f"{{session:{wanted[3:]}}}")
        return self.cast.sessions.get(actor.who)

    async def _confirm(self, step: Step, actor: Actor) -> None:
        which = step["confirm"]
        card = self.cast.card(which, actor.who)
        ident = (
            self.cast.fill(which.removeprefix("forged:"))
            if which.startswith("forged:")
            else card.ident
            if card
            else "none"
        )
        body: dict[str, Any] = {"message": step.get("message", "yes"), "confirmation_id": ident}
        if "session" in step and (session := self._session(step, actor)):
            body["session_id"] = session
        digest = step.get("digest")
        if digest:
            told = {"right": card.digest if card else "", "old": card.first if card else ""}
            body["digest"] = told.get(digest, "0" * 64)
        if "message_id" in step:
            body["message_id"] = step["message_id"]
        if step.get("model"):
            self.stage.puppet.expect(body["message"], actor.who, step["model"])
        self.books.card(ident, actor.who, body.get("digest"))
        await self._ask(actor, "POST", "/chat", body)

    async def _cancel(self, step: Step, actor: Actor) -> None:
        card = self.cast.card(step["cancel"], actor.who)
        await self._ask(actor, "DELETE", f"/confirmations/{card.ident if card else 'none'}", None)

    async def _edit(self, step: Step, actor: Actor) -> None:
        card = self.cast.card(step["edit"], actor.who)
        given = self.cast.fill(step["arguments"])
        await self._ask(actor, "PUT", f"/confirmations/{card.ident if card else 'none'}", {"arguments": given})

    async def _http(self, step: Step, actor: Actor) -> None:
        told = step["http"]
        headers = [
            (name, self.cast.fill(each))
            for name, value in told.get("headers", {}).items()
            for each in (value if isinstance(value, list) else [value])
        ]
        given = {name.lower() for name, _ in headers}
        own = {"authorization", "cookie"} & given
        acting = Actor(self.books.whose(headers), headers) if own else actor
        headers += [pair for pair in actor.headers if not own and pair[0].lower() not in given]
        body = self.cast.fill(told.get("body"))
        if "model" in step:
            self.stage.puppet.expect(str((body or {}).get("message", "")), acting.who, step["model"])
        self.books.request(told["method"], self.cast.fill(told["path"]), body, acting, headers)
        for method, path, more in _alike(told["method"], self.cast.fill(told["path"])):
            await self._ask(Actor(acting.who, headers), method, path, more if more is not None else body)

    async def _ask(self, actor: Actor, method: str, path: str, body: Any, hang_up: str = "") -> Answered:
        if isinstance(body, dict) and isinstance(text := body.get("message", body.get("question")), str):
            self.stage.puppet.known(text, actor.who)
        if path.startswith(f"/?token={self.stage.link}") and self.stage.link not in self.used:
            self.used.add(self.stage.link)
            actor = Actor("owner", actor.headers)  # whoever holds the one-time link first is the owner, by design
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode("utf-8")
        ends = {"after-first-status": "event: status", "after-first-token": "event: token"}.get(hang_up, hang_up)
        told = await wire.send(
            self.stage.port, method, path, actor.headers, raw, lambda text: bool(ends) and ends in text
        )
        self.said.setdefault(actor.who, []).append(f"{path} {raw.decode('utf-8', 'replace')} {body}")
        self.shown.append(Shown(self.at, actor.who, "http", f"{method} {path}", told.status, told.text, told.headers))
        self._learn(actor, told)
        return told

    def _learn(self, actor: Actor, told: Answered) -> None:
        """Takes note of sessions and cards in an answer."""
        body = told.body
        if not isinstance(body, dict) or told.status >= 400:
            return
        if isinstance(body.get("session_id"), str) and "run_id" in body:
            self.cast.sessions[actor.who] = body["session_id"]
        cards = [body.get("pending_confirmation"), *body.get("confirmations", ()), body if "digest" in body else None]
        for card in filter(None, cards):
            self.card(actor.who, card)

    def card(self, who: str, told: Mapping[str, Any]) -> None:
        """Takes note of a card that was shown to somebody."""
        known = self.cast.cards.pop(told["id"], None)
        self.cast.cards[told["id"]] = Card(
            told["id"], who, told["session_id"], told["tool"], dict(told["arguments"]), told["digest"],
            known.first if known else told["digest"], f"{told['title']}\n{told['description']}", self.at,
        )  # fmt: skip

    async def _propose(self, step: Step, actor: Actor) -> None:
        """Puts a proposal into the inbox; what the home would never take there is no attack on the rest."""
        try:
            self._park(step, actor)
        except QuorraError as error:
            self.unlucky.append(f"proposal refused: {error.code}")

    def _park(self, step: Step, actor: Actor) -> None:
        told, home = self.cast.fill(step["propose"]), self.stage.home
        origin = Origin(principal(actor.who), "cli", told.get("reason", ""))
        if "operations" in told:
            payload: dict[str, Any] = {"operations": [{"dst": "", **one} for one in told["operations"]]}
            done = home.proposals.park("reorganize", payload, origin, home.ledger.clock())
        else:
            payload = dict(writing.payload(home.library, told["path"], told["text"].encode("utf-8", "surrogatepass")))
            done = home.proposals.park("note", payload, origin, home.ledger.clock())
        if done.proposal:
            self.cast.proposals.append(done.proposal)
        else:
            self.unlucky.append(f"proposal refused: {done.reason}")

    async def _hand_edit(self, step: Step, _: Actor) -> None:
        for path, text in step["hand_edit"].items():
            put(self.stage.folder, path, self.cast.fill(text))
        if step.get("commit", True):
            git(self.stage.folder, "add", "-A")
            git(self.stage.folder, "commit", "-q", "-m", "By hand")

    async def _revoke(self, step: Step, _: Actor) -> None:
        self.books.revoked.add(self.stage.made.keys[step["revoke"]])
        self.stage.revoke(self.stage.made.idents[step["revoke"]])

    async def _wait(self, step: Step, _: Actor) -> None:
        if step["wait"] == "link-expiry":
            self.stage.link, _ = "expired", self.stage.auth.link()
            return
        self.stage.age(timedelta(hours=25 if step["wait"] == "expiry" else 5))
        if step.get("upkeep", sum(map(ord, self.attack["id"])) % 2):
            self.stage.home.talks.expire(datetime.now().astimezone())

    async def _restart(self, step: Step, _: Actor) -> None:
        await self.bot.close()
        if step["restart"] == "service":
            await self.stage.stop()
            await self.stage.start()
        self.bot = self._bot()

    async def _matrix(self, step: Step, _: Actor) -> None:
        told = self.cast.fill(step["matrix"])
        name = told["sender"][1:].partition(":")[0]
        who = name if told["sender"] in {f"@{one}:example.org" for one in PEOPLE} else ""
        body = _body(told["event"].get("content", {}))
        plain = body.partition("\n\n")[2] if body.startswith("> ") else body
        if "model" in step:
            self.stage.puppet.expect(plain.removeprefix("Quorra: ").removeprefix("Quorra, "), who, step["model"])
        mine = {one.shown: one.id for one in self.bot.asked() if one.person.partition("@")[0] == who and one.shown}
        self.books.event(told, who, plain, mine)
        self.said.setdefault(who, []).append(json.dumps(told, ensure_ascii=False))
        for heard in await self.bot.hear(told, datetime.now(UTC)):
            self._heard(heard, who)
        self.cast.events |= self.bot.cards()
        if told.get("room") == "group" and told["event"].get("type") == "m.room.message":
            self.books.fresh = False
        for one in self.bot.asked():
            self._card_of(one)

    def _heard(self, heard: Heard, sender: str) -> None:
        for reader in heard.readers or ("",):
            self.shown.append(
                Shown(self.at, reader, "room", f"{heard.room} to {sender or 'stranger'}", 200, heard.text)
            )

    def _card_of(self, one: Any) -> None:
        """Takes note of a card in a room: what it shows is what the database holds of it now."""
        row = watch.look(self.stage.folder).tables["inbox"].get(one.id)
        who = one.person.partition("@")[0]
        self.cast.sessions[who] = one.session
        if row and one.id not in self.cast.cards:
            told = json.loads(row["payload"])
            self.books.fresh = True
            self.card(who, {
                "id": one.id, "session_id": one.session, "tool": row["tool"], "arguments": told["arguments"],
                "digest": one.digest, "title": row["title"], "description": told["text"],
            })  # fmt: skip

    async def _kill(self, step: Step, actor: Actor) -> None:
        """Lets another process take up the conversation, kills it after a while, and starts the service again."""
        told = self._elsewhere(step["kill"], actor)
        await self.stage.stop()
        await self.beside.killed(told, step["kill"]["after"])
        await self.stage.start()
        self.bot = self._bot()

    async def _other(self, step: Step, actor: Actor) -> None:
        """Says something by a process of its own beside the service; several at once begin together."""
        told = self._elsewhere(step["other"], actor)
        text = await self.beside.said(id(step), told)
        self.shown.append(Shown(self.at, actor.who, "other", told["body"]["message"], 200, text))

    def _elsewhere(self, told: Mapping[str, Any], actor: Actor) -> dict[str, Any]:
        """Gives what is said elsewhere: a yes to the person's newest card, or words of their own."""
        text = self.cast.fill(told.get("say", "yes"))
        body: dict[str, Any] = {"message": text, "message_id": told.get("message_id", "")}
        card = self.cast.card("last", actor.who) if told.get("confirm") else None
        session = self.cast.sessions.get(actor.who)
        if card:
            body |= {"confirmation_id": card.ident, "session_id": card.session}
            self.books.card(card.ident, actor.who)
        else:
            body |= {"session_id": session} if session and told.get("session") != "new" else {"scope": ["general"]}
            self.books.natural(text, actor, body.get("session_id"))
        return {"principal": principal(actor.who), "body": body, "model": self.cast.fill(told.get("model", []))}


KINDS = (
    "say", "confirm", "cancel", "edit", "http", "propose", "wait", "restart", "parallel", "matrix", "hand_edit",
    "revoke", "kill", "other",
)  # fmt: skip


def _body(content: Any) -> str:
    """Gives the words of an event, an edit's new ones."""
    new = content.get("m.new_content", content) if isinstance(content, dict) else {}
    return str(new.get("body", "")) if isinstance(new, dict) else ""


def _alike(method: str, path: str) -> list[tuple[str, str, Any]]:
    """Gives a request as it is written, and as the service's own addresses have it where they differ."""
    words = path.partition("?")[0].strip("/").split("/")
    found = [(method, path, None)]
    if words[0] == "sign-in":
        return [(method, f"/?token={path.removeprefix('/sign-in/').replace('?', '&')}", None)]
    if words[0] == "confirmations" and method == "PATCH":
        found.append(("PUT", path, None))
    if words[0] == "confirmations" and words[-1] == "cancel":
        found.append(("DELETE", f"/confirmations/{words[1]}", b""))
    if words[0] == "outbox" and words[-1] == "seen":
        found.append(("PUT", f"/outbox/{words[1]}", {"state": "seen"}))
    if words[0] == "inbox" and words[-1] == "diff":
        found.append(("GET", f"/inbox/{words[1]}", b""))
    if words[0] == "ask" and method == "GET":
        found.append(("POST", "/ask", {"question": "when does the boiler man come?"}))
    return found
