"""A question's whole way: search, prompt, model, verifier, answer; with a scripted model and real everything else."""

import json
from pathlib import Path

import pytest

from quorra import home as homes
from quorra import settings
from quorra.agent.asking.answer import Event
from quorra.agent.asking.ask import answer
from quorra.agent.prompting.prompt import Prompts
from quorra.home import PASSAGES, SHIPPED, Home
from quorra.inference.chat.llama import Llama
from quorra.inference.chat.scripted import Scripted, _tokens
from quorra.inference.open import chat
from quorra.inference.protocol import GenerationFailed
from quorra.settings import Model
from tests.agent.passages import BINS, BOILER, CAR, bare, found

PROMPTS = Prompts(Path("nowhere"), SHIPPED / "prompts")
PRESSURE = "What pressure does the boiler run at?"
TRUTH = "The boiler runs at 1.5 bar when cold."
LIE = "The boiler runs at 2.4 bar when cold."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    root = tmp_path_factory.mktemp("asked") / "home"
    for name, text in (("boiler", BOILER), ("car", CAR), ("bins", BINS)):
        note = root / "vault" / "household" / f"{name}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"# {name.title()}\n\n{text}\n", encoding="utf-8")
    homes.create(root, vault="vault", empty=True)
    home = Home.open(settings.read(root))
    home.sync()
    yield home
    home.close()


@pytest.fixture
def script(tmp_path):
    def write(replies: dict[str, str | list[str]], style="composition") -> Scripted:
        file = tmp_path / "replies.json"
        file.write_text(json.dumps(replies), encoding="utf-8")
        return Scripted(style, replies=file)

    return write


def put(home, question, model, **more):
    return answer(
        question,
        search=lambda words: home.search(words, window=home.window("owner", None), k=PASSAGES, per_note=False),
        chat=model,
        embedder=home.embedder,
        prompts=home.prompts,
        **more,
    )


def test_the_models_own_words_are_served_with_the_passage_that_carries_them(home, script):
    got = put(home, PRESSURE, script({PRESSURE: TRUTH}))
    assert (got.outcome, bare(got.answer), got.model) == ("answered", TRUTH, "scripted")
    (citation,) = got.citations
    assert citation.path == "household/boiler.md"
    assert "1.5 bar" in citation.quote
    note = (home.settings.home / "vault" / citation.path).read_text(encoding="utf-8")
    first, last = citation.lines
    assert citation.quote in "\n".join(note.split("\n")[first - 1 : last])
    assert home.ledger.head() == citation.commit


def test_a_lie_is_asked_again_and_then_quoted_away(home, script):
    model = script({PRESSURE: LIE})
    got = put(home, PRESSURE, model)
    assert got.outcome == "quoted"
    assert LIE not in got.answer
    assert "1.5 bar" in got.answer


def test_a_second_try_that_stands_is_served(home, script):
    again = "That answer can't be shown"
    got = put(home, PRESSURE, script({PRESSURE: LIE, again: TRUTH}))
    assert (got.outcome, bare(got.answer)) == ("answered", TRUTH)


def test_no_token_goes_out_before_the_whole_draft_stands(home, script):
    events: list[Event] = []
    draft = f"<think>hm</think>{TRUTH} Its rear tyres take 9.9 bar."
    got = put(home, PRESSURE, script({PRESSURE: draft}), emit=events.append)
    shown = "".join(event.text for event in events if event.kind == "token")
    assert shown == got.answer
    assert "9.9" not in shown
    assert [event.text for event in events if event.kind == "reasoning"]
    assert [event.text for event in events if event.kind == "status"][:2] == ["looking up", "writing"]


def test_what_answers_something_else_is_left_out(home, script):
    got = put(home, PRESSURE, script({PRESSURE: f"{TRUTH} The last service cost 96 euros."}))
    assert bare(got.answer) == TRUTH


def test_two_notes_give_two_citations(home, script):
    question = "When do the paper bins go out and when is the van's inspection due?"
    reply = "Paper bins go out every second Thursday, and the inspection is due in March 2027."
    got = put(home, question, script({question: reply}))
    assert bare(got.answer) == reply
    assert [one.path for one in got.citations] == ["household/bins.md", "household/car.md"]


def test_a_model_that_finds_nothing_is_believed_and_near_misses_are_named_as_such(home, script):
    question = "What is the boiler's warranty period?"
    got = put(home, question, script({question: "NOT FOUND"}))
    assert got.outcome == "not_found"
    assert not got.citations
    assert got.near
    assert "nearest" in got.answer


def test_a_name_that_no_passage_knows_is_not_found(home, script):
    got = put(home, "Which Grafana dashboard watches the boiler?", script({}, style="quotation"))
    assert (got.outcome, got.citations) == ("not_found", ())


def test_quotation_is_verbatim(home, script):
    got = put(home, "What pressure do the van's rear tyres need?", script({}, style="quotation"))
    assert got.outcome == "quoted"
    assert got.answer.startswith("The van is blue. Its front tyres take 2.4 bar and the rear tyres 2.7 bar.")


def test_style_overrides_what_the_model_declares(home, script):
    got = put(home, PRESSURE, script({PRESSURE: TRUTH}), style="quotation")
    assert got.outcome == "quoted"


def test_a_model_that_is_away_is_an_outcome(home):
    away = chat(Model(backend="openai", url="http://127.0.0.1:9/v1", name="none", timeout=2))
    got = put(home, PRESSURE, away)
    assert got.outcome == "model_away"
    assert got.near


def test_a_failure_in_the_middle_is_an_error(home, script):
    with pytest.raises(GenerationFailed):
        put(home, PRESSURE, script({PRESSURE: "!say The boiler\n!fail"}))


def test_the_rules_and_the_passages_are_not_evaluated_again(embedder):
    model = Llama(None, name="small", style="composition", context=4096)
    kept = []
    generate = model.generate

    class Watched:
        name, abilities = model.name, model.abilities

        def generate(self, messages, **options):
            kept.append(generate(messages, **options))
            return kept[-1]

        def reachable(self):
            return True

        def close(self):
            model.close()

    for question in (PRESSURE, "What is the serial number of the boiler?"):
        answer(
            question,
            search=lambda _: found(),
            chat=Watched(),
            embedder=embedder,
            prompts=PROMPTS,
            retries=0,
            max_tokens=4,
        )
    first, second = (one.usage for one in kept)
    model.close()
    assert first.evaluated > 200
    assert second.evaluated < 40 < second.prompt - second.evaluated


def test_a_bare_yes_belongs_to_what_follows(home, script):
    question = "May glass go in the paper bin?"
    no = "No. Glass must never go in the paper bin."
    assert bare(put(home, question, script({question: no})).answer) == no
    got = put(home, question, script({question: "Yes. Glass must never go in the paper bin."}))
    assert got.outcome == "quoted"


def test_a_model_may_say_in_its_own_way_that_it_found_nothing(home, script):
    question = "What is the boiler's warranty period?"
    got = put(home, question, script({question: "The passages do not mention a warranty."}))
    assert got.outcome == "not_found"


def test_half_a_sentence_is_not_served(home, script):
    for room, outcome in ((400, "answered"), (len(list(_tokens(TRUTH))) - 1, "quoted")):
        got = put(home, PRESSURE, script({PRESSURE: TRUTH}), max_tokens=room)
        assert got.outcome == outcome
