"""What ``pyproject.toml`` cannot say: a wheel carries ``grammars/`` and ``rules/`` inside the package (see ``tessera_rules/resources.py``)."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class BuildWithData(build_py):
    """Copies the grammar and the shipped rules to ``tessera_rules/_data``; an editable install reads them where they are."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if self.editable_mode:
            return
        for kind in ("grammars", "rules"):
            into = Path(self.build_lib) / "tessera_rules" / "_data" / kind
            shutil.copytree(ROOT / kind, into, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithData})
