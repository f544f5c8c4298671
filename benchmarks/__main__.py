"""``make bench``: the table of decisions and calls."""

from __future__ import annotations

from benchmarks.bench_decisions import main

if __name__ == "__main__":
    raise SystemExit(main())
