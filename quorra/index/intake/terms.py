"""What full text sees of a text or a question beyond its plain words.

LanceDB's tokenizer splits at every character that is neither letter nor digit,
so ``C++``, ``AX-20`` and ``7:30`` would be found by their splinters alone, and
a run of Chinese or Japanese would be one single word. Each of them adds words
of its own, the same ones on both sides.
"""

import re
from collections.abc import Iterator
from itertools import chain

LONGEST = 40
MOST = 64
_READ = 20_000
_MEMORY = 200_000

_ODD = re.compile(
    r"[@#$]?[^\W_]++(?:[-._:/'’&+][^\W_]++)++[+#%]*|[@#$][^\W_]++[+#%]*|[^\W_]++[+#%]++|[A-Z]?[a-z]++[A-Z][A-Za-z]++"
)
_CAMEL = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_RUN = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_WORD = re.compile(r"[^\W_]+")
_INNER = re.compile(r"(?<=\d)[-._:/'’&](?=\d)")
_SIGNS = str.maketrans(
    {"+": "plus", "#": "sharp", "%": "percent", "@": "at", "$": "dollar", **dict.fromkeys("-._:/'’&", "")}
)

_STOP = """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from
    further get give given had hadn has hasn have haven having he her here hers herself him himself his how i if in
    into is isn it its itself just ll m me mightn more most must mustn my myself needn no nor not now o of off on once
    only or other our ours ourselves out over own please re s same shall shan she should shouldn so some such t tell
    than that the their theirs them themselves then there these they this those through to too under until up us ve
    very was wasn we were weren what when where which while who whom whose why will with won would wouldn you your
    yours yourself yourselves
"""
STOP = frozenset(_STOP.split())


class _Known(dict[str, tuple[str, ...]]):
    """Remembers what each token adds, as the same ones come again and again."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        added = tuple(_added(token))
        if len(token) <= LONGEST:
            if len(self) > _MEMORY:
                self.clear()
            self[token] = added
        return added


_known = _Known()


def extras(text: str) -> list[str]:
    """Gives the added words of a text: joined identifiers, signs spelled out, pairs of unspaced scripts."""
    return list(chain.from_iterable(filter(None, map(_known.__getitem__, text.split()))))


def _added(token: str) -> Iterator[str]:
    for word in _ODD.findall(token):
        if word.isalnum():
            if len(word) <= LONGEST:
                yield from (part for part in _CAMEL.findall(word) if part != word)
        else:
            joined = _INNER.sub("z", word).translate(_SIGNS)
            if len(joined) <= LONGEST:
                yield joined
    if not token.isascii():
        for run in _RUN.findall(token):
            yield from run
            yield from (run[at : at + 2] for at in range(len(run) - 1))


def asked(question: str) -> tuple[str, ...]:
    """Gives a question's distinct words, without stop words unless there are no others; at most 64."""
    text = question[:_READ]
    words = dict.fromkeys(word.lower() for word in (*_split(text), *_asked_extras(text)))
    some = [word for word in words if word not in STOP]
    return tuple((some or list(words))[:MOST])


def telling(words: tuple[str, ...]) -> bool:
    """Tells whether any of a question's words says what it is about."""
    return any(word not in STOP for word in words)


def bare(question: str) -> int:
    """Counts the words of a question that is nothing but telling words, so no sentence; 0 for a sentence."""
    words = list(dict.fromkeys(word.lower() for word in _split(question[:_READ])))
    return 0 if any(word in STOP for word in words) else len(words)


def wide(text: str) -> int:
    """Counts the characters of scripts that put no spaces between words."""
    return sum(map(len, _RUN.findall(text)))


def _split(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if word.isascii() or not _RUN.search(word):
            yield word
        else:
            yield from (part for part in _RUN.split(word) if part)


def _asked_extras(text: str) -> Iterator[str]:
    for word in extras(text):
        if len(word) > 1 or word.isascii() or not _RUN.match(word):
            yield word
    yield from (run for run in _RUN.findall(text) if len(run) == 1)
