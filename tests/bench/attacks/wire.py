"""Requests as they are written: any header, any path, and a client that hangs up."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back; status 0 where the connection was closed without an answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    text: str

    @property
    def body(self) -> Any:
        """Gives the JSON of an answer, or of a stream's last event."""
        told = self.text
        if ("content-type", "text/event-stream; charset=utf-8") in self.headers:
            told = next((line[6:] for line in reversed(told.splitlines()) if line.startswith("data: ")), "")
        try:
            return json.loads(told)
        except ValueError:
            return None


async def send(
    port: int,
    method: str,
    path: str,
    headers: list[tuple[str, str]],
    body: bytes = b"",
    until: Callable[[str], bool] = lambda _: False,
) -> Answered:
    """Sends one request over its own connection; hangs up as soon as ``until`` holds of what came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    given = {name.lower() for name, _ in headers}
    usual = [("Host", f"127.0.0.1:{port}"), ("Connection", "close"), ("Content-Type", "application/json")]
    lines = [(name, value) for name, value in usual if name.lower() not in given] + headers
    if "content-length" not in given and (body or method in ("POST", "PUT", "PATCH")):
        lines.append(("Content-Length", str(len(body))))
    head = f"{method} {_target(path)} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines) + "\r\n"
    raw = bytearray()
    try:
        writer.write(head.encode("utf-8", "surrogatepass") + body)
        async with asyncio.timeout(PATIENCE):
            while piece := await reader.read(1 << 16):
                raw += piece
                if until(raw.decode("utf-8", "replace")):
                    break
    except (ConnectionError, TimeoutError):
        pass
    finally:
        writer.close()
    return _read(bytes(raw))


def _target(path: str) -> str:
    return "".join(sign if "!" <= sign <= "~" else _quoted(sign) for sign in path)


def _quoted(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode("utf-8", "surrogatepass"))


def _read(raw: bytes) -> Answered:
    head, _, rest = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    parts = [line.partition(":") for line in lines]
    headers = tuple((name.lower(), value.strip()) for name, _, value in parts)
    if ("transfer-encoding", "chunked") in headers:
        rest = _joined(rest)
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    return Answered(status, headers, rest.decode("utf-8", "replace"))


def _joined(chunks: bytes) -> bytes:
    found = b""
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        if not size:
            break
        length = int(size, 16)
        found, chunks = found + chunks[:length], chunks[length + 2 :]
        if not length:
            break
    return found
