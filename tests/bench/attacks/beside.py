"""Processes of their own beside the service, on the same home."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.attacks.stage import ENV


@dataclass
class Beside:
    """Starts processes that say one thing each; each has opened the home before it is told to begin."""

    home: Path
    ready: dict[int, Process] = field(default_factory=dict)

    async def prepare(self, number: int, told: Mapping[str, Any]) -> None:
        """Gets a process ready, to begin at once when its turn comes."""
        self.ready[number] = await self._start(told)

    async def said(self, number: int, told: Mapping[str, Any]) -> str:
        """Lets a process say its thing, and gives what came of it."""
        process = self.ready.pop(number, None) or await self._start(told)
        text, _ = await process.communicate(b"go\n")
        assert process.returncode == 0, text
        return text.decode()

    async def killed(self, told: Mapping[str, Any], after: float) -> None:
        """Lets a process say its thing and kills it ``after`` seconds."""
        process = await self._start(told)
        assert process.stdin
        process.stdin.write(b"go\n")
        await process.stdin.drain()
        await asyncio.sleep(after)
        if process.returncode is None:
            process.kill()
        await process.wait()

    async def _start(self, told: Mapping[str, Any]) -> Process:
        command = (sys.executable, "-m", "tests.bench.attacks.victim", str(self.home))
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=ENV)
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(told).encode() + b"\n")
        await process.stdin.drain()
        assert await process.stdout.readline() == b"ready\n"
        return process
