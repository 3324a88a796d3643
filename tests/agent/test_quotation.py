"""An answer by quotation: what is chosen, when nothing is, and that every quote is the note's own text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorra.agent.asking import shown
from quorra.agent.asking.ask import answer
from quorra.agent.reading.sentences import sources
from quorra.inference.chat.scripted import Scripted
from tests.agent.passages import bare, found, hit

READING = (
    'Mira is reading "The Salt Orchard". On the flight she read half of "Tide Tables". '
    'Tom may give her "The Glass Ferry" for her birthday on 8 March.'
)
CAT = (
    "Pepper gets 60 grams of wet food at 7 in the morning. The cat food is kept in the pantry. "
    "She must never have milk."
)
BACKUP = (
    "The simplest backup is a copy of the whole home folder, made while nothing is running.\n\n"
    "```sh\ncp -a ~/house /mnt/backup/house\n```\n\n"
    "A backup that is a git remote holds the files and their history.\n"
)
PRIVACY = 'Everything stays on the machine. There is no telemetry. A question such as "What am I reading?" is private.'
RULES = (
    "# Rules\n\nThe kitchen has two rules:\n\n- wash up at once, and\n- never leave the [[stove|gas stove]] on\n\n"
    "The end is near.\n"
)
SERVERS = "| Server | Port | Keeper |\n|---|---|---|\n| alder | 8443 | Mira |\n| birch | 9000 | Tom |\n"
HITS = (
    hit("members/mira/reading.md", "Mira's reading list", READING),
    hit("household/cat.md", "Pepper the cat", CAT),
    hit("handbook/backup.md", "Backup and restoring", BACKUP),
    hit("handbook/privacy.md", "Privacy", PRIVACY),
    hit("household/kitchen.md", "The kitchen", RULES),
    hit("household/servers.md", "Servers", SERVERS),
    hit(
        "/facts/household.md", "Facts", "- 2026-05-12 The boiler's **filter** was changed by Brightwell. #home #heat\n"
    ),
)


def put(question, embedder):
    return answer(question, search=lambda _: found(HITS), chat=Scripted("quotation"), embedder=embedder, prompts=None)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When is Mira's birthday?", "8 March"),
        ("Is there any telemetry?", "There is no telemetry."),
        ("How much wet food does the cat get?", "60 grams"),
        ("Who looks after birch?", "Server: birch; Port: 9000; Keeper: Tom"),
        ("Which rules does the kitchen have?", "two rules: wash up at once; never leave the gas stove on"),
        ("When was the filter of the boiler changed?", "The boiler's filter was changed by Brightwell. [1]"),
        ("How do I back up my home?", "nothing is running. `cp -a ~/house /mnt/backup/house`"),
    ],
)
def test_what_answers_is_said_as_a_reader_sees_it(question, said, embedder):
    got = put(question, embedder)
    assert got.outcome == "quoted"
    assert said in got.answer


@pytest.mark.parametrize(
    "question",
    [
        "When is Tom's birthday?",
        "What does the dog eat?",
        "Which dog food do we buy?",
        "Is Mira allergic?",
        "Who wrote the handbook?",
        "What is the port of cedar?",
    ],
)
def test_another_of_the_kind_is_no_answer(question, embedder):
    got = put(question, embedder)
    assert (got.outcome, got.citations) == ("not_found", ())


def test_one_sentence_is_enough_where_it_surely_answers(embedder):
    assert bare(put("Where is the cat food kept?", embedder).answer) == "The cat food is kept in the pantry."


def test_an_example_question_is_never_quoted(embedder):
    assert "such as" not in put("What am I reading?", embedder).answer


def test_no_two_citations_name_the_same_line(embedder):
    for question in ("What food does Pepper get, and where is it kept?", "What does Mira read?"):
        places = [(one.path, one.lines) for one in put(question, embedder).citations]
        assert len(places) == len(set(places))


def test_pieces_of_one_passage_are_read_in_its_order():
    pieces = [shown.Piece(hit, start, start + 1, "x") for hit, start in ((2, 9), (0, 4), (2, 1), (0, 7))]
    assert [(one.hit, one.start) for one in shown.in_order(pieces)] == [(2, 1), (2, 9), (0, 4), (0, 7)]


def test_every_quote_is_verbatim_at_its_lines(embedder):
    texts = {one.path: one.text.split("\n") for one in HITS}
    for question in ("Which rules does the kitchen have?", "Who looks after birch?", "How do I back up my home?"):
        for one in put(question, embedder).citations:
            assert one.quote in "\n".join(texts[one.path][one.lines[0] - 1 : one.lines[1]])


def test_code_of_several_lines_stays_code():
    one = hit("a.md", "A", "Run this:\n\n```sh\nmake\nmake test\n```\n")
    (source,) = [each for each in sources([one]) if shown.sayable(each, one)]
    piece = shown.piece(source, one, lead=False, code=False)
    assert (piece.text, piece.block) == ("Run this:", "```sh\nmake\nmake test\n```")
    assert one.text[piece.start : piece.end] == "Run this:\n\n```sh\nmake\nmake test\n```"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("See [[household/car|the van]] and [[boiler#Annual service]]. ^serial", "See the van and boiler."),
        ("See [[home/boiler/overview]], [[overview]] and [[#Service]].", "See boiler, overview and Service."),
        ("Use [Get-X][01] or [this](a.md)[^4].", "Use Get-X or this."),
        ("Write `[[boiler|b]]` or `a_b_c`, **not** _that_.", "Write `[[boiler|b]]` or `a_b_c`, not that."),
        ("Press <kbd>Ctrl</kbd>+<kbd>R</kbd>.", "Press Ctrl+R."),
    ],
)
def test_markup_is_not_shown(text, seen):
    assert shown.visible(text) == seen


@given(st.text(alphabet=st.sampled_from("ab A.?\n-#|`*[]()_:^<>!"), max_size=120))
def test_any_text_can_be_shown(text):
    one = hit("a.md", "A", text)
    for source in sources([one]):
        if shown.sayable(source, one):
            piece = shown.piece(source, one, lead=source.anaphoric, code=True)
            assert source.text in one.text[piece.start : piece.end]


def test_what_is_left_out_between_two_sentences_is_marked():
    text = "One is red. Two is green. Three is blue."
    first, *_, last = [
        shown.piece(one, hit("a.md", "A", text), lead=False, code=False)
        for one in sources(found([hit("a.md", "A", text)]).hits)
    ]
    (whole,) = shown.joined([first, last], [hit("a.md", "A", text)])
    assert whole.text == "One is red. … Three is blue."


@pytest.mark.parametrize("question", ["What is Oriel?", "Who is Oriel?", "what's Oriel"])
def test_what_a_thing_is_called_to_be_answers_alone(question, embedder):
    texts = [
        "Oriel is a small lighthouse on the coast.",
        "Oriel closes at five.",
        "Ask Oriel for the key.",
        "Oriel has a boat.",
    ]
    hits = [hit(f"{at}.md", "Oriel", text) for at, text in enumerate(texts)]
    given = answer(question, search=lambda _: found(hits), chat=Scripted("quotation"), embedder=embedder, prompts=None)
    assert given.answer == f"{texts[0]} [1]"


def told(text):
    one = hit("a.md", "A", text)
    return [shown.piece(each, one, lead=False, code=False).text for each in sources([one])]


def test_markers_of_a_merge_are_no_text():
    text = "<<<<<<< HEAD\nThe tent is white.\n||||||| base\nIt was red.\n=======\nIt is orange.\n>>>>>>> origin/main\n"
    assert told(text) == ["The tent is white.", "It was red.", "It is orange."]
    assert told("It is white.\n=======\nIt is orange.") == ["It is white.", "It is orange."]
    assert told("Run this:\n\n```\n<<<<<<< HEAD\n```\n")[0] == "Run this: `<<<<<<< HEAD`"


def test_comments_are_not_said():
    text = (
        "The tent %%or so%% is white. It is dry.%% Or\n\nnot. %%\n\n%%\nA block.\n%%\n\nUse `%%x%%` <!-- no --> here."
    )
    assert told(text) == ["The tent is white.", "It is dry.", "Use `%%x%%` here."]


@pytest.mark.parametrize(
    "embed", ["![[photo.png]]", "![](a/photo.png)", "![photo.png](a/photo.png)", "![[photo.png|300]]"]
)
def test_the_file_of_an_embed_is_not_said(embed):
    assert told(f"Today Mira planted 12 tulips. {embed}") == ["Today Mira planted 12 tulips."]


def test_the_target_of_a_link_is_nobody(embedder):
    texts = ["Tom repaired the roof.", "Roof repair and [costs](../Money/Costs.md) and [[Missing Note|missing note]]."]
    hits = [hit(f"{at}.md", "Roof", text) for at, text in enumerate(texts)]
    given = answer(
        "Who repaired the roof?",
        search=lambda _: found(hits),
        chat=Scripted("quotation"),
        embedder=embedder,
        prompts=None,
    )
    assert given.answer == f"{texts[0]} [1]"
