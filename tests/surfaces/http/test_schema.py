"""What the service says of itself in its OpenAPI document is what it does."""

from pathlib import Path

from tests.surfaces.http import lived
from tests.surfaces.http.conftest import Service, member


def test_the_owner_and_a_member_meet_no_answer_that_is_not_documented(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    service = lived.lived_in(tmp_path / "home", tmp_path / "log")
    try:
        visitors = dict(lived.principals(service))
        with member(service, "mira") as mira:
            for who in ("owner", "service for a member"):
                schema = lived.document(service, lived.furnish(service, mira), tmp_path / "openapi.json")
                found = lived.tried(service, schema, visitors[who], 3, "examples,fuzzing")
                assert found.complaints == ()
                assert {200, 204, 400, 404} <= set(found.statuses)
                assert max(found.statuses) < 500
    finally:
        service.stop()


def test_the_document_tells_how_a_service_says_for_whom_it_speaks(service: Service) -> None:
    schema = service.client.get("/schema").json()
    told = schema["components"]["securitySchemes"]["person"]
    assert (told["type"], told["in"], told["name"]) == ("apiKey", "header", "X-Quorra-User-Email")
    assert {"key": [], "person": []} in schema["security"]


def test_every_address_says_what_strangers_and_wrong_bodies_get(service: Service) -> None:
    paths = service.client.get("/schema").json()["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            told = set(operation["responses"])
            assert operation["description"], path
            assert path == "/health" or {"400", "401", "429"} <= told, (method, path)
            assert "requestBody" not in operation or {"413", "415"} <= told, (method, path)
            assert "{ident}" not in path or "404" in told, (method, path)
