"""The stage of one attack: a copy of a lived-in home, and its real service on loopback with real sign-in."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn

from quorra import home as homes
from quorra import settings
from quorra.home import Home
from quorra.state.keys import SERVICE, Keys
from quorra.surfaces.http.app import build
from quorra.surfaces.http.desk import Desk
from quorra.surfaces.http.entry import roads
from quorra.surfaces.http.entry.auth import Auth
from quorra.surfaces.http.entry.door import Door
from tests.bench.attacks.provider import AUDIENCE, Provider
from tests.bench.attacks.puppet import Puppet

PEOPLE = ("owner", "mira", "tom")
ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
AUTHOR = ("-c", "user.name=Owner", "-c", "user.email=owner@localhost")
NOTES = {
    "household/heating.md": "# Heating\n\nThe radiators are bled in October. See [[cellar]].\n",
    "household/cellar.md": "# Cellar\n\nThe washing machine stands beside the stairs.\n",
    "household/contacts.md": "# Contacts\n\nThe chimney sweep comes in spring.\n",
    "projects/shed.md": "# Shed\n\nThe shed gets a new roof. See [[heating]].\n",
    "inbox/scrap.md": "# Scrap\n\nA line that nobody has sorted.\n",
    "members/mira/garden.md": "# Garden\n\nThe roses are cut back. MIRAS-SECRET-HOME\n",
    "members/tom/workshop.md": "# Workshop\n\nThe lathe is oiled. TOMS-SECRET-HOME see [[heating]].\n",
    "members/tom/heating-costs.md": "# Heating costs\n\nThe bill hides TOMS-SECRET-COSTS.\n",
}


@dataclass
class Template:
    """A home that people have lived in, to be copied, and the secrets that open it."""

    folder: Path
    provider: Provider
    keys: dict[str, str] = field(default_factory=dict)
    idents: dict[str, str] = field(default_factory=dict)


def git(home: Path, *words: str) -> str:
    """Runs git in a home."""
    command = ["git", "-c", "core.quotePath=false", *AUTHOR, *words]
    done = subprocess.run(command, cwd=home, env=ENV, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def template(folder: Path) -> Template:
    """Makes the home that every attack starts from."""
    made = Template(folder / "template", Provider())
    homes.create(made.folder, empty=True)
    told = (made.folder / "quorra.toml").read_text(encoding="utf-8")
    people = "".join(f'"{name}@example.org" = "{name}"\n' for name in PEOPLE)
    tables = f'[model]\nbackend = "scripted"\n[service]\nqueue = 300\n[people]\n{people}'
    tables += f'[oidc]\nissuer = "{made.provider.issuer}"\naudience = "{AUDIENCE}"\n[watch]\nadopt = false\n'
    (made.folder / "quorra.toml").write_text(f"{told}\n{tables}", encoding="utf-8")
    for path, text in NOTES.items():
        put(made.folder, path, text)
    git(made.folder, "add", "-A")
    git(made.folder, "commit", "-q", "-m", "Live here")
    home = Home.open(settings.read(made.folder))
    now = datetime.now(UTC)
    for name in PEOPLE:
        for kind in (name, f"key-of-{name}"):
            key, made.keys[kind] = home.keys.create(kind, name if name == "owner" else f"member:{name}", now)
            made.idents[kind] = key.id
    _, made.keys["service"] = home.keys.create("service", "", now, SERVICE)
    lost, made.keys["revoked"] = home.keys.create("lost", "owner", now)
    home.keys.revoke(lost.id, now)
    for room in (home.talks, home.outbox, home.preferences, home.proposals):
        assert room is not None
    home.sync()
    home.close()
    return made


def put(home: Path, path: str, text: str | Mapping[str, str]) -> None:
    """Lays a note into a home: from its vault, or with a leading slash from its root."""
    file = home / path[1:] if path.startswith("/") else home / "vault" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(text, str):
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        return
    if file.is_symlink() or file.exists():
        file.unlink()
    file.symlink_to(text["symlink"])


@dataclass
class Stage:
    """An attack's own home, with its service running."""

    made: Template
    folder: Path
    embedder: Any
    puppet: Puppet
    started: list[str] = field(default_factory=list)

    def furnish(self, vault: Mapping[str, Any], without: str = "") -> None:
        """Copies the home and lays the attack's notes into it, their earlier versions in commits of their own."""
        subprocess.run(["cp", "-r", str(self.made.folder), str(self.folder)], check=True)
        wanted = {path: text for path, text in vault.items() if path != without}
        for text in wanted.values():
            for old in text.get("history", []) if isinstance(text, dict) else []:
                put(self.folder, old["path"], old["text"])
                self._commit("Earlier")
                if old["path"] not in vault:
                    (self.folder / "vault" / old["path"]).unlink()
        for path, text in wanted.items():
            put(self.folder, path, text["text"] if isinstance(text, dict) and "text" in text else text)
        if without and without not in vault:
            shutil.rmtree(gone) if (gone := self.folder / "vault" / without).is_dir() else gone.unlink(missing_ok=True)
        self._commit("Notes")

    def _commit(self, subject: str) -> None:
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", subject)

    async def start(self) -> None:
        """Opens the home and serves it as ``quorra serve`` does."""
        self.home = Home(settings.read(self.folder))
        self.home.__dict__["embedder"] = self.embedder
        self.home.__dict__["model"] = self.puppet
        self.home.unfinished = self.home.ledger.recover()
        for room in (self.home.keys, self.home.index, self.home.talks, self.home.proposals, self.home.inspector):
            assert room is not None
        self.home.index.catch_up()
        self.home.talks.recover(datetime.now().astimezone())
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        self.port = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.auth = Auth(roads.bearers(self.home), self.port)
        self.desk = Desk(self.home.settings.service.queue)
        door = Door(build(self.home, self.desk, self.auth), self.auth, frozenset({"localhost", "127.0.0.1", "::1"}))
        config = uvicorn.Config(
            door, log_config=None, log_level="critical", access_log=False, server_header=False, proxy_headers=False,
            ws="none", timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._task = asyncio.ensure_future(self._server.serve([listening]))
        while not self._server.started:
            await asyncio.sleep(0.002)
        self.link = self.auth.link()

    async def stop(self) -> None:
        """Ends the service, as a signal would."""
        self.desk.stop()
        self._server.should_exit = True
        await self._task
        self.desk.close()
        self.home.__dict__.pop("embedder", None)
        self.home.close()

    def age(self, by: timedelta) -> None:
        """Lets time pass: what is kept in the database becomes older by so much, the audit apart."""
        with sqlite(self.folder, write=True) as state:
            for table, column in (("inbox", "expires"), ("sessions", "changed"), ("entries", "at")):
                rows = state.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} <> ''").fetchall()
                for row, moment in rows:
                    older = (datetime.fromisoformat(moment) - by).isoformat(timespec="seconds")
                    state.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (older, row))
            state.commit()

    def revoke(self, ident: str) -> None:
        """Ends a key as the owner's command does."""
        Keys(self.home.state).revoke(ident, datetime.now(UTC))


def sqlite(home: Path, write: bool = False) -> Any:
    """Opens a home's database beside Quorra."""
    import contextlib
    import sqlite3

    mode = "rw" if write else "ro"
    base = sqlite3.connect(f"file:{home / '.quorra' / 'state.db'}?mode={mode}", uri=True, timeout=10)
    base.row_factory = sqlite3.Row if not write else None
    return contextlib.closing(base)


def load(file: Path) -> list[dict[str, Any]]:
    """Reads a file of attacks."""
    lines = file.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]
