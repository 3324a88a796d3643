"""The verbs of the service: serve, and the API keys that open it to programs."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import rich_click as click

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

    told = home.settings.service
    listening = service.bind(
        told.host if host is None else host, told.port if port is None else port, bool(home.keys.active())
    )

    def say(url: str) -> None:
        click.echo(json.dumps({"url": url}) if call.json else f"Quorra listens at {url}")

    with listening:
        service.run(home, listening, say)


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


@keys.command()
@click.argument("name", default="api")
@click.option("--for", "whose", default="owner", show_default=True, help="Whose windows and rights it has.")
@verb
def create(call: Call, name: str, whose: str) -> Result:
    """Make a key and show it this once; NAME tells it from the others."""
    with call.open() as home:
        call.owns("Handling keys")
        home.window(whose, None)  # a key for nobody would open nothing
        key, secret = home.keys.create(name, whose, datetime.now(UTC))
    text = f"{secret}\nKeep it: it is not shown again. Send it as: Authorization: Bearer …"
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
        key = home.keys.revoke(ident, datetime.now(UTC))
    return Result({"keys": [asdict(key)]}, _told(key))


def _told(key: "Key") -> str:
    state = f"revoked {key.revoked}" if key.revoked else "active"
    return f"{key.id}  {key.name:20} {key.principal:16} made {key.created}  {state}"
