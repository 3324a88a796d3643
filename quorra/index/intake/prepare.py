"""Turns texts into the rows that the index keeps; many of them on two cores."""

import gc
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from quorra.access import window
from quorra.index.intake import passages
from quorra.index.store import catalogue
from quorra.index.store.cache import Cache
from quorra.vault.reading import parse

if TYPE_CHECKING:
    import pyarrow as pa

Text = tuple[str, str, str, bytes]
_CHUNK = 60
_MANY = 300
_CODE = str(Path(__file__).resolve().parents[3])
_WORKER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from quorra.index.intake import prepare; prepare.work(sys.argv[2])"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Parsed notes as Arrow: passages by domain, and what the catalogue keeps."""

    passages: Mapping[str, "pa.Table"]
    rows: catalogue.Rows


def many(texts: Iterable[Text], cache: Cache) -> Prepared:
    """Prepares few texts in this process, many of them with the help of a second one."""
    texts = iter(texts)
    first = list(islice(texts, _MANY))
    if len(first) < _MANY:
        return few(first, cache)
    chunks = _Chunks(chain(first, texts))
    with ThreadPoolExecutor(1, "quorra-prepare") as pool:
        beside = pool.submit(_beside, chunks, cache)
        done = {number: few(chunk, cache) for number, chunk in chunks}
        done |= beside.result()
    return _joined([done[number] for number in sorted(done)])


class _Chunks:
    """Hands out numbered chunks of texts to several threads."""

    def __init__(self, texts: Iterator[Text]) -> None:
        self._texts = texts
        self._lock = threading.Lock()
        self._number = 0

    def __iter__(self) -> Iterator[tuple[int, list[Text]]]:
        while True:
            with self._lock:
                chunk = list(islice(self._texts, _CHUNK))
                self._number += 1
                number = self._number
            if not chunk:
                return
            yield number, chunk


# Not a pool of concurrent.futures: its worker outlives a parent that is killed, and begins by running the caller's
# main module again. This one ends with the pipe, and knows nothing of its caller.
def _beside(chunks: _Chunks, cache: Cache) -> dict[int, Prepared]:
    """Lets a second process prepare chunks; if it dies, this thread goes on without it."""
    done: dict[int, Prepared] = {}
    words = [sys.executable, "-c", _WORKER, _CODE, str(cache.folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for number, chunk in chunks:
            done[number] = _sent(chunk, child.stdin, child.stdout) or few(chunk, cache)
    return done


def _sent(chunk: list[Text], there: IO[bytes], back: IO[bytes]) -> Prepared | None:
    try:
        pickle.dump(chunk, there)
        there.flush()
        prepared: Prepared = pickle.load(back)
        return prepared
    except (OSError, EOFError, ValueError, pickle.UnpicklingError):
        return None


def work(folder: str) -> None:
    """Prepares chunks from standard input until it ends: the second process's side."""
    gc.disable()  # nothing that it makes goes in circles
    cache = Cache(Path(folder))
    while True:
        try:
            chunk: list[Text] = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(few(chunk, cache), sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _joined(parts: Sequence[Prepared]) -> Prepared:
    import pyarrow as pa

    domains = sorted({domain for part in parts for domain in part.passages})
    tables = {domain: [part.passages[domain] for part in parts if domain in part.passages] for domain in domains}
    return Prepared(
        {domain: pa.concat_tables(found) for domain, found in tables.items()},
        catalogue.Rows(
            pa.concat_tables([part.rows.documents for part in parts]),
            pa.concat_tables([part.rows.links for part in parts]),
            pa.concat_tables([part.rows.tags for part in parts]),
        ),
    )


def few(texts: Iterable[Text], cache: Cache) -> Prepared:
    """Parses files and cuts them into passages."""
    from quorra.index.store.tables import PASSAGES

    found: dict[str, list[tuple[object, ...]]] = {}
    documents: list[tuple[object, ...]] = []
    links: list[tuple[object, ...]] = []
    tags: list[tuple[object, ...]] = []
    for file, public, blob, data in texts:
        note = parse.note(public, data)
        cut = passages.cut(note)
        domain = window.domain(public)
        rows = found.setdefault(domain, [])
        for each in cut.passages:
            digest = cache.key(each.words[: each.embeds]) if each.embeds else None
            whole = cut.whole if each.part == 0 else None
            shown = (*each.lines, each.heading, each.text, each.words, whole, each.embeds, digest)
            rows.append((public, each.part, *shown, blob, note.title, note.date))
        problems = sum(issue.severity != "info" for issue in note.issues)
        documents.append((public, file, blob, domain, note.title, note.date, len(cut.passages), problems))
        links += [
            (public, at, link.line, link.kind, link.text, link.target, link.anchor, link.alias)
            for at, link in enumerate(note.links)
        ]
        tags += [(public, tag) for tag in note.tags]
    return Prepared(
        {name: _table(rows, PASSAGES) for name, rows in found.items()},
        catalogue.Rows(
            _table(documents, _schema(catalogue.DOCUMENTS)),
            _table(links, _schema(catalogue.LINKS)),
            _table(tags, _schema(catalogue.TAGS)),
        ),
    )


def _schema(names: Sequence[str]) -> "pa.Schema":
    import pyarrow as pa

    counts = {"passages", "problems", "position", "line"}
    return pa.schema([(name, pa.int32() if name in counts else pa.string()) for name in names])


def _table(rows: Sequence[tuple[object, ...]], schema: "pa.Schema") -> "pa.Table":
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table([_array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema)


def _array(values: Sequence[object], kind: "pa.DataType") -> "pa.Array":
    """Makes a column; half a surrogate pair, which an escape in frontmatter can spell, becomes a question mark."""
    import pyarrow as pa

    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        clean = [value.encode(errors="replace").decode() if isinstance(value, str) else value for value in values]
        return pa.array(clean, kind)
