"""An edit fits a text that changed elsewhere, and says where it doesn't."""

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from quorra.access.changes import patch
from quorra.access.changes.patch import Conflict

TEXTS = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"c\n", b"\n", b"d"]), max_size=9).map(b"".join)


def edited(old: bytes, new: bytes, now: bytes) -> bytes | Conflict:
    return patch.apply(old, patch.hunks(old, new), now)


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_on_its_own_text_an_edit_is_itself(old: bytes, new: bytes):
    assert edited(old, new, old) == new


def test_edits_of_neighbouring_lines_fit_in_any_order():
    old = b"one\ntwo\nthree\nfour\n"
    wanted = [old.replace(word, word.upper()) for word in (b"one", b"two", b"three", b"four")]
    for order in permutations(wanted):
        now = old
        for new in order:
            step = edited(old, new, now)
            assert isinstance(step, bytes)
            now = step
        assert now == old.upper()


def test_the_same_line_edited_otherwise_is_a_conflict():
    assert edited(b"x\ntwo\n", b"x\n2\n", b"x\nTwo!\n") == Conflict(2)


def test_twice_is_a_conflict_and_not_twice_the_text():
    assert edited(b"x\ntwo\n", b"x\n2\n", b"x\n2\n") == Conflict(2)


def test_an_addition_keeps_its_place():
    assert edited(b"a\nb\n", b"a\nnew\nb\n", b"zero\na\nb\nend\n") == b"zero\na\nnew\nb\nend\n"
    assert edited(b"a\nb\n", b"a\nb\nnew\n", b"a\nb\nother\n") == b"a\nb\nother\nnew\n"
    assert edited(b"a\nb\n", b"a\nnew\nb\n", b"c\nd\n") == Conflict(2)
