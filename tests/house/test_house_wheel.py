"""The wheel carries what the package reads: built once from a copy of the sources, unpacked elsewhere, and used from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["pyproject.toml", "setup.py", "setup.cfg", "MANIFEST.in", "README.md", "LICENSE", "grammars", "rules", "tessera_rules"]
SCRIPT = """
import sys, tessera_rules
from tessera_rules.cli import main
print(tessera_rules.__file__)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree. Built from a copy, so that no build folder is left in the checkout."""
    copy = tmp_path_factory.mktemp("sources")
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        elif source.exists():
            shutil.copy(source, copy / name)
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--disable-pip-version-check", "-w", str(out), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_has_grammar_rules_and_types(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ["tsr.lark", "ops.tsr", "x86.tsr", "nvidia.tsr", "rocm.tsr", "py.typed"]:
        assert [name for name in names if name.endswith("/" + wanted)], f"{wanted} is not in the wheel"
    assert not [name for name in names if "tests/" in name or "__pycache__" in name]


def test_the_wheel_parses_a_file_where_no_checkout_is(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(place)
    (tmp_path / "r.tsr").write_text(
        'tessera 1\nuse "std/ops.tsr"\ntarget box {}\ncandidate c {\n  tier emitted\n  target box\n  op matmul\n  bind python "no.such:c"\n}\n'
    )
    environment = {**os.environ, "PYTHONPATH": str(place)}
    words = ["eval", "matmul", "box", "M=1", "N=1", "K=1", "dtype=f32", "--rules", "r.tsr", "--assume", "c", "--json", "--machine", "m.json"]
    (tmp_path / "m.json").write_text('{"machine": 1, "targets": {"box": {}}}')
    done = subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0].startswith(str(place))
    assert '"winner": "c"' in done.stdout
