"""Prompts as files: the home's own where it has one, else the shipped one."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from quorra.errors import QuorraError
from quorra.index.found import Hit
from quorra.inference.protocol import Message
from quorra.vault.reading.seen import seen

FOLDER = "prompts"
Standing = Callable[[str, str], str | None]
"""Gives the commit in which a path of the repository holds a blob just now, if there is one."""


class PromptAway(QuorraError):
    """A prompt file is in neither place, or can't be read."""

    code = "prompt_away"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt's text with the blob id that git gives these bytes.

    ``commit`` is the home's newest where it holds the file just so; None for a text that
    is not committed, and for a ``shipped`` one, which stands in for a file that the home lacks.
    """

    name: str
    text: str
    blob: str
    commit: str | None = None
    shipped: bool = False

    def fill(self, **values: str) -> str:
        """Puts values in their places; braces inside a value are left alone."""
        parts, rest = [], self.text
        while rest:
            at, name = min(
                ((rest.find(f"{{{name}}}"), name) for name in values), key=lambda pair: pair[0] % (len(rest) + 1)
            )
            if at < 0:
                break
            parts += [rest[:at], values[name]]
            rest = rest[at + len(name) + 2 :]
        return "".join([*parts, rest])


@dataclass(frozen=True, slots=True)
class Prompts:
    """Where prompts lie: ``own`` is the home's folder, ``shipped`` stands in for a file that it lacks."""

    own: Path
    shipped: Path
    standing: Standing = lambda path, blob: None

    def read(self, name: str) -> Prompt:
        """Reads a prompt such as ``ask/rules``; raises PromptAway."""
        for folder in (self.own, self.shipped):
            file = folder / f"{name}.md"
            if file.is_file():
                text, blob = _read(file)
                shipped = folder is not self.own
                commit = None if shipped else self.standing(f"{FOLDER}/{name}.md", blob)
                return Prompt(name, text, blob, commit, shipped)
        raise PromptAway(f"There is no prompt {name}.md in {self.own} or {self.shipped}.", "Put the file back.")


def standing(head: Callable[[], str | None], at: Callable[[str, str], bytes | None]) -> Standing:
    """Tells by the newest commit, and by what it holds, which commit a file stands in."""

    @lru_cache(256)
    def holds(commit: str, path: str, blob: str) -> bool:
        content = at(commit, path)
        return content is not None and _blob(content) == blob

    def found(path: str, blob: str) -> str | None:
        commit = head()
        return commit if commit and holds(commit, path, blob) else None

    return found


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _read(file: Path) -> tuple[str, str]:
    try:
        raw = file.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptAway(f"The prompt {file} can't be read: {error}.", "Mend the file or remove it.") from error
    return text.replace("\r\n", "\n").strip(), _blob(raw)


def assemble(prompts: Prompts, question: str, hits: Sequence[Hit], room: int) -> list[Message]:
    """Builds the messages of a first try: the rules, then the passages, and the question last.

    What seldom changes stands first, so that a model evaluates only what comes
    after the first difference from its last prompt. ``room`` is how many
    characters the passages may take.
    """
    passages = "\n\n".join(_fitting(hits, room))
    return [
        Message("system", prompts.read("ask/rules").text),
        Message("user", prompts.read("ask/question").fill(passages=passages, question=question)),
    ]


def again(prompts: Prompts, messages: Sequence[Message], draft: str, failure: str) -> list[Message]:
    """Builds the messages of a second try, which keep the first ones as they were."""
    retry = prompts.read("ask/retry").fill(failure=failure)
    return [*messages, Message("assistant", draft), Message("user", retry)]


def _fitting(hits: Sequence[Hit], room: int) -> list[str]:
    shown: list[str] = []
    for hit in hits:
        where = hit.heading or hit.title
        text = f"{hit.path}{f' ({where})' if where else ''}\n{seen(hit.text, part=True).strip()}"
        if len(text) > room:
            break
        room -= len(text) + 2
        shown.append(text)
    return shown or [f"{hit.path}\n{seen(hit.text, part=True).strip()[:room]}" for hit in hits[:1]]
