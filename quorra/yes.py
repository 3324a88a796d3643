"""A natural yes or no, the same words on every surface: a message that says nothing else and quotes nobody."""

import re
from functools import cache
from typing import Literal

_YES = """
    y|yes|yes please|yep|yeah|yup|sure|sure thing|ok|okay|okay do it|ok do it|go ahead|please go ahead|go for it|do it
    |please do|do that|yes do it|yes go ahead|yes please do|yes do that|confirm|confirmed|i confirm|approve|approved
    |i approve|agreed|of course|certainly|fine|that is fine|thats fine|sounds good|right|correct|make it so
    |ja|ja bitte|jawohl|gerne|mach das|mach es|ja mach das|in ordnung|einverstanden|oui|oui vas y|vas y|daccord
    |sí|si|sí hazlo|claro|vale|sì|va bene|sim|tak|ano|da|да|はい|是|好的|👍|✅|✔|👌|🆗
"""
_NO = """
    n|no|no thanks|no thank you|nope|nah|dont|do not|no dont|dont do it|do not do it|please dont|stop|cancel|cancel it
    |cancel that|decline|declined|reject|rejected|never mind|nevermind|forget it|not now|leave it
    |nein|nein danke|lieber nicht|abbrechen|lass es|non|non merci|no gracias|não|nie|ne|нет|いいえ|不|👎|❌|✖|🚫|❎
"""
_TONE = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
_APOSTROPHE = re.compile("['’]")
_SIGNS = "👍✅✔👌🆗👎❌✖🚫❎"
_SAID = re.compile(rf"[\w{_SIGNS}](?:[\w{_SIGNS}\s.,!…。！，、]|(?<=\w)-(?=\w))*")
_PLAIN = re.compile(rf"[^\w{_SIGNS}]+")


def answer(text: str) -> Literal["yes", "no"] | None:
    """Tells what a message answers to a question that waits; None for every message that holds more than that.

    Any sign that is neither a word's nor ends one makes it more: a quotation, a question, a denial, a line struck out.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    said = _APOSTROPHE.sub("", _TONE.sub("", lines[0].casefold().strip())) if len(lines) == 1 else ""
    if not _SAID.fullmatch(said) or lines[0].lstrip()[:1] in ("‘", "’", "'"):
        return None
    words = _PLAIN.sub(" ", said).strip()
    if words in _words(_YES):
        return "yes"
    return "no" if words in _words(_NO) else None


@cache
def _words(table: str) -> frozenset[str]:
    return frozenset(word.strip() for word in table.split("|"))
