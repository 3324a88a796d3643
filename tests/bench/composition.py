"""Composition: tokens a second and time to first token against bare llama-cpp-python on the same prompt."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

from llama_cpp import Llama as Bare

from quorra.inference.chat.llama import Llama
from quorra.inference.packaged import SMOLLM2
from quorra.inference.protocol import Message
from tests.bench.measure import report
from tests.bench.vaults import sections

WORDS = 64
BAR = 1.10


def messages(turn: int, parts: list[str]) -> list[Message]:
    """Gives a prompt of some six hundred tokens that shares no beginning with any other turn's."""
    notes = "\n\n".join(parts[(7 * turn + offset) % len(parts)][:700] for offset in range(3))
    system = f"Household {turn}. Answer from the notes alone, in two sentences, and name the note."
    return [Message("system", system), Message("user", f"{notes}\n\nWhat do these notes say, and about what?")]


def timed(pieces: Iterator[str]) -> tuple[float, float]:
    """Gives the seconds to the first visible text, and the seconds a token after it."""
    begin = time.perf_counter()
    first, said = 0.0, 0
    for piece in pieces:
        if piece:
            said += 1
            first = first or time.perf_counter()
    return first - begin, (time.perf_counter() - first) / max(said - 1, 1)


def quorra(model: Llama, asked: list[Message]) -> Iterator[str]:
    for delta in model.generate(asked, max_tokens=WORDS):
        yield delta.text


def chat(model: Bare, asked: list[Message]) -> Iterator[str]:
    """Asks as most programs do: by messages, streaming."""
    model.reset()  # each turn is new to it, as it is to Quorra
    turns = [{"role": message.role, "content": message.content} for message in asked]
    for chunk in model.create_chat_completion(turns, stream=True, max_tokens=WORDS, temperature=0.0):
        yield chunk["choices"][0]["delta"].get("content", "")


def completion(model: Bare, asked: list[Message]) -> Iterator[str]:
    """Asks by a prompt that is laid out already, streaming."""
    text = "".join(f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in asked)
    prompt = f"{text}<|im_start|>assistant\n"
    model.reset()
    for chunk in model.create_completion(prompt, stream=True, max_tokens=WORDS, temperature=0.0):
        yield chunk["choices"][0]["text"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=0, help="0: one for every core")
    asked_for = parser.parse_args()
    rounds = 3 if asked_for.quick else 16
    parts, turns = sections(), count()
    path = str(SMOLLM2.path())
    ours = Llama(None, name="m", style="composition", threads=asked_for.threads)
    bare = Bare(path, n_ctx=4096, n_threads=ours.threads, n_threads_batch=ours.threads, verbose=False)
    plain = Bare(path, n_ctx=4096, verbose=False)
    works: dict[str, Callable[[list[Message]], Iterator[str]]] = {
        "quorra": lambda asked: quorra(ours, asked),
        "create_chat_completion, same threads": lambda asked: chat(bare, asked),
        "create_completion, same threads": lambda asked: completion(bare, asked),
        "create_chat_completion, as it comes": lambda asked: chat(plain, asked),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        asked = messages(next(turns), parts)
        for name in sorted(works, key=lambda name: hash((name, turn))):
            spent = timed(works[name](asked))
            if turn:
                taken[name].append(spent)
    same = [_text(work, messages(99, parts)) for work in works.values()]
    print(json.dumps({"same text as the floors": len(set(same)) == 1}))
    holds = True
    for at, figure in enumerate(("time to first token", "seconds a token")):
        medians = {name: statistics.median(spent[at] for spent in values) for name, values in taken.items()}
        mine = medians.pop("quorra")
        print(json.dumps({figure: {"quorra": mine, **medians}}))
        holds &= report(f"composition: {figure}", mine, medians, BAR)
    sys.exit(not holds)


def _text(work: Callable[[list[Message]], Iterator[str]], asked: list[Message]) -> str:
    return "".join(work(asked)).strip()


if __name__ == "__main__":
    main()
