"""A server elsewhere: how it is away, how it refuses, and that stopping reaches it."""

import socket
import threading
import time

import pytest

from quorra.inference.chat.remote import Remote
from quorra.inference.embed.remote import RemoteEmbedder
from quorra.inference.protocol import Delta, GenerationFailed, Message, ModelAway
from quorra.inference.server import Server
from tests.inference.sse import streaming

ASK = [Message("user", "?")]
MANY = [{"content": f"{number} "} for number in range(50)]


def remote(url: str, timeout: float = 5.0, name: str = "m") -> Remote:
    return Remote(Server(url, key="secret", timeout=timeout), name=name, style="composition")


def nobody() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


@pytest.mark.parametrize("name", ["m", ""])
def test_a_server_that_is_not_there_is_a_model_away(name: str) -> None:
    model = remote(nobody(), name=name)
    assert not model.reachable()
    with pytest.raises(ModelAway, match="No model server answers at http://127") as told:
        list(model.generate(ASK))
    assert told.value.next
    with pytest.raises(ModelAway):
        RemoteEmbedder(Server(nobody()), name=name).embed(["x"])


def test_a_server_that_stays_silent_is_a_model_away() -> None:
    with streaming([], "hang") as server, pytest.raises(ModelAway, match=r"within 0\.3 seconds"):
        list(remote(server.url, timeout=0.3).generate(ASK))


def test_a_server_that_falls_silent_in_the_middle_is_an_error() -> None:
    with streaming([{"content": "The boiler"}], "hang") as server, pytest.raises(GenerationFailed, match="broke off"):
        list(remote(server.url, timeout=0.3).generate(ASK))


@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        ("401", ModelAway, "refuses the key"),
        ("404", ModelAway, "no such model"),
        ("429", ModelAway, "can't answer now"),
        ("500", ModelAway, "can't answer now"),
        ("400", GenerationFailed, "refused the request"),
    ],
)
def test_a_refusal_says_which_and_keeps_the_key_to_itself(status: str, error: type[Exception], says: str) -> None:
    with streaming([], status) as server, pytest.raises(error, match=says) as told:
        list(remote(server.url).generate(ASK))
    assert "secret" not in f"{told.value}"


def test_what_answers_with_something_else_is_no_model() -> None:
    with streaming([], "garbage") as server, pytest.raises(GenerationFailed, match="something else"):
        list(remote(server.url).generate(ASK))


def test_cancelling_closes_the_upstream() -> None:
    stop = threading.Event()
    with streaming([{"content": "The boiler is"}], "hang") as server:
        reply = remote(server.url).generate(ASK, cancelled=stop.is_set)
        seen: list[Delta] = []
        for delta in reply:
            seen.append(delta)
            stop.set()
        assert server.gone.wait(2.0)
    assert "".join(delta.text for delta in seen) == "The boiler is"
    assert reply.usage is not None
    assert reply.usage.finish == "cancelled"


def test_closing_reaches_an_upstream_that_has_said_nothing_yet() -> None:
    with streaming([], "hang") as server:
        reply = remote(server.url).generate(ASK)
        reading = threading.Thread(target=lambda: list(reply))
        reading.start()
        while not server.requests:
            time.sleep(0.01)
        reply.close()
        assert server.gone.wait(2.0)
        reading.join(2.0)
        assert not reading.is_alive()


def test_leaving_the_loop_and_closing_reaches_the_upstream() -> None:
    with streaming(MANY, "hang") as server:
        reply = remote(server.url).generate(ASK)
        for _ in reply:
            break
        reply.close()
        assert server.gone.wait(2.0)


def test_reasoning_of_either_field_is_its_own_channel() -> None:
    deltas = [{"reasoning_content": "plan "}, {"reasoning": "more"}, {"content": "Said."}]
    with streaming(deltas) as server:
        seen = list(remote(server.url).generate(ASK))
    assert seen == [Delta("reasoning", "plan "), Delta("reasoning", "more"), Delta("text", "Said.")]


def test_usage_is_what_the_server_counted() -> None:
    with streaming([{"content": "a"}, {"content": "b"}], finish="length") as server:
        reply = remote(server.url).generate(ASK)
        list(reply)
    assert reply.usage is not None
    assert (reply.usage.prompt, reply.usage.evaluated, reply.usage.generated) == (9, 9, 2)
    assert reply.usage.finish == "length"


def test_a_lone_surrogate_can_be_asked() -> None:
    with streaming([{"content": "a"}]) as server:
        list(remote(server.url).generate([Message("user", "x\ud800y")]))
        assert server.requests[0]["messages"] == [{"role": "user", "content": "x?y"}]


def test_a_model_that_nobody_named_has_the_servers_name() -> None:
    with streaming([{"content": "Yes."}]) as server:
        model = remote(server.url, name="")
        list(model.generate(ASK))
        assert (model.name, server.requests[0]["model"]) == ("m7", "m7")


@pytest.mark.parametrize("deltas", [[{"content": "x" * 100_000}] * 20, [{"content": ""}]])
def test_a_server_that_sends_too_much_or_nothing_is_cut_off(deltas: list[dict[str, str]]) -> None:
    with streaming(deltas, "done") as server:
        reply = Remote(Server(server.url, timeout=5.0), name="m", style="composition").generate(
            [Message("user", "?")], max_tokens=20
        )
        text = "".join(delta.text for delta in reply)
    assert len(text) <= 200_000
    assert reply.usage is not None
    assert reply.usage.finish in ("length", "empty")
