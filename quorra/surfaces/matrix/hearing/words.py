"""The words of a message: the person's own, without what they quote, whom they speak to, and how they are named."""

import html
import re
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

_QUOTING = re.compile(r"(</?(?:mx-reply|blockquote)\b)", re.IGNORECASE)
_PILL = re.compile(
    r"""<a\s[^>]{0,400}?href\s{0,9}=\s{0,9}["']?(https://matrix\.to/#/|matrix:u/)([^"'\s>?]+)""", re.IGNORECASE
)
_ADDRESS = re.compile(r"://|www\.|[\w~.-]/\w|\w@\w|^/|@[\w.=+-]+:[\w.-]+")
_HIDDEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
_BRACKETS = re.compile(r"[\[\]{}<>|`⟦⟧［］【】〔〕]")
_TAGGED = re.compile(r"^([ \t]*)\[([^\[\]\n]{1,80})\]", re.MULTILINE)
NAME = 60


def own(content: Mapping[str, Any]) -> str:
    """Gives the text that the person wrote: in a reply without the fallback that quotes what it answers."""
    body = content.get("body")
    text = body if isinstance(body, str) else ""
    if answers(content) is None or not text.startswith("> "):
        return text.strip()
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if not line.startswith(">")), len(lines))
    return "\n".join(lines[start:]).strip()


def answers(content: Mapping[str, Any]) -> str | None:
    """Names the event that a message replies to; a thread's fallback is no reply."""
    relation = content.get("m.relates_to")
    if not isinstance(relation, Mapping) or relation.get("is_falling_back"):
        return None
    to = relation.get("m.in_reply_to")
    ident = to.get("event_id") if isinstance(to, Mapping) else None
    return ident if isinstance(ident, str) else None


def mentioned(content: Mapping[str, Any], text: str, me: str, name: str) -> bool:
    """Tells whether a message speaks to the bot.

    ``m.mentions`` decides where it is there, even empty; else a pill, the full id, or the display name as a word
    of its own, outside addresses and quoted lines.
    """
    if "m.mentions" in content:
        told = content["m.mentions"]
        users = told.get("user_ids") if isinstance(told, Mapping) else None
        return isinstance(users, list) and me in users
    if me in _pills(content):
        return True
    lines = "\n".join(line for line in text.split("\n") if not line.startswith(">"))
    if re.search(rf"(?<![\w@.]){re.escape(me)}(?![\w:.-]*\w)", lines):
        return True
    plain = " ".join(word for word in lines.split() if not _ADDRESS.search(word))
    return bool(name) and _word(name).search(plain) is not None


def spoken(content: Mapping[str, Any], text: str, me: str, name: str) -> str:
    """Takes the mention out of a text: the bot's id or @name anywhere, its bare name where it is called by it."""
    text = re.sub(rf"[ \t]?{re.escape(me)}(?![\w.-])[:,]?", "", text).strip()
    if not name:
        return text
    word = rf"@?{_pattern(name)}"
    led = re.sub(rf"^{word}(?![\w-])\s*[,:;!.–—-]*\s*", "", text, count=1, flags=re.IGNORECASE)
    if led != text:
        return led.strip()
    text = re.sub(rf"[ \t]?(?<![\w@])@{_pattern(name)}(?![\w-])[:,]?", "", text, count=1, flags=re.IGNORECASE).strip()
    ended = re.sub(rf"[\s,]{{1,9}}{word}\s*(?P<end>[.?!]*)$", r"\g<end>", text, count=1, flags=re.IGNORECASE)
    if ended == text and me in (_pills(content) or _listed(content)):
        ended = re.sub(rf"(?<![\w-]){word}(?![\w-])[,:]?\s*", "", text, count=1, flags=re.IGNORECASE)
    return ended.strip()


def harmless(name: str) -> str:
    """Makes one line of a display name that can't be taken for anything else than a name."""
    shown = _BRACKETS.sub("", _HIDDEN.sub(" ", unicodedata.normalize("NFKC", name)))
    return " ".join(shown.split())[:NAME].strip()


def called(user: str, names: Mapping[str, str], known: frozenset[str]) -> str:
    """Names a person to the model: by display name, or by their id where another one could be meant."""
    name = harmless(names.get(user, "")) or local(user)
    others = {alike(harmless(other)) for ident, other in names.items() if ident != user}
    others |= {alike(local(ident)) for ident in known | set(names) if ident != user}
    return harmless(user) if alike(name) in others or not alike(name) else name


def unclaimed(text: str, names: Mapping[str, str], known: frozenset[str]) -> str:
    """Takes the brackets off a line's beginning that would pass it off as somebody's."""
    people = {alike(harmless(name)) for name in names.values()}
    people |= {alike(local(ident)) for ident in known | set(names)} | {alike(harmless(ident)) for ident in names}

    def plain(found: re.Match[str]) -> str:
        return f"{found[1]}({found[2]})" if alike(harmless(found[2])) in people else found[0]

    return _TAGGED.sub(plain, text)


def local(user: str) -> str:
    """Gives the part of a Matrix id that its server knows the person by."""
    return harmless(user.removeprefix("@").partition(":")[0])


def alike(name: str) -> str:
    """Gives what two names have in common that look the same at a glance."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def parts(text: str, most: int) -> list[str]:
    """Splits a long text where a paragraph, a line or at least a word ends."""
    found = []
    while len(text) > most:
        cut = next((at for mark in ("\n\n", "\n", " ") if (at := text.rfind(mark, most // 2, most)) > 0), most)
        found.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*found, text] if text or not found else found


def _pills(content: Mapping[str, Any]) -> set[str]:
    formatted = content.get("formatted_body")
    if not isinstance(formatted, str):
        return set()
    found = _PILL.findall(_unquoted(formatted))
    return {unquote(html.unescape(to)) if "matrix.to" in kind.lower() else f"@{unquote(to)}" for kind, to in found}


def _unquoted(formatted: str) -> str:
    """Leaves out what stands inside quoting elements, however they nest."""
    kept, depth = [], 0
    for piece in _QUOTING.split(formatted):
        if _QUOTING.fullmatch(piece):
            depth = max(0, depth + (-1 if piece.startswith("</") else 1))
        elif not depth:
            kept.append(piece)
    return "".join(kept)


def _listed(content: Mapping[str, Any]) -> set[str]:
    told = content.get("m.mentions")
    users = told.get("user_ids") if isinstance(told, Mapping) else None
    return {user for user in users if isinstance(user, str)} if isinstance(users, list) else set()


def _pattern(name: str) -> str:
    return r"\s+".join(map(re.escape, name.split()))


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-])@?{_pattern(name)}(?![\w-]|[.'’]\w)", re.IGNORECASE)
