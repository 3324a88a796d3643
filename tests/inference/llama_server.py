"""A real llama.cpp server in a process of its own, on loopback."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from quorra.inference.packaged import SMOLLM2

MODULE = "llama_cpp.server"


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Gives the server's address once it answers; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    command = [sys.executable, "-m", MODULE, "--model", str(SMOLLM2.path()), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--n_ctx", "2048", "--n_threads", "1", "--n_threads_batch", "1", "--verbose", "false", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _wait(process, url)
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _wait(process: subprocess.Popen[str], url: str) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the llama.cpp server ended: {process.communicate()[1][-800:]}")
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError("the llama.cpp server did not answer within a minute")
