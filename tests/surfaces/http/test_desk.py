"""The line at the model's desk: short, and never one person's alone."""

import threading

import pytest

from quorra.surfaces.http.desk import Busy, Desk


def test_one_person_leaves_a_place_for_others():
    desk = Desk(2)
    free = threading.Event()
    held = [desk.begin(lambda emit, gone: free.wait(20), lambda _: None, "member:mira") for _ in range(2)]
    with pytest.raises(Busy):
        desk.begin(lambda emit, gone: None, lambda _: None, "member:mira")
    other = desk.begin(lambda emit, gone: "done", lambda _: None, "owner")
    with pytest.raises(Busy):
        desk.begin(lambda emit, gone: None, lambda _: None, "member:tom")
    free.set()
    assert other.answer.result(20) == "done"
    assert all(turn.answer.result(20) for turn in held)
    assert desk.begin(lambda emit, gone: "again", lambda _: None, "member:mira").answer.result(20) == "again"
    desk.close()
