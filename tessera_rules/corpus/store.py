"""Where records are kept: one SQLite file, written by many processes, and never in the way of a decision.

A file that is damaged, foreign or of a newer edition is left as it is, byte for byte: reading says why it says nothing,
writing says what to do. Records are added and never changed; only `Store.remove` takes some away, by name.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from attrs import frozen

from tessera_rules.bind.cache import CacheError, cache_root, own_folder
from tessera_rules.corpus.record import BadRecord, Record, read_record
from tessera_rules.errors import MissingExtraError
from tessera_rules.measure.stopwatch import elapsed

if TYPE_CHECKING:
    import sqlite3

APPLICATION = 0x54535243
"""SQLite's application_id of our files: the letters TSRC."""
SCHEMA = 1
PATIENCE_SECONDS = 30.0
URLS = ("postgresql://", "postgres://")

CREATE = (
    "CREATE TABLE records (id TEXT PRIMARY KEY, op TEXT NOT NULL, target TEXT NOT NULL, key TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX by_key ON records (op, target, key)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)


class StoreProblem(Exception):
    """The store cannot be used; the message says which file, why, and a way on. Nothing was lost by it."""


def default_place() -> str:
    """Return ``TSR_CORPUS``, else ``corpus/records.sqlite`` in the user's cache; nothing is made.

    Raises `StoreProblem` where there is no home for a cache, or where its folder is not the user's own.
    """
    stated = os.environ.get("TSR_CORPUS")
    if stated:
        return stated
    try:
        folder = cache_root() / "corpus"
        return str((own_folder("corpus") if folder.is_dir() else folder) / "records.sqlite")
    except RuntimeError as problem:
        raise StoreProblem(f"there is no cache folder: {problem}; TSR_CORPUS names a corpus") from None
    except CacheError as problem:
        raise StoreProblem(f"{problem}; TSR_CORPUS names a corpus elsewhere") from None


@frozen
class Found:
    """What a store holds: the records, and id and reason of each row that is none."""

    records: tuple[Record, ...]
    bad: tuple[tuple[str, str], ...] = ()


@frozen
class Store:
    """A corpus in one SQLite file at ``place``. Opened for each use, so that nothing is held while nobody asks."""

    place: str

    def __attrs_post_init__(self) -> None:
        if self.place.startswith(URLS):
            raise MissingExtraError("postgres", f"a corpus at {self.place.split('@')[-1]}")

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.place).expanduser()

    @property
    def is_there(self) -> bool:
        """Whether there is a file at all; one without a byte is none yet."""
        try:
            return self.path.stat().st_size > 0
        except OSError:
            return False

    def read(self, op: str | None = None, target: str | None = None) -> Found:
        """Return all records, or those of an op and target. Raises `StoreProblem`; a file that is not there has none."""
        if not self.is_there:
            return Found(())
        wanted = [(name, value) for name, value in (("op", op), ("target", target)) if value is not None]
        where = " WHERE " + " AND ".join(f"{name} = ?" for name, _ in wanted) if wanted else ""
        good: list[Record] = []
        bad: list[tuple[str, str]] = []
        with self._reading() as connection:
            for name, body in connection.execute(f"SELECT id, body FROM records{where} ORDER BY at, id", [value for _, value in wanted]):
                try:
                    record = read_record(json.loads(body))
                    if record.id != name:
                        raise BadRecord("its content is not what its name says: it was changed")
                    good.append(record)
                except (BadRecord, ValueError, TypeError, RecursionError) as problem:
                    bad.append((str(name), str(problem)))
        return Found(tuple(good), tuple(bad))

    def add(self, records: Iterable[Record]) -> int:
        """Add records in one transaction, those that are there already left alone; return how many are new. Raises `StoreProblem`."""
        rows = [(record.id, record.op, record.target, record.key_digest, record.at, record.text) for record in records]
        with self._writing() as connection:
            before = connection.total_changes
            connection.executemany("INSERT OR IGNORE INTO records VALUES (?, ?, ?, ?, ?, ?)", rows)
            return connection.total_changes - before

    def remove(self, ids: Iterable[str]) -> int:
        """Take records away by id; return how many there were. Raises `StoreProblem`."""
        with self._writing() as connection:
            before = connection.total_changes
            connection.executemany("DELETE FROM records WHERE id = ?", [(each,) for each in ids])
            return connection.total_changes - before

    # ---- connections -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        import sqlite3

        with self._problems("read"):
            try:
                connection = self._connect("mode=ro")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError as problem:
                # In a folder where nothing can be written, the index of the log cannot be made: without a log none is needed.
                if "locked" in str(problem) or Path(f"{self.path}-wal").exists():
                    raise
                connection = self._connect("mode=ro&immutable=1")
            with closing(connection):
                self._check(connection)
                yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._problems("written"):
            if not self.path.exists():
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(self._connect("mode=rw")) as connection:
                self._use_log(connection)
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                        for statement in CREATE:
                            connection.execute(statement)
                    self._check(connection)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    def _connect(self, how: str) -> sqlite3.Connection:
        import sqlite3  # not before somebody has a corpus: start-up

        return sqlite3.connect(f"file:{quote(str(self.path.absolute()))}?{how}", uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)

    def _use_log(self, connection: sqlite3.Connection) -> None:
        """Turn the write-ahead log on. Changing the mode does not wait for others by itself, so it is tried again for a while."""
        import sqlite3

        end = elapsed() + PATIENCE_SECONDS
        while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._check(connection)  # somebody else's file keeps its own mode
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.OperationalError as problem:
                if "locked" not in str(problem) or elapsed() > end:
                    raise
                threading.Event().wait(0.01)
            else:
                return  # where the file system has no shared memory the mode stays what it was, and that is safe too

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raise `StoreProblem` where the file is another program's or of another edition."""
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        if application != APPLICATION:
            raise StoreProblem(f"the corpus {self.path} is a database of another program, and is left alone; TSR_CORPUS names another file")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA:
            age = "newer" if version > SCHEMA else "older"
            raise StoreProblem(f"the corpus {self.path} is of an {age} edition ({version}; this tsr has {SCHEMA}), and is left alone")

    @contextmanager
    def _problems(self, what: str) -> Iterator[None]:
        """Turn whatever SQLite and the file system say into a `StoreProblem`."""
        import sqlite3

        try:
            yield
        except (sqlite3.Error, OSError) as problem:
            said = getattr(problem, "strerror", None) or str(problem)
            damaged = isinstance(problem, sqlite3.DatabaseError) and not isinstance(problem, sqlite3.OperationalError)
            hint = "; it is left as it is: move it away, and `tsr corpus import` an export" if damaged else ""
            raise StoreProblem(f"the corpus {self.path} cannot be {what}: {said}{hint}") from None
