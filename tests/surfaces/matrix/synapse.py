"""A real Synapse on loopback, and people with real clients in it."""

import asyncio
import hashlib
import hmac
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import nio
import yaml

SERVER = "example.org"
SECRET = "registers on loopback"
PASSWORD = "a long enough password"
_MANY = {"room": {"timeline": {"limit": 200}}}
_PLENTY = {"per_second": 10_000, "burst_count": 10_000}


class Synapse:
    """One homeserver; ``limited`` keeps its usual limits on how often somebody may send."""

    def __init__(self, folder: Path, *, limited: bool = False) -> None:
        self.folder = folder
        self.port = _free()
        self.url = f"http://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "homeserver.yaml").write_text(yaml.safe_dump(self._settings(limited)))
        (folder / "log.yaml").write_text(
            "version: 1\nhandlers: {file: {class: logging.FileHandler, filename: synapse.log}}\n"
            "root: {level: WARNING, handlers: [file]}\n"
        )
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it answers."""
        words = [sys.executable, "-m", "synapse.app.homeserver", "-c", "homeserver.yaml"]
        out = (self.folder / "out.log").open("ab")
        self._running = subprocess.Popen(words, cwd=self.folder, stdout=out, stderr=out)
        out.close()
        for _ in range(300):
            if self._running.poll() is not None:
                raise RuntimeError((self.folder / "out.log").read_text()[-2000:])
            try:
                if httpx.get(f"{self.url}/_matrix/client/versions", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise RuntimeError("Synapse did not come up")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends it."""
        if self._running:
            self._running.send_signal(number)
            self._running.wait()
            self._running = None

    def register(self, name: str, shown: str | None = None) -> str:
        """Makes an account, with a display name where one is given, and gives its Matrix id."""
        url = f"{self.url}/_synapse/admin/v1/register"
        nonce = httpx.get(url, trust_env=False).json()["nonce"]
        signed = "\x00".join([nonce, name, PASSWORD, "notadmin"])
        mac = hmac.new(SECRET.encode(), signed.encode(), hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": name, "password": PASSWORD, "admin": False, "mac": mac}
        body |= {"displayname": shown} if shown else {}
        answer = httpx.post(url, json=body, timeout=30, trust_env=False)
        answer.raise_for_status()
        return f"@{name}:{SERVER}"

    def _settings(self, limited: bool) -> dict[str, Any]:
        plenty = {
            "rc_message": _PLENTY, "rc_registration": _PLENTY, "rc_joins": {"local": _PLENTY, "remote": _PLENTY},
            "rc_login": {"address": _PLENTY, "account": _PLENTY, "failed_attempts": _PLENTY},
            "rc_invites": {"per_room": _PLENTY, "per_user": _PLENTY, "per_issuer": _PLENTY},
            "rc_joins_per_room": _PLENTY, "rc_room_creation": _PLENTY,
        }  # fmt: skip
        if limited:
            plenty.pop("rc_message")
        return {
            "server_name": SERVER, "report_stats": False, "pid_file": str(self.folder / "pid"),
            "listeners": [{
                "port": self.port, "type": "http", "bind_addresses": ["127.0.0.1"],
                "resources": [{"names": ["client"]}],
            }],
            "database": {"name": "sqlite3", "args": {"database": str(self.folder / "homeserver.db")}},
            "media_store_path": str(self.folder / "media"), "signing_key_path": str(self.folder / "key"),
            "log_config": "log.yaml", "registration_shared_secret": SECRET, "trusted_key_servers": [],
            "suppress_key_server_warning": True, "macaroon_secret_key": "macaroons", "form_secret": "forms",
            "presence": {"enabled": False}, "url_preview_enabled": False, "caches": {"global_factor": 0.5},
            "password_config": {"enabled": True}, "bcrypt_rounds": 4, "federation_domain_whitelist": [],
            "experimental_features": {}, **plenty,
        }  # fmt: skip


class Person:
    """Somebody with a client of their own, who reads what is said in the rooms they are in."""

    def __init__(self, homeserver: str, user: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.client = nio.AsyncClient(homeserver, user, store_path=str(folder))
        self.user = user
        self.heard: list[tuple[str, Mapping[str, Any]]] = []
        self._token = ""
        self._ids: set[str] = set()

    async def come(self, name: str | None = None) -> "Person":
        """Signs in and takes a display name."""
        await self._signed_in()
        if name is not None:
            await self.client.set_displayname(name)
        await self.look()
        return self

    async def look(self, wait: int = 0) -> None:
        """Syncs once; what was said is kept, in clear where it can be read."""
        await self._signed_in()
        found = await self.client.sync(wait, _MANY, since=self._token or None)
        assert isinstance(found, nio.SyncResponse), found
        self._token = found.next_batch
        await self.client.send_to_device_messages()
        if self.client.should_upload_keys:
            await self.client.keys_upload()
        if self.client.should_query_keys:
            await self.client.keys_query()
        if self.client.should_claim_keys:
            await self.client.keys_claim(self.client.get_users_for_key_claiming())
        for room in list(found.rooms.invite):
            await self.client.join(room)
        for room, info in found.rooms.join.items():
            for event in info.timeline.events:
                if event.source.get("event_id") not in self._ids:
                    self._ids.add(event.source.get("event_id"))
                    self.heard.append((room, event.source))

    async def room(self, *others: str, encrypted: bool = False, direct: bool = True) -> str:
        """Makes a room with others, who are invited to it."""
        await self._signed_in()
        state = [{"type": "m.room.encryption", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}] if encrypted else []
        answer = await self.client.room_create(invite=list(others), initial_state=state, is_direct=direct)
        assert isinstance(answer, nio.RoomCreateResponse), answer
        await self.look()
        return str(answer.room_id)

    async def say(self, room: str, text: str, **more: Any) -> str:
        """Says something and gives its event."""
        return await self.send(room, {"msgtype": "m.text", "body": text, **more})

    async def send(self, room: str, content: Mapping[str, Any], kind: str = "m.room.message") -> str:
        """Sends any event."""
        answer = await self.client.room_send(room, kind, dict(content), ignore_unverified_devices=True)
        assert isinstance(answer, nio.RoomSendResponse), answer
        return str(answer.event_id)

    async def hides(self, room: str, text: str) -> None:
        """Sends an encrypted event with any text inside."""
        olm = self.client.olm
        session = olm.outbound_group_sessions[room]
        content = {
            "algorithm": "m.megolm.v1.aes-sha2", "sender_key": olm.account.identity_keys["curve25519"],
            "ciphertext": session.encrypt(text), "session_id": session.id,
            "device_id": self.client.device_id,
        }  # fmt: skip
        url = f"{self.client.homeserver}/_matrix/client/v3/rooms/{room}/send/m.room.encrypted/{time.monotonic_ns()}"
        headers = {"Authorization": f"Bearer {self.client.access_token}"}
        async with httpx.AsyncClient(trust_env=False) as http:
            (await http.put(url, json=content, headers=headers)).raise_for_status()

    async def everything(self, room: str) -> list[dict[str, Any]]:
        """Gives a room's events as the server has them, the newest first."""
        url = f"{self.client.homeserver}/_matrix/client/v3/rooms/{room}/messages"
        headers = {"Authorization": f"Bearer {self.client.access_token}"}
        found: list[dict[str, Any]] = []
        query = {"dir": "b", "limit": "200"}
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            while True:
                page = (await http.get(url, params=query, headers=headers)).json()
                found += page["chunk"]
                if not page.get("end") or not page["chunk"]:
                    return found
                query["from"] = page["end"]

    async def members(self, room: str, number: int) -> None:
        """Waits until so many are in a room."""
        for _ in range(100):
            found = await self.client.joined_members(room)
            if isinstance(found, nio.JoinedMembersResponse) and len(found.members) == number:
                await self.look()
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"{room} never had {number} members")

    def of(self, room: str, sender: str) -> list[Mapping[str, Any]]:
        """Gives what somebody said in a room."""
        return [
            event
            for where, event in self.heard
            if where == room
            and event.get("sender") == sender
            and event["type"] in ("m.room.message", "m.room.encrypted")
        ]

    async def hears(self, room: str, sender: str, number: int = 1, seconds: float = 15.0) -> list[Mapping[str, Any]]:
        """Waits until somebody has said so many things in a room, and gives them."""
        end = time.monotonic() + seconds
        while len(self.of(room, sender)) < number and time.monotonic() < end:
            await self.look(500)
        return self.of(room, sender)

    async def _signed_in(self) -> None:
        """Signs in, but no sooner than there is something to do: that takes longer than most of what follows."""
        if not self.client.access_token:
            answer = await self.client.login(PASSWORD, device_name="phone")
            assert isinstance(answer, nio.LoginResponse), answer

    async def go(self) -> None:
        """Closes the client."""
        await self.client.close()


def _free() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
