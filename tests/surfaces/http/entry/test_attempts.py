"""How guesses are counted: by whoever an address belongs to, for a while, and never without end."""

from time import perf_counter, sleep

import pytest

from quorra.surfaces.http.entry.attempts import Attempts, TooManyTries, place


def waits(attempts: Attempts, address: str, secret: str) -> bool:
    try:
        attempts.failed(address, secret)
    except TooManyTries:
        return True
    return False


def test_the_addresses_of_one_network_of_ipv6_are_one_guesser():
    attempts = Attempts(most=3)
    tries = [waits(attempts, f"2001:db8:0:1::{number:x}", f"guess{number}") for number in range(1, 6)]
    assert tries == [False, False, False, True, True]
    assert not waits(attempts, "2001:db8:0:2::1", "guess")
    assert not waits(attempts, "192.0.2.1", "guess")


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::7", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("odd", "odd"),
    ],
)
def test_an_address_counts_as_whose_it_is(address: str, found: str):
    assert place(address) == found


def test_a_guesser_waits_a_while_and_no_longer():
    attempts = Attempts(most=2, seconds=0.2)
    assert [waits(attempts, "a", secret) for secret in "123"] == [False, False, True]
    sleep(0.25)
    assert [waits(attempts, "a", secret) for secret in "4456"] == [False, False, False, True]


def test_guesses_from_everywhere_take_neither_room_nor_time():
    attempts = Attempts(places=100)
    begun = perf_counter()
    for number in range(20_000):
        attempts.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", "guess")
    assert len(attempts) == 100
    assert perf_counter() - begun < 4
