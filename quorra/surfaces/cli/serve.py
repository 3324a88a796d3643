"""The verbs of the service: serve, and the API keys that open it to programs."""

import json
import sys
from typing import TYPE_CHECKING

import rich_click as click

from quorra.surfaces.cli.verb import DONE, Call, Result, verb

if TYPE_CHECKING:
    from quorra.home import Home


@click.command()
@click.option("--host", help="Where to listen; beyond this machine only with an API key.")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes any free one.")
@verb
def serve(call: Call, host: str | None, port: int | None) -> Result:
    """Start the service; it prints a link that signs a browser in once."""
    with call.open() as home:
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
