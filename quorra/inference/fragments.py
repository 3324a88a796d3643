"""Tool calls that a server streams in pieces, put together however it numbers them."""

from typing import Any

from quorra.inference.protocol import Call


class Fragments:
    """Collects pieces of calls: a new id begins a call whatever its index, a piece without one goes on with its own."""

    def __init__(self) -> None:
        self._calls: list[dict[str, str]] = []
        self._at: dict[int, dict[str, str]] = {}

    def take(self, piece: Any) -> None:
        """Takes one piece; AttributeError and TypeError mean that it is none."""
        index = piece.index if isinstance(getattr(piece, "index", None), int) else None
        call = self._of(index, piece.id or "", piece.function)
        call["id"] = call["id"] or piece.id or ""
        if piece.function:
            call["name"] = call["name"] or piece.function.name or ""
            call["arguments"] += piece.function.arguments or ""

    def made(self) -> tuple[Call, ...]:
        """Gives the calls in the order in which they began; a server that names none gets ids of ours."""
        return tuple(
            Call(call["id"] or f"call-{at}", call["name"], call["arguments"]) for at, call in enumerate(self._calls, 1)
        )

    def _of(self, index: int | None, ident: str, function: Any) -> dict[str, str]:
        known = self._at.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        same = next((call for call in self._calls if ident and call["id"] == ident), None)
        if same is not None:
            return same
        if known is not None and not (ident and known["id"]) and not (index is None and function and function.name):
            return known
        call = {"id": "", "name": "", "arguments": ""}
        self._calls.append(call)
        if index is not None:
            self._at[index] = call
        return call
