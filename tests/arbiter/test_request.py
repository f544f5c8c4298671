"""Words of requests: what they mean, and every mistake as the caller's, with the nearest name."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tessera_rules.arbiter import bind_test, bind_words
from tessera_rules.errors import OperandError, TesseraError, UsageError
from tessera_rules.model.values import StatedLayout, TestRequest
from tests.arbiter.asking import box
from tests.arbiter.factory import ATTENTION, MATMUL, NEEDY, make_op, ruleset

QUANTIZED = make_op("quantized", {"x": "M K", "w": "K N", "table": "N"}, "M N", choices={"w": ("f16", "i8"), "table": ("i32",)}, dtypes=("f16", "f32"))
RULES = ruleset(ops=[MATMUL, ATTENTION, NEEDY, QUANTIZED])


def bind(words, op="matmul", target="cpu", machine=None):
    pairs = dict(word.split("=", 1) for word in words.split()) if isinstance(words, str) else words
    return bind_words(RULES, op, target, pairs, machine or box())


def test_words_become_values_by_the_types_of_the_op():
    request = bind(
        "dtype=float16 M=1_024 N=64Ki K=0x40 act=relu epilogue=bias,relu transpose_b=TRUE given=bias threads=3 allow=tf32,bf16 device=1 require=deterministic"
    )
    assert request.dims == {"M": 1024, "N": 65536, "K": 64}
    assert request.attrs == {"act": "relu", "epilogue": ("bias", "relu"), "transpose_b": True}
    assert (request.dtype, request.threads, request.device) == ("f16", 3, 1)
    assert (request.given, request.allow, request.require) == ({"bias"}, {"tf32", "bf16"}, {"deterministic"})


def test_typed_values_mean_the_same():
    typed = bind({"dtype": "f16", "M": 4, "act": "relu", "epilogue": ["bias"], "transpose_b": True, "given": ["bias"], "a.strides": (8, 1), "a.align": 16})
    text = bind("dtype=f16 M=4 act=relu epilogue=bias transpose_b=true given=bias a.strides=8,1 a.align=16")
    assert (typed.dims, typed.attrs, typed.given) == (text.dims, text.attrs, text.given)
    assert (typed.layouts["a"].strides, typed.layouts["a"].align) == (text.layouts["a"].strides, text.layouts["a"].align) == ((8, 1), 16)


@pytest.mark.parametrize(("word", "value"), [("epilogue=", ()), ("epilogue=[]", ()), ("epilogue=bias", ("bias",)), ("epilogue=[bias,relu]", ("bias", "relu"))])
def test_lists_by_comma_and_the_empty_list(word, value):
    assert bind(word).attrs["epilogue"] == value


def test_null_and_defaults():
    request = bind("softcap=null causal=true", "attention", "rocm")
    assert request.attrs == {"causal": True, "softcap": None, "window": None}
    assert bind("softcap=30", "attention", "rocm").attrs["softcap"] == 30.0
    assert bind("softcap=1e-3", "attention", "rocm").attrs["softcap"] == 0.001
    assert bind("", "attention", "rocm").dtype is None


def test_threads_are_the_machines_where_they_are_not_stated():
    assert bind("M=1", machine=box(threads=6)).threads == 6
    assert bind("M=1").threads == 1
    assert bind("M=1 threads=2", machine=box(threads=6)).threads == 2


@pytest.mark.parametrize(
    ("op", "words", "told"),
    [
        ("matmul", "m=4", "did you mean 'M'"),
        ("matmul", "acts=relu", "did you mean 'act'"),
        ("attention", "casual=true", "did you mean 'causal'"),
        ("matmul", "dytpe=f16", "did you mean 'dtype'"),
        ("matmul", "M=-1", "0 or more"),
        ("matmul", "M=4.5", "is an integer"),
        ("matmul", "M=", "is an integer"),
        ("matmul", "M=1__0", "is an integer"),
        ("matmul", "M=" + "9" * 5000, "is an integer"),
        ("matmul", {"M": True}, "an int"),
        ("matmul", {"M": 4.0}, "an int"),
        ("matmul", {"M": None}, "never null"),
        ("attention", "head_dim=0", "in 1..1024"),
        ("attention", "head_dim=1025", "in 1..1024"),
        ("attention", "Hkv=0", "in 1.."),
        ("matmul", "act=rleu", "did you mean 'relu'"),
        ("matmul", "transpose_b=yes", "write true or false"),
        ("matmul", "act=null", "none of these"),
        ("matmul", "epilogue=bias,softmax", "none of these"),
        ("attention", "softcap=warm", "such as 0.5"),
        ("attention", "softcap=nan", "such as 0.5"),
        ("attention", "window=1.5", "such as 16"),
        ("attention", "causal=null", "never null"),
        ("attention", "dtype=i8", "takes f64, f32, f16 or bf16"),
        ("attention", "dtype=flot16", "did you mean"),
        ("matmul", "allow=tf33", "did you mean 'tf32'"),
        ("matmul", "given=a", "always given"),
        ("matmul", "given=bais", "did you mean 'bias'"),
        ("matmul", "require=determinism", "did you mean 'deterministic'"),
        ("matmul", "threads=0", "at least one"),
        ("matmul", "threads=two", "an int"),
        ("matmul", "device=-1", "counted from 0"),
        ("matmul", "c.align=16", "no operand 'c'"),
        ("matmul", "a.align=12", "power of two"),
        ("matmul", "a.align=0", "power of two"),
        ("matmul", "a.aligned=16", "did you mean 'align'"),
        ("matmul", "a.strides=1", "rank 2"),
        ("matmul", "a.strides=4,1,1", "rank 2"),
        ("matmul", "a.strides=4,x", "an int"),
        ("matmul", "a.dtype=f17", "no dtype"),
        ("matmul", "dtype=f32 a.dtype=f16", "one dtype"),
        ("matmul", "a.dtype=f16 b.dtype=bf16", "one dtype"),
        ("matmul", "bias.align=16", "given=bias"),
        ("matmul", "a=4", "is an operand"),
        ("quantized", "w.dtype=f32", "is f16 or i8"),
        ("quantized", "table.dtype=i64", "is i32"),
        ("quantized", "x.dtype=bf16", "takes f16 or f32"),
        ("needy", "M=4", "has no default"),
    ],
)
def test_the_callers_mistakes(op, words, told):
    with pytest.raises(OperandError) as caught:
        bind(words, op)
    assert told in caught.value.message
    assert len(caught.value.message) < 300


def test_unknown_ops_and_targets_name_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'matmul'"):
        bind("M=1", "matmull")
    with pytest.raises(UsageError, match="did you mean 'rocm'"):
        bind("M=1", "matmul", "rocmm")
    with pytest.raises(UsageError, match="on which target"):
        bind("M=1", "matmul", None)


def test_a_stated_operand_dtype_says_the_requests():
    assert bind("a.dtype=half").dtype == "f16"
    assert bind("dtype=f16 w.dtype=i8", "quantized").layouts["w"].dtype == "i8"


def test_a_false_check_quotes_itself_its_because_and_the_values():
    with pytest.raises(OperandError, match="query heads come in whole groups") as caught:
        bind("Hq=10 Hkv=4", "attention", "rocm")
    assert (caught.value.clause, caught.value.values) == ("Hq % Hkv == 0", {"Hq": 10, "Hkv": 4})
    assert "Hq = 10" in caught.value.message
    assert caught.value.span is not None


def test_a_check_that_is_open_says_nothing():
    assert bind("Hq=10", "attention", "rocm").dims == {"Hq": 10}


def test_a_check_that_is_an_error_is_the_callers_error():
    op = make_op("odd", {"x": "M N"}, "M N", checks=["M % N == 0"])
    with pytest.raises(OperandError, match="cannot be asked"):
        bind_words(ruleset(ops=[op]), "odd", "cpu", {"M": 4, "N": 0}, box())


def test_the_words_of_a_test_block():
    stated = TestRequest("matmul", "cpu", {"dtype": "f16", "M": 4, "epilogue": ("bias",)}, ("bias",), {"a": StatedLayout(8, (16, 1), None)}, {}, {})
    request = bind_test(RULES, stated, box())
    assert (request.dims, request.given, request.layouts["a"].align, request.layouts["a"].strides) == ({"M": 4}, {"bias"}, 8, (16, 1))


def test_nothing_but_our_own_errors_comes_of_odd_words():
    odd = ["", " ", "=", "[", "]", "null", "-", "+", "0x", "1e", "1e999", "Ki", "\x00", "🙂", "١٢", "--1", ",", "[,]", "true,false", "1" * 2000]
    for key in [
        "M",
        "act",
        "epilogue",
        "transpose_b",
        "dtype",
        "allow",
        "given",
        "threads",
        "device",
        "require",
        "a.align",
        "a.strides",
        "a.dtype",
        "a.",
        ".a",
        "",
    ]:
        for word in odd:
            with suppress(TesseraError):
                bind({key: word})
