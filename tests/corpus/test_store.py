"""The store: many writers, killed writers, and files that are damaged, foreign, newer, full or not to be written."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tessera_rules.corpus.lookup import Corpus, CorpusWarning
from tessera_rules.corpus.record import Record, write_lines
from tessera_rules.corpus.store import Store, StoreProblem, default_place
from tessera_rules.errors import MissingExtraError
from tests.corpus import stage

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return stage.record(stage.rules(tmp_path), stage.machine(), {"old": 1e-3, "new": 5e-4})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "deep" / "c.sqlite"))


def writer(store: Store, template: Path, number: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.corpus.writer", store.place, str(template), str(number), str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_is_added_is_read_once_each_and_removed_by_id(store: Store, record: Record) -> None:
    later = evolve(record, at=record.at + 1)
    assert (store.is_there, store.read().records) == (False, ())
    assert store.add([record, later]) == 2
    assert store.add([record]) == 0
    assert [each.id for each in store.read("f", "x86").records] == [record.id, later.id]
    assert store.read("g").records == ()
    assert store.path.stat().st_mode & 0o077 == 0
    assert store.remove([record.id, "nobody"]) == 1
    assert [each.id for each in store.read().records] == [later.id]


def test_the_store_is_a_write_ahead_log(store: Store, record: Record) -> None:
    store.add([record])
    assert sqlite3.connect(store.place).execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(("processes", "keys"), [(4, 15), pytest.param(16, 200, marks=pytest.mark.deep)])
def test_many_processes_write_at_once_and_nothing_is_lost(store: Store, record: Record, tmp_path: Path, processes: int, keys: int) -> None:
    template = tmp_path / "t.jsonl"
    template.write_text(write_lines([record]))
    running = [writer(store, template, number, keys) for number in range(processes)]
    for each in running:
        _, errors = each.communicate(timeout=300)
        assert each.returncode == 0, errors
    found = store.read()
    assert (len(found.records), found.bad) == (processes * keys, ())


@pytest.mark.parametrize("times", [5, pytest.param(1000, marks=pytest.mark.deep)])
def test_a_killed_writer_loses_nothing_that_it_said_was_written(store: Store, record: Record, tmp_path: Path, times: int) -> None:
    template, draw = tmp_path / "t.jsonl", random.Random(5)
    template.write_text(write_lines([record]))
    said: set[float] = set()
    for number in range(times):
        process = writer(store, template, number, 10_000)
        assert process.stdout is not None
        first = process.stdout.readline()
        threading.Event().wait(draw.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=60)
        said |= {float(number * 1_000_000 + int(line)) for line in (first + rest).split("\n") if line.strip().isdecimal()}
    found = store.read()
    assert found.bad == ()
    assert said <= {each.at for each in found.records}
    assert len(said) >= times


def damaged(store: Store, record: Record, how: str) -> bytes:
    """Make a store that cannot be used, and return its bytes."""
    store.add([evolve(record, at=float(number)) for number in range(200)])
    sqlite3.connect(store.place).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path, data = store.path, store.path.read_bytes()
    match how:
        case "truncated":
            path.write_bytes(data[: len(data) // 2])
        case "garbled":
            path.write_bytes(data[:100] + b"\xa5" * (len(data) - 100))
        case "no database":
            path.write_bytes(b"a shopping list\n" * 50)
        case "foreign":
            path.unlink()
            with sqlite3.connect(path) as other:
                other.execute("CREATE TABLE records (id PRIMARY KEY, op, target, key, at, body)")  # so like ours as can be
                other.execute("PRAGMA user_version = 1")
            other.close()
        case "newer":
            with sqlite3.connect(path) as other:
                other.execute("PRAGMA user_version = 7")
            other.close()
        case "a folder":
            path.unlink()
            path.mkdir()
            (path / "x").write_text("x")
            return b""
    return path.read_bytes()


@pytest.mark.parametrize("how", ["truncated", "garbled", "no database", "foreign", "newer", "a folder"])
def test_a_store_that_cannot_be_used_is_left_alone_and_deciding_goes_on(store: Store, record: Record, tmp_path: Path, how: str) -> None:
    before = damaged(store, record, how)
    with pytest.raises(StoreProblem, match=r"c\.sqlite"):
        store.add([record])
    with pytest.raises(StoreProblem, match=r"c\.sqlite"):
        store.read("f", "x86")
    if before:
        assert store.path.read_bytes() == before
    ruleset, machine = stage.rules(tmp_path), stage.machine()
    corpus = Corpus(store.place)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in (64, 65, 64):
            assert corpus.measured(ruleset, _request(ruleset, size), machine) is None
            corpus.refresh()
    assert [each.category for each in caught] == [CorpusWarning]
    assert corpus.problem is not None


def _request(ruleset: Any, size: int) -> Any:
    from tessera_rules.arbiter.request import bind_words

    return bind_words(ruleset, "f", "x86", {"M": size, "N": 64, "K": 64, "dtype": "f32"}, stage.machine())


def test_a_full_disk_loses_nothing_that_was_there(store: Store, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add([record])
    plain = Store._connect

    def small(self: Store, how: str) -> Any:
        connection = plain(self, how)
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0] + 1}")
        return connection

    monkeypatch.setattr(Store, "_connect", small)
    with pytest.raises(StoreProblem, match="full"):
        store.add([evolve(record, at=float(number)) for number in range(500)])
    monkeypatch.undo()
    assert [each.id for each in store.read().records] == [record.id]
    assert store.add([evolve(record, at=7.0)]) == 1


def test_a_place_that_cannot_be_written_is_said(record: Record) -> None:
    with pytest.raises(StoreProblem, match="cannot be written"):
        Store("/proc/none/c.sqlite").add([record])
    assert Store("/proc/none/c.sqlite").read().records == ()


def test_a_store_that_may_only_be_read_is_read(store: Store, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add([record])
    for suffix in ("-wal", "-shm"):
        Path(store.place + suffix).unlink(missing_ok=True)
    plain = Store._connect

    def refused(self: Store, how: str) -> Any:
        if how == "mode=ro":  # what SQLite says of a write-ahead log in a folder that cannot be written
            raise sqlite3.OperationalError("unable to open database file")
        return plain(self, how)

    monkeypatch.setattr(Store, "_connect", refused)
    assert [each.id for each in store.read().records] == [record.id]


@pytest.mark.parametrize("row", ["changed", "no json", "older schema"])
def test_T30_a_row_that_is_no_record_is_named_and_the_others_are_read(store: Store, record: Record, row: str) -> None:
    store.add([record, evolve(record, at=5.0)])
    body = {"changed": record.text.replace("new", "nex"), "no json": "{", "older schema": record.text.replace('"schema":1', '"schema":0')}[row]
    with sqlite3.connect(store.place) as connection:
        connection.execute("UPDATE records SET body = ? WHERE id = ?", (body, record.id))
    connection.close()
    found = store.read()
    assert [each.at for each in found.records] == [5.0]
    assert [name for name, _ in found.bad] == [record.id]


def test_a_database_server_names_the_extra_that_it_needs() -> None:
    with pytest.raises(MissingExtraError, match=r"tessera-rules\[postgres\]") as caught:
        Store("postgresql://me:secret@host/db")
    assert "secret" not in str(caught.value)


def test_the_place_is_the_users_cache_or_as_stated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "cache"))
    assert default_place() == str(tmp_path / "cache" / "corpus" / "records.sqlite")
    assert Corpus().measured(stage.rules(tmp_path), _request(stage.rules(tmp_path), 64), stage.machine()) is None
    assert not (tmp_path / "cache").exists(), "who only decides leaves nothing behind"
    monkeypatch.setenv("TSR_CORPUS", "/elsewhere/c.sqlite")
    assert default_place() == "/elsewhere/c.sqlite"


def test_a_cache_folder_that_others_made_is_not_believed(store: Store, record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "cache"))
    mine = tmp_path / "cache" / "corpus"
    mine.mkdir(parents=True)
    Store(str(mine / "records.sqlite")).add([record])
    assert Path(default_place()).parent == mine
    mine.rename(tmp_path / "theirs")
    mine.symlink_to(tmp_path / "theirs")
    with pytest.raises(StoreProblem, match="no folder of its own"):
        default_place()
