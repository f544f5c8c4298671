"""What is known outlives a process, is nobody else's, and is not proved again; large products; proofs made ahead."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera_rules as tsr
from tessera_rules.arbiter.request import bind_words
from tessera_rules.oracle import freivalds
from tessera_rules.oracle.proof import Proof
from tessera_rules.oracle.prove import prove_on
from tessera_rules.oracle.store import ProofStore, Record, read_file
from tests.oracle import bad_c
from tests.oracle.subjects import c_candidate, normal, python_candidate, session, subject


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "cache"))


def operands(m: int = 5, k: int = 9, n: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)


def test_a_second_session_proves_nothing() -> None:
    first = session(python_candidate("right"))
    first.run("product", *operands(), target="cpu")
    assert first.proofs.ledger.proofs_made == 1
    second = session(python_candidate("right"))
    execution = second.run_traced("product", *operands(), target="cpu")[1]
    assert (execution.tag, execution.proof, second.proofs.ledger.proofs_made) == ("it", "verified", 0)


def test_another_shape_of_a_proved_structure_is_checked_on_its_operands_alone() -> None:
    arbiter = session(python_candidate("right"))
    arbiter.run("product", *operands(), target="cpu")
    arbiter.run("product", *operands(8, 3, 2), target="cpu")
    records = arbiter.proofs.ledger.store.records()
    assert sorted(record.proof.probes for record in records)[:1] == [1]
    assert len(records) == 3


def test_T27_a_rebuilt_kernel_inherits_nothing(tmp_path: Path) -> None:
    path = bad_c.write(tmp_path, "kernel", bad_c.RIGHT_BODIES["in f64"])
    arbiter = session(c_candidate(path))
    assert arbiter.run_traced("product", *operands(), target="cpu")[1].tag == "it"
    path.write_text(bad_c.source(bad_c.BODIES["last k dropped"]))
    assert arbiter.reload().run_traced("product", *operands(), target="cpu")[1].tag == "reference"


def test_T1_a_verdict_is_private_to_a_candidate() -> None:
    arbiter = session(python_candidate("right"), python_candidate("zeros").replace("candidate it", "candidate other"))
    arbiter.run("product", *operands(), target="cpu")
    with pytest.raises(tsr.ArbiterError, match="wrong"):
        arbiter.run("product", *operands(), target="cpu", force="other")


def test_a_changed_declaration_is_proved_anew() -> None:
    session(python_candidate("row_depends_on_rows", more="accuracy { rtol 0.00001; atol 0.00001 }")).run("product", *operands(), target="cpu")
    changed = session(python_candidate("row_depends_on_rows", more="accuracy { rtol 0.00001; atol 0.00001 }; batch_invariant"))
    assert changed.run_traced("product", *operands(), target="cpu")[1].tag == "reference"


def test_a_refutation_outranks_a_proof_in_any_order() -> None:
    store = ProofStore()
    right, wrong = Proof("verified", "right"), Proof("wrong", "not")
    for key, order in (("one", (right, wrong)), ("two", (wrong, right))):
        for proof in order:
            store.keep(Record(key, "it", {}, proof))
        found = store.get(key)
        assert found is not None
        assert found.outcome == "wrong"
    fresh = ProofStore().get("two")
    assert fresh is not None
    assert fresh.outcome == "wrong"


def test_a_store_survives_torn_lines_and_rubbish(tmp_path: Path) -> None:
    store = ProofStore()
    store.keep(Record("one", "it", {}, Proof("verified", "right")))
    (path,) = (tmp_path / "cache" / "proofs").glob("*.jsonl")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    with path.open("ab") as file:
        file.write(b'\xff{"format": 1, "key": "tw')
    store.keep(Record("three", "it", {}, Proof("verified", "right")))
    again = ProofStore()
    assert again.get("one") is not None
    assert again.get("three") is not None


def test_a_cache_that_cannot_be_written_costs_nothing_but_proofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "file"))
    arbiter = session(python_candidate("right"))
    assert arbiter.run_traced("product", *operands(), target="cpu")[1].tag == "it"
    arbiter.run("product", *operands(), target="cpu")
    assert arbiter.proofs.ledger.proofs_made == 1


def test_ahead_selects_who_is_proved_and_proves_nobody() -> None:
    ahead = "policy { verify ahead }\n"
    arbiter = session(python_candidate("right"), ahead)
    _, execution = arbiter.run_traced("product", *operands(), target="cpu")
    assert (execution.tag, execution.decision.verdicts[0].verdict) == ("reference", "unproved")
    request = bind_words(arbiter.ruleset, "product", "cpu", {"dtype": "f32", "M": 9, "N": 9, "K": 9}, arbiter.machine)
    other = session(python_candidate("right"))
    assert other.proofs.ledger.ahead(subject(other).bound, other.ruleset, other.machine, request).outcome == "verified"  # type: ignore[arg-type]
    again = session(python_candidate("right"), ahead)
    _, execution = again.run_traced("product", *operands(), target="cpu")
    assert (execution.tag, execution.proof, again.proofs.ledger.proofs_made) == ("it", "verified", 0)


def test_a_word_of_verify_that_is_none_is_the_callers_mistake() -> None:
    with pytest.raises(tsr.TesseraError, match="ahead"):
        session(python_candidate("right")).run("product", *operands(), target="cpu", verify="ahaed")


def test_tsr_verify_writes_proofs_that_another_cache_takes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    from tests.oracle.subjects import PRODUCT

    (rules / "r.tsr").write_text("tessera 1\n" + PRODUCT + python_candidate("right") + python_candidate("zeros").replace("candidate it", "candidate bad"))
    command = [sys.executable, "-m", "tessera_rules.cli", "verify", "product", "cpu", "--rules", str(rules), "--out", str(tmp_path / "proofs.jsonl"), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120)
    assert ran.returncode == 1, ran.stderr
    outcomes = {(each["candidate"], each["outcome"]) for each in json.loads(ran.stdout)["proofs"]}
    assert outcomes == {("it", "verified"), ("bad", "wrong")}
    assert {record.candidate for record in read_file(tmp_path / "proofs.jsonl")} == {"it", "bad"}
    monkeypatch.setenv("TSR_CACHE", str(tmp_path / "another"))
    monkeypatch.setenv("TSR_PROOFS", str(tmp_path / "proofs.jsonl"))
    arbiter = tsr.load(rules)
    _, execution = arbiter.run_traced("product", *operands(), target="cpu", verify="ahead")
    assert execution.tag == "it"
    assert {each.candidate: each.verdict for each in execution.decision.verdicts} == {"it": "selected", "bad": "wrong"}


@pytest.mark.parametrize(("name", "outcome"), [("right", "verified"), ("sloppy", "wrong")])
def test_a_large_product_is_checked_without_its_reference(name: str, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freivalds, "LARGE", 1 << 12)
    monkeypatch.setattr("tessera_rules.oracle.examine.higher_reference", lambda *_: pytest.fail("the reference ran"))
    arbiter = session(python_candidate(name))
    request = bind_words(arbiter.ruleset, "product", "cpu", {"dtype": "f32", "M": 24, "N": 17, "K": 40}, arbiter.machine)
    assert prove_on(subject(arbiter), request, normal(request)).outcome == outcome
