"""Runs a suite against a home: rankings in every mode and, where asked, answers."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from quorra.agent.asking.answer import Answer
from quorra.evals import scores
from quorra.evals.suite import Case, Suite
from quorra.home import Home
from quorra.index.found import Mode

MODES: tuple[Mode, ...] = ("hybrid", "words", "meaning")
DEPTH = 1000


@dataclass(frozen=True, slots=True)
class Answered:
    """How a case's question was answered."""

    outcome: str
    right: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to: scores by mode, none where the vault can't answer; ``passed`` None where nothing told."""

    id: str
    passed: bool | None
    scores: Mapping[str, Mapping[str, float]]
    answer: Answered | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What a suite came to; ``answers`` counts outcomes where answers were asked for."""

    suite: str
    revision: str | None
    metrics: Mapping[str, Mapping[str, float]]
    cases: Sequence[Outcome]
    answers: Mapping[str, int] | None = None


def run(suite: Suite, home: Home, *, answers: bool = False, say: Callable[[str], None] = lambda _: None) -> Run:
    """Asks every question of the suite in every mode; the home's index must be caught up and embedded."""
    ranked = [_ranked(case, home) for case in suite.cases]
    answered = _answered(suite, home, say) if answers else [None] * len(ranked)
    cases = [_outcome(*each) for each in zip(suite.cases, ranked, answered, strict=True)]
    judged = [case.scores for case in cases if case.scores]
    metrics = {str(mode): scores.mean([each[mode] for each in judged]) for mode in MODES}
    return Run(suite.name, home.ledger.head(), metrics, cases, _counts(cases) if answers else None)


def _ranked(case: Case, home: Home) -> dict[Mode, list[str]]:
    """Gives the paths found in each mode; none where there is nothing to find."""
    return {mode: _ranking(case, home, mode) for mode in MODES} if case.relevant else {}


def _ranking(case: Case, home: Home, mode: Mode) -> list[str]:
    found = home.search(case.question, k=DEPTH, mode=mode, window=home.window("owner", case.window), wait=0.0)
    return [hit.path for hit in found.hits]


def _answered(suite: Suite, home: Home, say: Callable[[str], None]) -> list[Answered]:
    found = []
    for number, case in enumerate(suite.cases, 1):
        answer = home.ask(case.question, window=home.window("owner", case.window))
        found.append(Answered(answer.outcome, is_right(case, answer)))
        if number % 20 == 0:
            say(f"{number} of {len(suite.cases)} questions answered")
    return found


def _outcome(case: Case, ranked: Mapping[Mode, Sequence[str]], answer: Answered | None) -> Outcome:
    if not case.relevant:
        return Outcome(case.id, answer.right if answer else None, {}, answer)
    passed = bool(set(ranked["hybrid"][:5]) & set(case.grades))
    return Outcome(case.id, passed, {mode: scores.score(paths, case.grades) for mode, paths in ranked.items()}, answer)


def _counts(cases: Sequence[Outcome]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for answer in filter(None, (case.answer for case in cases)):
        counts[answer.outcome] += 1
        counts["right"] += answer.right
        counts["wrong"] += not answer.right and answer.outcome in ("answered", "quoted")
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
