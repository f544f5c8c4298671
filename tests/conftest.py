"""What all tests share: skips are held to tests/skips.toml, and nothing of the user's own settings reaches a test."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
collect_ignore = ["thirdparty"]
SKIPS = tomllib.loads((ROOT / "skips.toml").read_text())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow searches to `make deep`."""
    if os.environ.get("TSR_DEEP"):
        return
    slow = [item for item in items if item.get_closest_marker("deep")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("deep")]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect skips whose reason is not on the list."""
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    word = reason.partition(":")[0]
    if word not in SKIPS or (os.environ.get("TSR_CI") and not SKIPS[word].get("ci")):
        BAD_SKIPS.append(f"{report.nodeid}: {reason}")


BAD_SKIPS: list[str] = []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run with a skip that is not allowed."""
    if BAD_SKIPS and not hasattr(session.config, "workerinput"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which skips are not allowed."""
    for line in BAD_SKIPS:
        terminalreporter.write_line(f"skip that tests/skips.toml does not allow here: {line}", red=True)


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's TSR_* settings and caches out of tests; caches of one worker are shared so that kernels build once."""
    for name in list(os.environ):
        if name.startswith("TSR_") and name not in ("TSR_CI", "TSR_DEEP"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TSR_CACHE", str(_cache(tmp_path_factory)))
    monkeypatch.setenv("NO_COLOR", "1")


def _cache(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp().parent / "tessera-cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
