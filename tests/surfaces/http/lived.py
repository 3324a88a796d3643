"""A home that people have lived in for a while, and schemathesis let loose on its service."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from quorra.state import database
from quorra.state.keys import SERVICE, Keys
from tests.surfaces.http.conftest import LOOKED, SURE, THOUGHT, Service, call, new_home, say, start

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance",
)  # fmt: skip
PEOPLE = '[people]\n"mira@example.org" = "mira"\n'
FAMILIES = ("sessions", "confirmations", "inbox", "outbox", "runs")


@dataclass(frozen=True, slots=True)
class Tried:
    """What a run of schemathesis came to: how many requests had which status, where something was served at all,
    and what it complains about.
    """

    statuses: Mapping[int, int]
    served: frozenset[str]
    complaints: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Tells whether requests were made and nothing was wrong."""
        return bool(self.statuses) and not self.complaints and all(status < 500 for status in self.statuses)


def lived_in(folder: Path, log: Path) -> Service:
    """Starts a service on a home with notes, conversations, proposals and questions that wait."""
    home = new_home(folder)
    settings = home / "quorra.toml"
    settings.write_text(f"{settings.read_text(encoding='utf-8')}{PEOPLE}", encoding="utf-8")
    return start(home, log)


def furnish(service: Service, mira: httpx.Client) -> dict[str, list[str]]:
    """Lets the owner and a member live in a home; gives the ids that there are then, by family."""
    owner, ids = service.client, dict[str, list[str]]({family: [] for family in FAMILIES})
    for client in (owner, mira):
        client.put("/preferences", json={"developer_mode": True})
        for message in (SURE, THOUGHT, LOOKED):
            reply = say(client, message)
            ids["sessions"].append(reply["session_id"])
            ids["runs"].append(reply["run_id"])
        say(client, LOOKED, session_id=reply["session_id"], message_id="again")
    for at in range(4):
        path = f"household/list{at}.md"
        say(owner, call("document", path=path, text="# List\n\nMilk.\n"))
        say(owner, call("document", path=path, text="# List\n\nMilk and bread.\n"))
    ids["inbox"] = [item["id"] for item in owner.get("/inbox").json()["items"]]
    ids["outbox"] = [one["id"] for one in owner.get("/outbox").json()["notices"]]
    for item in ids["inbox"]:
        waiting = say(owner, call("review_decline", id=item))["pending_confirmation"]
        ids["confirmations"].append(waiting["id"])
        ids["sessions"].append(waiting["session_id"])
    return ids


def principals(service: Service) -> Iterator[tuple[str, dict[str, str]]]:
    """Gives every kind of visitor with the headers that they come with."""
    state = database.open(service.home / ".quorra" / "state.db")
    keys, moment = Keys(state), datetime.now(UTC)
    _, owner = keys.create("owner", "owner", moment)
    _, member = keys.create("member", "member:mira", moment)
    _, program = keys.create("program", "", moment, SERVICE)
    lost, revoked = keys.create("lost", "owner", moment)
    keys.revoke(lost.id, moment)
    state.close()
    yield "owner", {"Authorization": f"Bearer {owner}"}
    yield "member", {"Authorization": f"Bearer {member}"}
    yield "service for a member", {"Authorization": f"Bearer {program}", "X-Quorra-User-Email": "mira@example.org"}
    yield "stranger", {}
    yield "revoked", {"Authorization": f"Bearer {revoked}"}


def document(service: Service, ids: Mapping[str, list[str]], file: Path) -> Path:
    """Writes the service's own description of itself, with the ids that there are as examples."""
    told = service.client.get("/schema").json()
    for path, methods in told["paths"].items():
        known = ids.get(path.split("/")[1], [])
        for method, operation in methods.items():
            named = known[-1:] if method == "delete" else known[:-1]
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    parameter["examples"] = {f"known{at}": {"value": ident} for at, ident in enumerate(named)}
    for path in ("/chat", "/chat/stream"):
        body = told["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        spoken = [{"message": LOOKED, "scope": ["general"], "session_id": ident} for ident in ids["sessions"]]
        agreed = [{"message": "", "confirmation_id": ident} for ident in ids["confirmations"]]
        body["examples"] = {f"known{at}": {"value": value} for at, value in enumerate([*spoken[:4], *agreed[:2]])}
    file.write_text(json.dumps(told), encoding="utf-8")
    return file


def tried(service: Service, schema: Path, headers: Mapping[str, str], examples: int, phases: str) -> Tried:
    """Runs schemathesis as somebody, and reads in the service's own log what it answered."""
    before = service.log.stat().st_size
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "run", str(schema), "--url", service.url.rstrip("/")),
        *("--checks", ",".join(CHECKS), "--max-examples", str(examples), "--phases", phases, "--seed", "4"),
        *("--suppress-health-check", "all", "--generation-database", "none", "--no-color", "--continue-on-failure"),
        *(word for name, value in headers.items() for word in ("--header", f"{name}: {value}")),
    ]
    env = {name: value for name, value in os.environ.items() if not name.startswith("SCHEMATHESIS")}
    run = subprocess.run(command, cwd=schema.parent, env=env, capture_output=True, text=True, check=False)
    with service.log.open(encoding="utf-8") as log:
        log.seek(before)
        lines: list[dict[str, Any]] = [json.loads(line) for line in log]
    asked = [line for line in lines if line["event"] == "request"]
    statuses = Counter(line["status"] for line in asked)
    served = frozenset(line["path"] for line in asked if line["status"] < 400)
    faults = [f"fault: {line['kind']} at {line['at']}" for line in lines if line["event"] == "fault"]
    ended = [] if run.returncode == 0 else [run.stdout[-6000:] + run.stderr[-2000:]]
    return Tried(dict(sorted(statuses.items())), served, (*faults, *ended))
