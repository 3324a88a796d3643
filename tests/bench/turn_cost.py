"""The loop's own cost a turn: all that a turn takes beyond the model and the search, with 10,000 messages before it.

The floor is the same scripted model read to its end, and the same search, each by itself
and in the same run; what a turn takes beyond both is the loop's own.

Usage: python -m tests.bench.turn_cost [--quick]
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from quorra.agent.conversation.kept import Stores
from quorra.home import Home
from quorra.inference.protocol import Message
from tests.agent.conversation.talk import Person, call, made, opened
from tests.bench.measure import seconds

BAR = 0.015
WORDS = "The boiler pressure should stay at 1.4 bar."
STEP = call("search_knowledge_base", question="boiler pressure")
SAID = f"What should the boiler pressure be?\n{STEP}\n!then\n!say {WORDS}"


def fill(stores: Stores, session: str, person: Person, messages: int) -> None:
    """Puts a long history into a session."""
    with stores.database.transaction():
        for at in range(messages):
            kind = "assistant" if at % 2 else "user"
            stores.sessions.append(session, kind, f"Message {at}: {WORDS}", person.now)


def speak(home: Home, messages: list[Message]) -> None:
    """Reads the model to its end."""
    running = home.model.generate(messages)
    for _ in running:
        pass


def floor(home: Home, person: Person) -> float:
    """Times the model's two steps and the search by themselves."""
    asked = [Message("system", "x"), Message("user", SAID)]
    again = [*asked, Message("assistant", ""), Message("tool", "found", answers="1")]
    window = home.window("owner", None)
    model = seconds(lambda: speak(home, asked)) + seconds(lambda: speak(home, again))
    return model + seconds(lambda: home.search("boiler pressure", window=window, k=5))


def main() -> None:
    quick = "--quick" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        home = opened(made(Path(folder) / "home"))
        home.sync()
        person = Person(home)
        person.say("!say Hello.")
        assert person.session
        fill(home.stores, person.session, person, 1000 if quick else 10_000)
        turns, floors = [], []
        for at in range(10 if quick else 60):
            turns.append(seconds(lambda: person.say(SAID)))
            floors.append(floor(home, person))
            if at == 0:
                assert person.entries("assistant")[-1].text == WORDS
        home.close()
    own = statistics.median(turns[5:]) - statistics.median(floors[5:])
    row = {"figure": "turn_cost", "turn": statistics.median(turns[5:]), "floor": statistics.median(floors[5:])}
    print(json.dumps({**row, "own": own, "bar": BAR, "unit": "s", "holds": own < BAR}))
    sys.exit(own >= BAR)


if __name__ == "__main__":
    main()
