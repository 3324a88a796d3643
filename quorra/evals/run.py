"""Runs a suite against a home: rankings in every mode and, where asked, answers."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from quorra.agent.answer import Answer
from quorra.evals import scores
from quorra.evals.suite import Case, Suite
from quorra.home import Home
from quorra.index.found import Mode

MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")
DEPTH = 1000


@dataclass(frozen=True, slots=True)
class Run:
    """What a suite came to; ``answers`` counts outcomes where answers were asked for."""

    suite: str
    revision: str | None
    metrics: dict[str, dict[str, float]]
    cases: list[dict[str, Any]]
    answers: dict[str, int] | None = field(default=None)

    def fields(self) -> dict[str, Any]:
        """Gives the run as its JSON fields."""
        body: dict[str, Any] = {
            "suite": self.suite,
            "revision": self.revision,
            "metrics": self.metrics,
            "cases": self.cases,
        }
        return body if self.answers is None else {**body, "answers": self.answers}


def run(suite: Suite, home: Home, *, answers: bool = False, say: Callable[[str], None] = lambda _: None) -> Run:
    """Asks every question of the suite in every mode; the home's index must be caught up and embedded."""
    cases = [_case(case, home) for case in suite.cases]
    judged = [case for case in cases if case["scores"]]
    metrics = {str(mode): scores.mean([case["scores"][mode] for case in judged]) for mode in MODES}
    counts = _answers(suite, cases, home, say) if answers else None
    return Run(suite.name, home.ledger.head(), metrics, cases, counts)


def _case(case: Case, home: Home) -> dict[str, Any]:
    if not case.relevant:
        return {"id": case.id, "passed": None, "scores": {}}
    ranked = {mode: _ranking(case, home, mode) for mode in MODES}
    passed = bool(set(ranked["hybrid"][:5]) & set(case.grades))
    return {
        "id": case.id,
        "passed": passed,
        "scores": {mode: scores.score(ranked[mode], case.grades) for mode in MODES},
    }


def _ranking(case: Case, home: Home, mode: Mode) -> list[str]:
    found = home.search(case.question, k=DEPTH, mode=mode, window=home.window("owner", case.window), wait=0.0)
    return [hit.path for hit in found.hits]


def _answers(suite: Suite, cases: list[dict[str, Any]], home: Home, say: Callable[[str], None]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for number, (case, row) in enumerate(zip(suite.cases, cases, strict=True), 1):
        answer = home.ask(case.question, window=home.window("owner", case.window))
        right = is_right(case, answer)
        counts[answer.outcome] += 1
        counts["right"] += right
        counts["wrong"] += not right and answer.outcome in ("answered", "quoted")
        row["answer"] = {"outcome": answer.outcome, "right": right}
        if not case.relevant:
            row["passed"] = right
        if number % 20 == 0:
            say(f"{number} of {len(cases)} questions answered")
    return {name: counts[name] for name in ("right", "answered", "quoted", "not_found", "wrong")}


def is_right(case: Case, answer: Answer) -> bool:
    """Tells whether every expected word is in an answer whose citation carries it.

    Where the vault can't answer, only not_found is right.
    """
    if not case.relevant:
        return answer.outcome == "not_found"
    said = answer.answer.casefold()
    quotes = " ".join(citation.quote for citation in answer.citations).casefold()
    served = answer.outcome in ("answered", "quoted")
    return served and all(word.casefold() in said and word.casefold() in quotes for word in case.expect)
