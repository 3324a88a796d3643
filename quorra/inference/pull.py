"""Downloads a model file when a person asks for it; nothing else in Quorra downloads anything."""

import hashlib
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from quorra.errors import QuorraError
from quorra.inference.packaged import digest
from quorra.settings import Source

BLOCK = 1 << 20
SILENT = 60.0
_FRAGMENT = re.compile(r"sha256[=:]([0-9a-f]{64})")


class PullFailed(QuorraError):
    """The file did not come, or not as it should be; what was there before still is."""

    code = "pull_failed"


@dataclass(frozen=True, slots=True)
class Pulled:
    """A model file that is there now; ``checked`` tells whether its sha256 was known beforehand."""

    path: Path
    bytes: int
    sha256: str
    checked: bool


def pull(
    what: str,
    sources: Mapping[str, Source],
    folder: Path,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> Pulled:
    """Fetches a name of ``sources`` or a URL (``#sha256=…`` lets it be checked) into ``folder``.

    ``progress`` is told the bytes done and the whole, 0 where the server doesn't say.
    """
    url, wanted, stem = _source(what, sources)
    target = folder / _file(url, stem)
    if wanted and target.is_file() and digest(target) == wanted:
        return Pulled(target, target.stat().st_size, wanted, checked=True)
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{target.name}.{os.getpid()}.part"
    try:
        size, sha256 = _download(url, fresh, progress)
        if wanted and sha256 != wanted:
            raise PullFailed(f"{url} gave a file whose sha256 is {sha256}, not {wanted}.", "Check the source.")
        fresh.replace(target)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()
    return Pulled(target, size, sha256, checked=bool(wanted))


def held(folder: Path) -> list[Path]:
    """Lists the model files that were pulled."""
    return sorted(path for path in folder.glob("*") if path.is_file() and not path.name.startswith("."))


def _source(what: str, sources: Mapping[str, Source]) -> tuple[str, str, str]:
    if what in sources:
        return sources[what].url, sources[what].sha256, what
    parts = urlsplit(what)
    if parts.scheme not in {"http", "https"}:
        known = ", ".join(sorted(sources)) or "none is configured"
        raise PullFailed(f"{what!r} is neither a URL nor a name under [models] ({known}).", "Add it to quorra.toml.")
    found = _FRAGMENT.search(parts.fragment)
    return parts._replace(fragment="").geturl(), found[1] if found else "", ""


def _file(url: str, stem: str) -> str:
    """Names the file after the source's name, or the URL's last part, with nothing that leaves the folder."""
    last = PurePosixPath(unquote(urlsplit(url).path)).name
    name = stem + PurePosixPath(last).suffix if stem else last
    plain = re.sub(r"[^\w.+-]", "_", name).lstrip(".")
    if not plain:
        raise PullFailed(f"{url} names no file.", "Use a URL that ends in a file name.")
    return plain


def _download(url: str, target: Path, progress: Callable[[int, int], None]) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=SILENT) as answer, target.open("wb") as file:
            return _copy(answer, file, progress)
    except urllib.error.HTTPError as error:
        raise PullFailed(f"{url} answered with status {error.code}.", "Check the address.") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise PullFailed(f"{url} could not be downloaded: {reason}.", "Check the address and the disk.") from error


def _copy(answer: HTTPResponse, file: BinaryIO, progress: Callable[[int, int], None]) -> tuple[int, str]:
    whole, done, sha256 = int(answer.headers.get("Content-Length") or 0), 0, hashlib.sha256()
    while block := answer.read(BLOCK):
        file.write(block)
        sha256.update(block)
        done += len(block)
        progress(done, whole)
    if done < whole:
        raise ValueError(f"it broke off after {done} of {whole} bytes")
    file.flush()
    os.fsync(file.fileno())
    return done, sha256.hexdigest()
