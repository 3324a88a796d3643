"""One frozen model of a home's ``quorra.toml``, read once by a surface and passed down."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from quorra.errors import QuorraError

FILE = "quorra.toml"
FACTS = "facts"
PRIVATE = ".quorra"
SUBJECT = "sub:"
OWN = frozenset({FACTS, "prompts", "evals", "jobs", PRIVATE, ".git"})


class SettingsError(QuorraError):
    """The home's settings can't be used as they are."""

    code = "settings"


class NoHome(QuorraError):
    """No folder with a ``quorra.toml`` was found."""

    code = "no_home"


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Vault(_Table):
    """Where the notes are, from the home's root; ``.`` is the home itself."""

    path: str = "vault"

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if PurePosixPath(path).is_absolute() or ".." in parts or "\0" in path:
            raise ValueError("it must lie inside the home")
        if parts and own(parts[0]):
            raise ValueError(f"{parts[0]} is a folder of Quorra's own")
        return path


class Model(_Table):
    """The chat model: ``path`` is a GGUF file (empty: the packaged one), ``url`` an OpenAI-compatible server."""

    backend: Literal["llama", "openai", "scripted"] = "llama"
    path: str = ""
    url: str = ""
    name: str = ""
    answers: Literal["auto", "quotation", "composition"] = "auto"
    tools: Literal["auto", "off"] = "auto"
    context: int = Field(default=4096, ge=512)
    max_tokens: int = Field(default=400, ge=1)
    threads: int = Field(default=0, ge=0, description="0: one for every core")
    timeout: float = Field(default=120.0, gt=0, description="seconds without a token")

    def serves(self, url: str) -> bool:
        """Tells whether an address leads to the very server of ``url``: its scheme, host and port."""
        return bool(self.url) and _server(url) == _server(self.url)


class Embedder(_Table):
    """The embedding model: MiniLM in this process, a GGUF file, or an OpenAI-compatible server."""

    backend: Literal["minilm", "gguf", "openai"] = "minilm"
    path: str = ""
    url: str = ""
    name: str = ""
    threads: int = Field(default=0, ge=0, description="0: one worker for every core")


class Service(_Table):
    """Where the service listens and how many generations may wait."""

    host: str = "127.0.0.1"
    port: int = Field(default=8750, ge=0, le=65535)
    queue: int = Field(default=4, ge=0)


class Owner(_Table):
    """The local owner, as commits name them."""

    name: str = "Owner"
    email: str = "owner@localhost"


class Watch(_Table):
    """Whether hand edits are committed, after how many seconds of quiet, and how often they are looked for."""

    adopt: bool = True
    quiet: float = Field(default=2.0, gt=0, le=300)
    poll: float = Field(default=30.0, gt=0, le=600)


class Author(_Table):
    """Whose the files of a local user are: ``owner`` or a member, and how commits name them if not by that."""

    principal: str = Field(min_length=1)
    name: str = ""
    email: str = ""


class Oidc(_Table):
    """The provider whose tokens open the service, and for whom they must be made; ``jwks`` is its keys' address.

    Without an issuer there is none; without ``jwks`` the issuer is asked for it.
    """

    issuer: str = ""
    audience: str = ""
    jwks: str = ""

    @field_validator("issuer", "jwks")
    @classmethod
    def _sealed(cls, url: str) -> str:
        parts = urlsplit(url)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if url and not (parts.hostname and (parts.scheme == "https" or (local and parts.scheme == "http"))):
            raise ValueError("it must begin with https://, or lie on this machine")
        return url

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if bool(self.issuer) != bool(self.audience) or (self.jwks and not self.issuer):
            raise ValueError("issuer and audience belong together: a token must be made by the one for the other")
        return self


class Source(_Table):
    """A model that ``quorra models pull`` may fetch when asked."""

    url: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Matrix(_Table):
    """The Matrix bot: its account, whom it knows (Matrix id to e-mail), and what its rooms are for."""

    homeserver: str = ""
    user: str = Field(default="", pattern="^(@[^:]+:.+)?$")
    service: str = Field(default="", description="empty: where the service of this home listens")
    rooms: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    people: Mapping[str, str] = Field(default_factory=dict)
    parallel: int = Field(default=4, ge=1, description="rooms that are answered at once")
    patience: float = Field(default=60.0, ge=0, description="seconds that a service is waited for, away or busy")


