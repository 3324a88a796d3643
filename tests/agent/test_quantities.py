"""Exact statements are read whatever their form, and compared by what they say."""

import pytest

from quorra.agent.reading.numerals import quantities
from quorra.agent.reading.quantity import carries
from quorra.agent.reading.reader import read


def one(text):
    (found,) = read(text).quantities
    return found


@pytest.mark.parametrize(
    ("source", "draft"),
    [
        ("1.5 bar", "1,5 bar"),
        ("1,200 euros", "€1200"),
        ("12 May 2026", "2026-05-12"),
        ("12 May 2026", "May 12th, 2026"),
        ("12 May 2026", "May 2026"),
        ("25/03/2027", "25 March 2027"),
        ("7:30", "half past seven"),
        ("18:30", "6:30 pm"),
        ("a quarter past five in the afternoon", "17:15"),
        ("90 minutes", "an hour and a half"),
        ("90 minutes", "one and a half hours"),
        ("one hundred and twenty pages", "120 pages"),
        ("every second Thursday", "every other Thursday"),
        ("every two weeks", "fortnightly"),
        ("each year", "annually"),
        ("twice", "two times"),
        ("10-12 minutes", "10 to 12 minutes"),
        ("30 °C", "30 degrees Celsius"),
        ("half a litre", "500 ml"),
        ("+49 30 123456", "+49 (30) 123456"),
    ],
)
def test_one_form_carries_another(source, draft):
    source, draft = read(source).quantities, read(draft).quantities
    assert draft
    assert all(any(carries(mine, theirs) for mine in source) for theirs in draft)


@pytest.mark.parametrize(
    ("source", "draft"),
    [
        ("1.5 bar", "1.5 psi"),
        ("1.5 bar", "15 bar"),
        ("March 2027", "12 March 2027"),
        ("12 May 2026", "5 December 2026"),
        ("12/05/2026", "12 May 2026"),  # day and month can't be told apart
        ("7:30", "7:30 pm"),
        ("every second Thursday", "every Thursday"),
        ("2 weeks", "2 days"),
        ("10 to 12 minutes", "10 minutes"),
        ("8 cents", "8 euros"),
        ("at most 8 tablets", "at least 8 tablets"),
        ("8 tablets", "over 8 tablets"),
        ("the first Monday", "the second Monday"),
        ("AX-20", "AX-2"),
        ("30 °C", "30 °F"),
    ],
)
def test_a_changed_statement_is_not_carried(source, draft):
    source, draft = quantities(source), quantities(draft)
    assert not all(any(carries(mine, theirs) for mine in source) for theirs in draft)


def test_a_number_takes_its_unit_from_its_list():
    front, rear = read("2.4 front, 2.7 bar rear").quantities
    assert (front.unit, rear.unit) == ("bar", "bar")


def test_may_is_a_month_only_where_it_can_be_one():
    assert [found.text for found in quantities("You may come in May.")] == ["May"]


def test_one_is_a_number_only_before_what_it_counts():
    assert [found.text for found in quantities("The blue one and one of them, but one spare key.")] == ["one"]


def test_identifiers_are_whole():
    found = quantities("Run quorra init --empty; the index is in .quorra/index, the serial number 88-1423.")
    assert [one.text for one in found] == ["--empty", ".quorra/index", "88-1423"]


def test_an_hour_is_no_half():
    assert one("half an hour").value == (0.5,)
