"""The page in a real browser."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.surfaces.http.conftest import BOILER, BROKEN, LOOKED, LOOSE, SLOW, SURE, THOUGHT, UNSURE, Service, call

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass
class Visit:
    """A page that came in by the printed link; what it complains about or asks of others is kept."""

    page: "playwright.Page"
    complaints: list[str]
    foreign: list[str]


@pytest.fixture(scope="module")
def visit(service: Service) -> Iterator[Visit]:
    """Chromium, as the machine has it, at the door of the service."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(color_scheme="dark")
        visit = Visit(page, [], [])
        page.on("console", lambda told: visit.complaints.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on("request", lambda asked: visit.foreign.append(asked.url))
        page.goto(f"{service.url}?token={service.token}")
        yield visit
        browser.close()


def test_a_person_asks_searches_and_stops(visit: Visit, service: Service) -> None:
    page = visit.page
    assert page.url == service.url
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 27)"
    expect = playwright.expect

    page.get_by_label("Ask your notes").fill(LOOKED)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer")).to_contain_text("1.4 bar", timeout=20_000)
    expect(page.locator("#list")).to_contain_text("household/boiler.md")
    expect(page.locator("#answer mark")).to_have_count(0)
    expect(page.locator("#asked")).to_have_text(LOOKED)
    expect(page.get_by_label("Ask your notes")).to_have_value("")
    expect(page.locator("#list .where").first).to_contain_text(re.compile(r"\.md, line(s \d+ to)? \d+$"))

    page.get_by_label("Ask your notes").fill(THOUGHT)
    page.keyboard.press("Enter")
    expect(page.locator("#reasoning")).to_contain_text("note on the boiler", timeout=20_000)
    expect(page.locator("#answer")).to_contain_text("1.4 bar")
    expect(page.locator("#answer")).not_to_contain_text("note on the boiler")
    expect(page.locator("#past")).to_contain_text(LOOKED)

    page.get_by_label("Ask your notes").fill("paper bins")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#list")).to_contain_text("household/bins.md", timeout=20_000)
    expect(page.locator("#answer")).to_be_empty()

    page.get_by_label("Ask your notes").fill(SLOW)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Stop").click(timeout=20_000)
    expect(page.locator("#status")).to_have_text("Stopped.")
    assert service.client.post("/chat", json={"message": SURE}, timeout=10).status_code == 200


def test_a_conversation_goes_on_in_its_session_and_over_a_reload(visit: Visit, service: Service) -> None:
    page, expect = visit.page, playwright.expect
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#past")).to_be_empty()
    for _ in range(2):
        page.get_by_label("Ask your notes").fill(SURE)
        page.keyboard.press("Enter")
        expect(page.locator("#answer")).to_contain_text("1.4 bar", timeout=20_000)
        expect(page.locator("#ask")).to_be_enabled()
    newest = service.client.get("/sessions").json()["sessions"][0]
    assert newest["scope"] == ["general"]
    assert len(service.client.get(f"/sessions/{newest['id']}/messages").json()["messages"]) == 4
    page.reload()
    expect(page.locator("#past p")).to_have_count(4)


def test_a_sentence_that_nothing_carries_is_marked(visit: Visit) -> None:
    page, expect = visit.page, playwright.expect
    page.get_by_role("button", name="New conversation").click()
    page.get_by_label("Ask your notes").fill(UNSURE)
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_have_text(f"{LOOSE} {BOILER}", timeout=20_000)
    expect(page.locator("#answer mark")).to_have_count(1)
    expect(page.locator("#answer mark")).to_have_text(LOOSE)


def test_what_waits_is_a_card_that_is_answered_by_a_button(visit: Visit, service: Service) -> None:
    page, expect = visit.page, playwright.expect
    note = service.home / "vault" / "household" / "card.md"
    page.get_by_role("button", name="New conversation").click()
    for text in ("One.", "Two."):
        asked = call("document", path="household/card.md", text=f"# Card\n\n{text}\n")
        page.evaluate("text => { run(() => ask(text)) }", asked)
        expect(page.locator("#notices")).to_contain_text("card", timeout=20_000)
        expect(page.locator("#ask")).to_be_enabled()
    ident = service.client.get("/inbox").json()["items"][-1]["id"]
    approve = call("review_approve", id=ident) + "\n!then\n!say Done."
    page.evaluate("text => { run(() => ask(text)) }", approve)
    card = page.get_by_label("Waiting for your yes")
    expect(card).to_contain_text(ident, timeout=20_000)
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.locator("#status")).to_have_text("Not done.")
    expect(card).to_be_hidden()
    assert service.client.get("/confirmations").json() == {"confirmations": []}
    page.evaluate("text => { run(() => ask(text)) }", approve)
    expect(card).to_be_visible(timeout=20_000)
    expect(card).to_contain_text(ident)
    page.reload()
    expect(card).to_be_visible()
    expect(card).to_contain_text(ident)
    assert "One." in note.read_text(encoding="utf-8")
    page.get_by_role("button", name="Yes, do it").click()
    expect(page.locator("#answer")).to_contain_text("Done.", timeout=20_000)
    expect(card).to_be_hidden()
    assert "Two." in note.read_text(encoding="utf-8")
    note.unlink()


def test_what_broke_off_is_not_shown_as_an_answer(visit: Visit, service: Service) -> None:
    page = visit.page
    page.get_by_label("Ask your notes").fill(BROKEN)
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#status")).not_to_have_text("Looking …", timeout=20_000)
    playwright.expect(page.locator("#stop")).to_be_disabled(timeout=20_000)
    assert BOILER not in page.locator("#answer").inner_text()
    assert page.locator("#status").inner_text() != ""


def test_markup_in_a_note_stays_text(visit: Visit, service: Service) -> None:
    page = visit.page
    hostile = '<img src=x onerror="document.title=1"> marmalade'
    note = service.home / "vault" / "hostile.md"
    note.write_text(f"# Jam\n\nThe shelf holds `{hostile}` and more.\n", encoding="utf-8")
    page.get_by_label("Ask your notes").fill("marmalade")
    page.get_by_role("button", name="Search").click()
    playwright.expect(page.locator("#list")).to_contain_text("marmalade", timeout=20_000)
    assert page.locator("#list img").count() == 0
    assert page.title() == "Quorra"
    note.unlink()


def test_the_page_asks_nobody_else_and_complains_of_nothing(visit: Visit, service: Service) -> None:
    assert visit.page.title() == "Quorra"
    assert [url for url in visit.foreign if not url.startswith(service.url)] == []
    assert visit.complaints == []