class Settings(_Table):
    """Everything that a home can be told; every field has a default."""

    home: Path
    vault: Vault = Vault()
    model: Model = Model()
    embedder: Embedder = Embedder()
    service: Service = Service()
    owner: Owner = Owner()
    watch: Watch = Watch()
    authors: Mapping[Annotated[int, Field(ge=0)], Author] = Field(default_factory=dict)
    matrix: Matrix = Matrix()
    models: Mapping[str, Source] = Field(default_factory=dict)
    people: Mapping[str, str] = Field(default_factory=dict)
    oidc: Oidc = Oidc()

    @field_validator("people")
    @classmethod
    def _told_once(cls, people: Mapping[str, str]) -> Mapping[str, str]:
        told: dict[str, str] = {}
        for key, name in people.items():
            plain = key if key.startswith(SUBJECT) else address(key)
            if plain == SUBJECT or not (plain.startswith(SUBJECT) or re.fullmatch(r"[^@\s]+@[^@\s]+", plain)):
                raise ValueError(f"{key!r} is neither an e-mail address nor a subject ({SUBJECT}…)")
            if plain in told or not name:
                raise ValueError(f"{key!r} stands there twice" if plain in told else f"{key!r} is given to nobody")
            told[plain] = name
        return told

    @property
    def private(self) -> Path:
        """The home's own folder for state, index and caches; never in git."""
        return self.home / PRIVATE

    @property
    def vault_root(self) -> str:
        """The vault's path from the home's root, empty where it is the home itself."""
        return _root(self.vault.path)

    def public(self, path: str) -> str | None:
        """Names a repository path as people and programs see it; None outside vault and facts.

        A note is named from the vault's root, a facts page from the home's with a leading slash.
        """
        if path.startswith(f"{FACTS}/"):
            return "/" + path
        root = self.vault_root
        if not root:
            return None if own(path) else path
        return path.removeprefix(root + "/") if path.startswith(root + "/") else None

    def inside(self, name: str) -> str:
        """Gives the repository path of a public name; the inverse of ``public``."""
        if name.startswith("/"):
            return name[1:]
        return f"{self.vault_root}/{name}" if self.vault_root else name


def address(email: str) -> str:
    """Spells an e-mail address as it is compared: without spaces around it, and A to Z small.

    Other letters count as they are written: folding them would let one name pass for another.
    """
    return "".join(letter.lower() if letter.isascii() else letter for letter in email.strip(" \t"))


@cache  # asked for every file of a vault
def _root(path: str) -> str:
    plain = str(PurePosixPath(path))
    return "" if plain == "." else plain


def own(path: str) -> bool:
    """Tells whether a path from the home's root is Quorra's own, and so never a note's."""
    return path == FILE or path.partition("/")[0] in OWN


def _server(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def find(start: Path) -> Path:
    """Finds the home at or above ``start``; raises NoHome."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder
    raise NoHome(f"No {FILE} at or above {start}.", "Make a home with: quorra init DIR")


def read(home: Path) -> Settings:
    """Reads ``quorra.toml``; raises SettingsError naming the key and the nearest known one."""
    file = home / FILE
    if not file.is_file():
        raise NoHome(f"There is no {FILE} in {home}.", "Make a home with: quorra init DIR")
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file} can't be read: {error.strerror}.", "See that you may read it.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{file} is not TOML: {error}.", "Mend the line it names.") from error
    return parse(home.resolve(), table, file)


def parse(home: Path, table: Mapping[str, Any], file: Path) -> Settings:
    """Makes settings of a table; raises SettingsError naming ``file`` and the key."""
    try:
        return Settings.model_validate({**table, "home": home})
    except ValidationError as error:
        raise SettingsError(f"{file}: {_sentence(error)}", "Mend that key and try again.") from error


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    where = [str(part) for part in first["loc"] if part != "[key]"]
    name = ".".join(where)
    if first["type"] != "extra_forbidden":
        return f"{name}: {first['msg'].removeprefix('Value error, ')}."
    near = difflib.get_close_matches(where[-1], _known(where[:-1]), n=1, cutoff=0.0)
    hint = f"; the nearest known key is {'.'.join([*where[:-1], near[0]])}" if near else ""
    return f"{name} is not a setting{hint}."


def _known(table: list[str]) -> list[str]:
    model: Any = Settings
    if table:
        kept = Settings.model_fields[table[0]].annotation
        model = (get_args(kept) or (kept,))[-1]
    return [name for name in model.model_fields if name != "home"]
