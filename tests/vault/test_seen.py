"""What is blanked of a text, and that nothing moves and no text takes long."""

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorra.vault.reading import parse
from quorra.vault.reading.seen import seen


@given(st.text(alphabet=st.sampled_from("a %`~<!->=|\n\r"), max_size=80))
def test_nothing_moves(text: str):
    after = seen(text)
    assert len(after) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, after, strict=True))


@pytest.mark.parametrize("text", ["```\n%%a%%\n", "~~~\n%%a%%\n~~~", "``%% ` %%``", "50%% only", "A title\n======="])
def test_code_and_what_is_never_closed_stay(text: str):
    assert seen(text) == text


def test_a_link_in_a_comment_stays_a_link():
    (link,) = parse.note("a.md", b"Seen. %% See [[other]]. %%").links
    assert (link.target, link.line) == ("other", 1)


@pytest.mark.parametrize("text", ["%% `a ``b ```c <!-- ", "<!--", "`a ", "=======\n", "```\n", "> "])
def test_a_hostile_text_is_read_in_no_time(text: str):
    start = perf_counter()
    seen(text * 20_000 + "%%")
    assert perf_counter() - start < 2
