"""The verb of the Matrix bot: matrix."""

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from quorra import settings
from quorra.errors import QuorraError
from quorra.surfaces.cli.verb import DONE, Call, Result, verb

if TYPE_CHECKING:
    from quorra.surfaces.matrix.client import Secrets


class NotTold(QuorraError):
    """Something that the bot must be told is missing."""

    code = "settings"


@click.command()
@verb
def matrix(call: Call) -> Result:
    """Run the Matrix bot, a client of the service, until it is ended."""
    call.owns("Running the Matrix bot")
    where = call.home if call.home is not None else settings.find(Path.cwd())
    told = settings.read(where.absolute())
    table = told.matrix
    if not table.homeserver or not table.user:
        raise NotTold(
            "The bot has no account.", f"Put homeserver and user into [matrix] in {told.home / settings.FILE}."
        )
    if not table.service:
        table = table.model_copy(update={"service": f"http://{told.service.host}:{told.service.port}"})
    _run(call, table, told.private / "matrix", _secrets())
    sys.exit(DONE)


def _secrets() -> "Secrets":
    from quorra.surfaces.matrix.client import Secrets

    kept = {name: os.environ.get(f"QUORRA_{name}", "") for name in ("MATRIX_PASSWORD", "MATRIX_TOKEN", "SERVICE_KEY")}
    if not kept["SERVICE_KEY"]:
        raise NotTold("The bot has no key to the service.", "Give it one in QUORRA_SERVICE_KEY.")
    return Secrets(kept["MATRIX_PASSWORD"], kept["MATRIX_TOKEN"], kept["SERVICE_KEY"])


def _run(call: Call, table: settings.Matrix, folder: Path, secrets: "Secrets") -> None:
    from quorra.surfaces.matrix.bot import Bot
    from quorra.surfaces.matrix.store import alone

    async def run() -> None:
        bot = Bot(table, folder, secrets, clock=lambda: datetime.now(UTC), say=call.say)
        running = asyncio.ensure_future(bot.run())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        await asyncio.wait([running])
        if not running.cancelled():
            running.result()

    with alone(folder):
        asyncio.run(run())
