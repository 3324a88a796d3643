"""Schemathesis on the service's own OpenAPI document, as every kind of visitor, on a home that was lived in.

Usage: python -m tests.bench.schema [--quick]
"""

import json
import sys
import tempfile
from pathlib import Path

import httpx

from tests.surfaces.http import lived

PHASES = "examples,coverage,fuzzing,stateful"


def main(quick: bool) -> bool:
    """Lets each visitor try every address; tells whether none met a 5xx or an answer that is not documented."""
    with tempfile.TemporaryDirectory(prefix="quorra-bench-") as folder:
        root = Path(folder)
        (root / "home").mkdir()
        service = lived.lived_in(root / "home", root / "log")
        try:
            return _all(service, root, 5 if quick else 60)
        finally:
            service.stop()


def _all(service: "lived.Service", root: Path, examples: int) -> bool:
    visitors = dict(lived.principals(service))
    with httpx.Client(base_url=service.url, headers=visitors["member"], timeout=60) as mira:
        outcomes, addresses = {}, set()
        for who, headers in visitors.items():
            # Whoever came before may have forgotten or decided what was there.
            schema = lived.document(service, lived.furnish(service, mira), root / "openapi.json")
            addresses = set(json.loads(schema.read_text(encoding="utf-8"))["paths"])
            outcomes[who] = lived.tried(service, schema, headers, examples, PHASES)
            print(f"{who}: {outcomes[who].statuses}", flush=True)
            for complaint in outcomes[who].complaints:
                print(complaint, flush=True)
    closed = all(outcomes[who].served <= {"/health"} for who in ("stranger", "revoked"))
    holds = closed and all(found.good for found in outcomes.values())
    requests = {who: sum(found.statuses.values()) for who, found in outcomes.items()}
    server = sum(count for found in outcomes.values() for status, count in found.statuses.items() if status >= 500)
    row = {"figure": "schemathesis as every visitor", "addresses": len(addresses), "requests": requests}
    print(
        json.dumps(
            {
                **row,
                "closed to strangers": closed,
                "5xx": server,
                "complaints": _count(outcomes),
                "bar": 0,
                "holds": holds,
            }
        )
    )
    return holds


def _count(outcomes: dict[str, lived.Tried]) -> int:
    return sum(len(found.complaints) for found in outcomes.values())


if __name__ == "__main__":
    sys.exit(not main("--quick" in sys.argv[1:]))
