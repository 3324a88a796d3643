"""The service's one table of errors: the command line's JSON object, with a status."""

import html
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import structlog
from litestar import MediaType, Request, Response
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler
from litestar.openapi import ResponseSpec
from litestar.response.base import ASGIResponse
from litestar.serialization import encode_json

from quorra.access.window import UnknownPrincipal
from quorra.errors import QuorraError
from quorra.surfaces import fields
from quorra.surfaces.http.entry.auth import SignedOut

STATUSES: Mapping[str, int] = {
    "bad_input": 400,
    "bad_name": 400,
    "revision": 400,
    "scope_fixed": 400,
    "unknown_mode": 400,
    "unknown_origin": 400,
    "unknown_scope": 400,
    "window": 400,
    "signed_out": 401,
    "not_owner": 403,
    "unknown_principal": 403,
    "no_address": 404,
    "no_confirmation": 404,
    "no_item": 404,
    "no_note": 404,
    "no_notice": 404,
    "no_run": 404,
    "no_session": 404,
    "no_turn": 404,
    "answering": 409,
    "decided": 409,
    "no_scope": 409,
    "settled": 409,
    "stale": 409,
    "not_json": 415,
    "too_many_tries": 429,
    "client_gone": 499,
    "generation_failed": 502,
    "busy": 503,
    "disk": 503,
    "index_busy": 503,
    "model_away": 503,
    "service_away": 503,
    "state": 503,
}
ALL = (400, 401, 403, 429)
"""What every address may answer with; those of ``BODY`` are for addresses that take one."""
BODY = (*ALL, 413, 415)
WAIT = 5
_WAITING = (429, 503)
_SENTENCES = {
    404: ("no_address", "There is nothing at this address.", "The addresses are listed at /schema."),
    405: ("bad_method", "This address does not take that method.", "The methods are listed at /schema."),
    413: ("too_large", "The body is larger than the service takes.", "Send less."),
}

log = structlog.get_logger("quorra.http")


@dataclass(frozen=True, slots=True)
class Problem:
    """An error for programs and people: a stable code, a sentence, and what to do next."""

    code: str
    message: str
    next: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The body of every answer that is none."""

    error: Problem


class ClientGone(QuorraError):
    """Whoever asked went away; nobody reads this."""

    code = "client_gone"

    def __init__(self) -> None:
        super().__init__("The client went away.")


class BadInput(QuorraError):
    """The request is not what the address takes."""

    code = "bad_input"


class NotJson(QuorraError):
    """The body is said to be something else than JSON, or said to be nothing."""

    code = "not_json"

    def __init__(self) -> None:
        super().__init__("This address takes JSON alone.", "Send the header: Content-Type: application/json")


class Broken(QuorraError):
    """A fault of ours, told without a word of what was in hand."""

    code = "internal"

    def __init__(self) -> None:
        super().__init__("Quorra failed at this, and the fault is hers.", "The service's log says where.")


def json_only(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Refuses a body that is not declared as JSON: what any web page may send unasked never is. Raises NotJson."""
    kind = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    if isinstance(connection, Request) and connection.method in ("POST", "PUT") and kind != "application/json":
        raise NotJson


def documented(*numbers: int) -> dict[int, ResponseSpec]:
    """Gives what the schema says of the statuses that an address fails with."""
    return {
        number: ResponseSpec(Failed, description=HTTPStatus(number).phrase, generate_examples=False)
        for number in numbers
    }


def status(code: str) -> int:
    """Gives the status of an error's code; what no table knows is the service's own fault."""
    return STATUSES.get(code, 500)


def headers(number: int) -> dict[str, str]:
    """Gives the headers that a status asks for."""
    if number == HTTPStatus.UNAUTHORIZED:
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(WAIT)} if number in _WAITING else {}


def reply(error: QuorraError, visitor: ASGIConnection[Any, Any, Any, Any]) -> ASGIResponse:
    """Gives an error as an answer of its own, for where no route is in charge."""
    number = status(error.code)
    if _reads(visitor):
        return ASGIResponse(
            body=_page(error).encode(), status_code=number, headers=headers(number), media_type=MediaType.HTML
        )
    return ASGIResponse(body=encode_json(fields.error(error)), status_code=number, headers=headers(number))


def known(request: Request[Any, Any, Any], error: QuorraError) -> Response[Any]:
    """Answers with an error that some room raised on purpose.

    Whom the home has lost since the door let them in is a stranger, and learns nothing of who else there is.
    """
    if isinstance(error, UnknownPrincipal):
        error = SignedOut()
    if _reads(request):
        request.scope["state"]["outcome"] = error.code
        number = status(error.code)
        return Response(_page(error), status_code=number, headers=headers(number), media_type=MediaType.HTML)
    return _answer(request, status(error.code), fields.error(error))


def refused(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """Answers with an error that the framework found in the request."""
    if error.status_code in _SENTENCES:
        code, message, after = _SENTENCES[error.status_code]
        body = {"error": {"code": code, "message": message, "next": after}}
        return _answer(request, error.status_code, body)
    if "client disconnected" in error.detail:  # the framework's word for a body that ends too soon
        return known(request, ClientGone())
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return broken(request, error)
    return _answer(
        request, error.status_code, fields.error(BadInput(_sentence(error), "Its fields are listed at /schema."))
    )


def nested(request: Request[Any, Any, Any], _: RecursionError) -> Response[Any]:
    """Answers for a body that no reader gets to the bottom of."""
    return known(request, BadInput("The body is nested too deeply.", "Its fields are listed at /schema."))


def broken(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Answers for a fault of ours, and logs where it happened without a word of what was in hand."""
    fault(error)
    return known(request, Broken())


def fault(error: BaseException) -> None:
    """Logs an unexpected error by its kind and place; its message may hold private text, so it stays out."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-4:]]
    log.error("fault", kind=type(error).__name__, at=places)


def _reads(visitor: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Tells whether a person is looking, by what only a browser's own address line asks for."""
    return "text/html" in visitor.headers.get("accept", "")


def _page(error: QuorraError) -> str:
    said = f"<p>{html.escape(error.message)}</p><p>{html.escape(error.next)}</p>"
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Quorra</title><h1>Quorra</h1>{said}</html>'


def _answer(request: Request[Any, Any, Any], number: int, body: dict[str, Any]) -> Response[dict[str, Any]]:
    request.scope["state"]["outcome"] = body["error"]["code"]
    return Response(body, status_code=number, headers=headers(number), media_type="application/json")


def _sentence(error: HTTPException) -> str:
    found = error.extra[0] if isinstance(error.extra, list) and error.extra else None
    if not isinstance(found, dict) or found.get("message") == "'data'":  # the framework's word for an empty body
        return "The body is not the JSON object that this address takes."
    key, message = str(found.get("key") or ""), str(found.get("message", "")).rstrip(".")
    return f"{message}." if key in ("", "data") else f"{key}: {message}."
