"""The verbs of the service: serve, and the API keys that open it to programs."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import rich_click as click

from quorra.access.principals import named
from quorra.access.window import OWNER
from quorra.state.keys import KEY, SERVICE
from quorra.surfaces.cli.verb import DONE, Call, Result, verb

if TYPE_CHECKING:
    from quorra.home import Home
    from quorra.state.keys import Key


@click.command()
@click.option("--host", help="Where to listen; beyond this machine only with an API key.")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes any free one.")
@verb
def serve(call: Call, host: str | None, port: int | None) -> Result:
    """Start the service; it prints a link that signs a browser in once."""
    with call.open() as home:
        call.owns("Starting the service")
        _serve(call, home, host, port)
    sys.exit(DONE)


def _serve(call: Call, home: "Home", host: str | None, port: int | None) -> None:
    from quorra.surfaces.http import serve as service
    from quorra.surfaces.http.entry import roads

    told = home.settings.service
    listening = service.bind(
        told.host if host is None else host, told.port if port is None else port, roads.open_to_others(home)
    )
    for line in roads.told(home):
        call.say(line)

    def say(url: str) -> None:
        click.echo(json.dumps({"url": url}) if call.json else f"Quorra listens at {url}")

    with listening:
        service.run(home, listening, say)


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


@keys.command()
@click.argument("name", default="api")
@click.option("--for", "whose", help="Whose windows and rights it has; the owner's if nobody is named.")
@click.option("--service", is_flag=True, help="For a program that says with each request for whom it speaks.")
@verb
def create(call: Call, name: str, whose: str | None, service: bool) -> Result:
    """Make a key and show it this once; NAME tells it from the others."""
    if service and whose is not None:
        raise click.UsageError("A service key is nobody's own: --service and --for exclude each other.")
    with call.open() as home:
        call.owns("Handling keys")
        whose = "" if service else named(whose or OWNER).id
        if whose:
            home.window(whose, None)  # a key for nobody would open nothing
        with home.state.transaction():
            key, secret = home.keys.create(name, whose, datetime.now(UTC), SERVICE if service else KEY)
            _record(home, "create", key)
    more = ", and whom it speaks for as: X-Quorra-User-Email: …" if service else ""
    text = f"{secret}\nKeep it: it is not shown again. Send it as: Authorization: Bearer …{more}"
    return Result({"keys": [asdict(key)], "key": secret}, text)


@keys.command("list")
@verb
def listed(call: Call) -> Result:
    """List the keys, revoked ones too; none shows its secret."""
    with call.open() as home:
        call.owns("Handling keys")
        every = home.keys.every()
    return Result({"keys": [asdict(key) for key in every]}, "\n".join(map(_told, every)) or "No keys yet.")


@keys.command()
@click.argument("ident", metavar="ID")
@verb
def revoke(call: Call, ident: str) -> Result:
    """End a key for good."""
    with call.open() as home:
        call.owns("Handling keys")
        with home.state.transaction():
            key = home.keys.revoke(ident, datetime.now(UTC))
            _record(home, "revoke", key)
    return Result({"keys": [asdict(key)]}, _told(key))


def _record(home: "Home", action: str, key: "Key") -> None:
    """Notes in the audit what was done with a key; only the owner gets as far."""
    home.audit.record(datetime.now(UTC), principal=OWNER, action=action, tool="keys", tier=2, target=key.id, ok=True)


def _told(key: "Key") -> str:
    state = f"revoked {key.revoked}" if key.revoked else "active"
    return f"{key.id}  {key.name:20} {key.principal or key.kind:16} made {key.created}  {state}"
