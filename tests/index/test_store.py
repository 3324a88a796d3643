"""What is kept on disk: how long superseded files live, whose the cache's keys are, what a rank of names does."""

import os
import time
from pathlib import Path

import numpy as np

from quorra.index.store import manifest as manifests
from quorra.index.store import tables
from quorra.index.store.cache import Cache
from quorra.index.store.manifest import Manifest, Shelf


def test_a_manifest_is_read_as_it_was_published(tmp_path: Path):
    manifest = Manifest("r", 3, "c" * 40, {"a": None, "b": "d" * 40}, ["b.md"], "x.duckdb", {"m": Shelf("m", 4, 10)})
    manifests.publish(tmp_path, manifest)
    assert manifests.read(tmp_path, "r") == manifest
    assert manifests.read(tmp_path, "another recipe") is None


def test_superseded_files_live_an_hour(tmp_path: Path):
    for number in (1, 2):
        (tmp_path / f"catalogue-{number}.duckdb").write_text("")
    now = Manifest("r", catalogue="catalogue-2.duckdb")
    manifests.publish(tmp_path, now)
    old, mark = tmp_path / "catalogue-1.duckdb", tmp_path / "superseded/catalogue-1.duckdb"
    os.utime(old, (0, 0))
    manifests.sweep(tmp_path, now)
    assert old.exists()
    os.utime(mark, (time.time() - manifests.KEEP + 60,) * 2)
    manifests.sweep(tmp_path, now)
    assert old.exists()
    os.utime(mark, (time.time() - manifests.KEEP - 60,) * 2)
    manifests.sweep(tmp_path, now)
    assert not old.exists()
    assert not mark.exists()
    assert (tmp_path / "catalogue-2.duckdb").exists()


def test_versions_that_a_reader_may_hold_are_kept(tmp_path: Path):
    import pyarrow as pa

    from quorra.index.store import shelves

    table = tables.Tables(tmp_path).create("t", 0)
    for turn in range(3):
        tables.add(table, pa.table({"path": [f"{turn}"], "words": ["w"], "part": pa.array([0], pa.int32())}))
    before = len(table.list_versions())
    shelves._prune(table)
    assert len(table.list_versions()) == before


def test_the_cache_gives_back_what_it_was_given(tmp_path: Path):
    cache = Cache(tmp_path)
    vector = np.arange(4, dtype=np.float32)
    key = cache.key("text")
    cache.put("m", {key: vector})
    assert cache.get("other", [key]) == {}
    again = Cache(tmp_path)
    assert again.key("text") == key
    assert again.get("m", [key, b"unknown"])[key].tolist() == [0, 1, 2, 3]
    assert Cache(tmp_path / "another home").key("text") != key
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_no_two_domains_share_a_table():
    names = ["household", "member:mira", "member_mira", "workspace:mira", "member:Mira", "member:mi ra", "member:日本"]
    assert len({tables.name(name) for name in names}) == len(names)
