"""A service that speaks the bodies of Quorra's own over real HTTP, and answers by rule."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import uvicorn

KEY = "qs_service"
_Receive = Callable[[], Awaitable[dict[str, Any]]]
_Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass
class Scripted:
    """What was asked of the service; a message ``!ask …`` makes it ask back, ``!long N`` say N paragraphs.

    The next ``hung`` chats are never answered, the next ``busy`` with 503, and whatever is asked for people ``away``.
    """

    people: frozenset[str]
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    replies: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    confirmations: dict[str, dict[str, Any]] = field(default_factory=dict)
    outbox: list[dict[str, Any]] = field(default_factory=list)
    busy: int = 0
    hung: int = 0
    delay: float = 0.0
    away: frozenset[str] = frozenset()

    def chat(self, person: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.busy:
            self.busy -= 1
            return 503, {"error": {"code": "busy", "message": "The model is busy.", "next": "Ask again."}}
        ref = body.get("message_id", "")
        if (person, ref) in self.replies:
            return 200, self.replies[person, ref]
        self.asked.append((person, body))
        session = body.get("session_id")
        if session is not None and self.sessions.get(session, {}).get("person") != person:
            return 404, {"error": {"code": "no_session", "message": "There is no such session.", "next": ""}}
        if session is None:
            session = f"s{len(self.sessions)}"
            self.sessions[session] = {
                "id": session, "person": person, "scope": body.get("scope"), "mode": None, "purpose": None,
            }  # fmt: skip
        status, reply = self._answer(person, session, body)
        if status == 200:
            self.replies[person, ref] = reply
        return status, reply

    def _answer(self, person: str, session: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        reply: dict[str, Any] = {
            "outcome": "answered", "answer": f"heard: {body['message']}", "citations": [], "model": "scripted",
            "timings": {}, "session_id": session, "run_id": f"r{len(self.replies)}", "pending_confirmation": None,
            "notices": [], "interrupted": False,
        }  # fmt: skip
        if body.get("confirmation_id"):
            return self._confirmed(person, body, reply)
        if "!ask " in body["message"]:
            ident = f"c{len(self.confirmations)}"
            title = body["message"].partition("!ask ")[2]
            pending = {
                "id": ident, "tool": "remove_note", "title": title, "description": "garden/old.md would be removed.",
                "arguments": {"path": "garden/old.md"}, "digest": f"digest-{ident}", "session_id": session,
                "expires": "2999-01-01T00:00:00+00:00",
            }  # fmt: skip
            self.confirmations[ident] = {**pending, "person": person, "state": "draft_ready"}
            return 200, {**reply, "outcome": "asked", "answer": "", "pending_confirmation": pending}
        if body["message"].startswith("!long "):
            paragraphs = range(int(body["message"].split()[1]))
            return 200, {**reply, "answer": "\n\n".join(f"{n} " + "word " * 200 for n in paragraphs)}
        return 200, reply

    def _confirmed(self, person: str, body: dict[str, Any], reply: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        waiting = self.confirmations.get(body["confirmation_id"])
        if waiting is None or waiting["person"] != person:
            return 404, {"error": {"code": "no_confirmation", "message": "Nothing of that id waits.", "next": ""}}
        if waiting["state"] != "draft_ready":
            return 409, {"error": {"code": "decided", "message": "This is applied already.", "next": ""}}
        if body["message"] == "no":
            waiting["state"] = "declined"
            return 200, {**reply, "answer": f"left: {waiting['title']}"}
        if waiting["digest"] != body.get("digest"):
            return 409, {"error": {"code": "stale", "message": "What waits is not what you saw.", "next": ""}}
        waiting["state"] = "applied"
        self.done.append(waiting["id"])
        return 200, {**reply, "answer": f"done: {waiting['title']}"}

    def other(self, person: str, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        parts = path.strip("/").split("/")
        match method, *parts:
            case "GET", "outbox":
                waiting = [one for one in self.outbox if one["principal"] == person and one["state"] == "queued"]
                return 200, {"notices": waiting}
            case "PUT", "outbox", ident:
                for one in self.outbox:
                    if one["id"] == ident:
                        one["state"] = body["state"]
                return 200, {}
            case "GET", "confirmations":
                own = [one for one in self.confirmations.values() if one["person"] == person]
                return 200, {"confirmations": [one for one in own if one["state"] == "draft_ready"]}
            case verb, "sessions", ident, *rest if self.sessions.get(ident, {}).get("person") == person:
                session = self.sessions[ident]
                if rest and verb == "PUT":
                    session[rest[0]] = body[rest[0]]
                if rest and verb == "DELETE":
                    session[rest[0]] = None
                return 200, {rest[0]: session[rest[0]]} if rest else session
        return 404, {"error": {"code": "no_session", "message": "There is no such thing."}}

    async def __call__(self, scope: dict[str, Any], receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            return
        raw, more = b"", True
        while more:
            event = await receive()
            raw, more = raw + event.get("body", b""), event.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        person, body = headers.get("x-quorra-user-email", ""), json.loads(raw or b"{}")
        self.calls.append((scope["method"], scope["path"], body))
        if headers.get("authorization") != f"Bearer {KEY}":
            status, reply = 401, {"error": {"code": "signed_out", "message": "Sign in."}}
        elif person not in self.people:
            status, reply = 403, {"error": {"code": "unknown_principal", "message": "Nobody."}}
        elif person in self.away:
            status, reply = 503, {"error": {"code": "state", "message": "The database is in use.", "next": ""}}
        elif scope["path"] == "/chat":
            if self.hung:
                self.hung -= 1
                await asyncio.Event().wait()
            await asyncio.sleep(self.delay)
            status, reply = self.chat(person, body)
        else:
            status, reply = self.other(person, scope["method"], scope["path"], body)
        sent = [(b"content-type", b"application/json"), *([(b"retry-after", b"1")] if status == 503 else [])]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        await send({"type": "http.response.body", "body": json.dumps(reply).encode()})


class Served:
    """An ASGI application on a free port of loopback, in this loop."""

    def __init__(self, app: Any) -> None:
        self._server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined,method-assign]
        self.url = ""

    async def __aenter__(self) -> "Served":
        self._task = asyncio.create_task(self._server.serve())
        while not self._server.started:
            await asyncio.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        await self._task
