"""A process that writes records until it is done or killed: ``python -m tests.corpus.writer PLACE TEMPLATE NUMBER COUNT``."""

from __future__ import annotations

import sys
from pathlib import Path

from attrs import evolve

from tessera_rules.corpus.record import read_lines
from tessera_rules.corpus.store import Store


def main(place: str, template: str, number: int, count: int) -> None:
    record = read_lines(Path(template).read_text(encoding="utf-8").splitlines())[0][0]
    for index in range(count):
        store = Store(place)
        store.add([evolve(record, at=float(number * 1_000_000 + index))])
        print(index, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
