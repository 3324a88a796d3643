"""Writes notes back: an unchanged note is its own bytes, and an edit touches only what it names."""

from quorra.vault.note import Note


def note(value: Note) -> bytes:
    """Gives the bytes of a note, exactly as they were read."""
    return value.raw
