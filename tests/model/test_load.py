"""Which files a load reads: folders, `use`, the rules that ship, packages; and what stands in the way."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tessera_rules.diagnostic import Finding
from tessera_rules.errors import UsageError
from tessera_rules.model.load import Loaded, load

THIRD_PARTY = Path(__file__).parent.parent / "thirdparty"
OP = 'op o{0} {{ operand x: [M]; result [M]; dtype x; reference python "no.such:o" }}\n'


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path = path.with_name(path.name + ".tsr")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"tessera 1\n{text}")
    return folder


def only(loaded: Loaded) -> Finding:
    (finding,) = loaded.findings
    return finding


def test_a_folder_loads_by_name_and_a_used_file_before_its_user(tmp_path: Path) -> None:
    write(tmp_path, b=OP.format(1), a='use "sub/z.tsr"\n' + OP.format(2), sub__z=OP.format(3), sub__y=OP.format(4))
    loaded = load([tmp_path])
    assert loaded.findings == ()
    assert list(loaded.ruleset.ops) == ["o3", "o2", "o1", "o4"]


def test_D13_a_diamond_loads_once(tmp_path: Path) -> None:
    write(tmp_path, a='use "b.tsr"\nuse "c.tsr"\n', b='use "d.tsr"\n', c='use "d.tsr"\nuse "./d.tsr"\n', d=OP.format(1))
    loaded = load([tmp_path / "a.tsr"])
    assert loaded.findings == ()
    assert [Path(source.name).name for source in loaded.ruleset.sources] == ["d.tsr", "b.tsr", "c.tsr", "a.tsr"]


def test_D13_a_cycle_shows_its_chain_with_a_place_for_each_link(tmp_path: Path) -> None:
    write(tmp_path, a='use "b.tsr"\n', b='use "c.tsr"\n', c='use "a.tsr"\n')
    finding = only(load([tmp_path / "a.tsr"]))
    assert finding.code == "TSR303"
    assert [Path(name).name for name in finding.message.split(": ")[1].split(" → ")] == ["a.tsr", "b.tsr", "c.tsr", "a.tsr"]
    assert [related.span.line for related in finding.related] == [2, 2]


def test_a_file_that_uses_itself(tmp_path: Path) -> None:
    write(tmp_path, a='use "a.tsr"\n')
    assert only(load([tmp_path / "a.tsr"])).code == "TSR303"


def test_a_long_chain_of_files_is_no_recursion(tmp_path: Path) -> None:
    count = 1500
    for i in range(count):
        use = f'use "f{i + 1}.tsr"\n' if i + 1 < count else OP.format(1)
        (tmp_path / f"f{i}.tsr").write_text(f"tessera 1\n{use}")
    loaded = load([tmp_path / "f0.tsr"])
    assert loaded.findings == ()
    assert len(loaded.ruleset.sources) == count


def test_a_missing_file_names_the_nearest_and_nothing_else_is_said(tmp_path: Path) -> None:
    write(tmp_path, ops=OP.format(1), a='use "opps.tsr"\ncandidate c { tier emitted; target t; op o1; bind python "no.such:c" }\n')
    finding = only(load([tmp_path / "a.tsr"]))
    assert (finding.code, finding.span.line) == ("TSR302", 2)
    assert "'ops.tsr'" in (finding.hint or "")


def test_std_is_the_folder_of_the_rules_that_ship(tmp_path: Path) -> None:
    write(tmp_path, a='use "std/ops.tsr"\nuse "std/x86.tsr"\n')
    loaded = load([tmp_path])
    assert loaded.findings == ()
    assert "attention" in loaded.ruleset.ops
    assert only(load([write(tmp_path / "b", a='use "std/opps.tsr"\n')])).code == "TSR302"


def test_a_package_brings_rules_and_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(THIRD_PARTY))
    write(tmp_path, a='use "pkg:mykernels/gemm.tsr"\n')
    loaded = load([tmp_path])
    assert loaded.findings == ()
    assert "mykernels_gemm" in loaded.ruleset.candidates
    assert "mykernels" not in sys.modules
    assert loaded.ruleset.candidates["mykernels_gemm"].span.source.name == "pkg:mykernels/gemm.tsr"


@pytest.mark.parametrize(("use", "said"), [("pkg:mykernel/gemm.tsr", "mykernels"), ("pkg:mykernels/gem.tsr", "gemm.tsr"), ("pkg:nobody/x.tsr", "nobody")])
def test_a_package_or_file_that_is_not_there(use: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(THIRD_PARTY))
    finding = only(load([write(tmp_path, a=f'use "{use}"\n')]))
    assert finding.code == "TSR302"
    assert said in finding.message + (finding.hint or "")


def test_a_path_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    write(tmp_path, rules=OP.format(1))
    with pytest.raises(UsageError, match=r"rules\.tsr"):
        load([tmp_path / "rulse.tsr"])


def test_texts_are_added_and_may_replace(tmp_path: Path) -> None:
    write(tmp_path, a=OP.format(1))
    assert "o2" in load([tmp_path], texts={"<typed>": OP.format(2)}).ruleset.ops
    assert only(load([tmp_path], texts={"<typed>": OP.format(1)})).code == "TSR301"
    assert load([tmp_path], texts={"<typed>": OP.format(1)}, replace=["<typed>"]).findings == ()


def test_untrusted_paths_mark_their_candidates(tmp_path: Path) -> None:
    text = OP.format(1) + 'target t { }\ncandidate c { tier emitted; target t; op o1; bind python "no.such:c" }\n'
    write(tmp_path, a=text)
    assert load([tmp_path]).ruleset.untrusted == frozenset()
    assert load([tmp_path], untrusted=[tmp_path]).ruleset.untrusted == {"c"}


def test_what_a_trusted_file_uses_is_trusted_and_what_only_others_use_is_not(tmp_path: Path) -> None:
    for name in ("theirs", "shared", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared" / "one.tsr").write_text("tessera 1\ntarget one { }\n")
    (tmp_path / "shared" / "two.tsr").write_text("tessera 1\ntarget two { }\n")
    (tmp_path / "theirs" / "t.tsr").write_text('tessera 1\nuse "../shared/one.tsr"\nuse "../shared/two.tsr"\n')
    (tmp_path / "own" / "o.tsr").write_text('tessera 1\nuse "../shared/one.tsr"\n')
    ruleset = load([tmp_path / "theirs", tmp_path / "own"], untrusted=[tmp_path / "theirs"]).ruleset
    assert {Path(source.name).name for source in ruleset.untrusted_sources} == {"t.tsr", "two.tsr"}
