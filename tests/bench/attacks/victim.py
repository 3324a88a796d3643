"""A process beside the service that says something on the same home, and may be killed in the middle of it.

Usage: python -m tests.bench.attacks.victim HOME

What is said comes as JSON on its standard input, and then a line by which it begins.
"""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from quorra import settings
from quorra.access.principals import named
from quorra.agent.conversation.reply import Reply, Said
from quorra.errors import QuorraError
from quorra.home import Home
from tests.bench.attacks.puppet import Puppet


def say(home: Home, told: dict[str, Any]) -> Reply:
    """Says something in a home as the service would have it said."""
    body = {key: value for key, value in told["body"].items() if value is not None}
    if "scope" in body:
        body["scope"] = tuple(body["scope"])
    now = datetime.now().astimezone()
    return home.talks.say(Said(**body), named(told["principal"]), surface="http", now=now)


def main() -> None:
    told = json.loads(sys.stdin.readline())
    home = Home.open(settings.read(Path(sys.argv[1])))
    puppet = Puppet()
    puppet.expect(told["body"]["message"], "owner", told["model"])
    home.__dict__["model"] = puppet
    for room in (home.keys, home.index, home.talks, home.proposals, home.audit):
        assert room is not None
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print(repr(say(home, told)), flush=True)
    except QuorraError as error:
        print(repr(error), flush=True)


if __name__ == "__main__":
    main()
