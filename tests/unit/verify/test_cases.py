"""Cases honour what the spec says of sizes, dtypes and values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from tilespec.diagnostics import SourceText, Span
from tilespec.model.dims import Expr, sym
from tilespec.model.types import DimRange, FloatRange, ScalarSpec, TensorSpec
from tilespec.verify.cases import Budget, cases, profiles
from tilespec.verify.check import arguments
from tilespec.verify.inputs import KINDS, make_tensor, strided
from tilespec.verify.subject import Bounds, Case, Subject

SMALL = Budget(elements=4_000, work=16_000, largest=1_100)
BANDED = Budget(elements=8_000_000, work=1_000_000_000, largest=8_192, banded=True)
SPAN = Span(0, 0)


def _tensor(name: str, *dims: Expr, dtype: str = "float32", values: FloatRange | None = None) -> TensorSpec:
    return TensorSpec(
        name=name, shape=dims, dtype=dtype, span=SPAN, shape_span=SPAN, dtype_span=SPAN, values=values
    )


def _subject(*tensors: TensorSpec | ScalarSpec, **extra: object) -> Subject:
    subject = Subject(
        name="k",
        module=Path("k.py"),
        function="launch",
        source=SourceText("k", ""),
        span=None,
        inputs=tensors,
        outputs=(),
        reference=lambda _values, _widen: (),
    )
    return replace(subject, **extra)  # type: ignore[arg-type]


def _draw(subject: Subject, budget: Budget = SMALL, count: int = 150, **options: bool) -> list[Case]:
    found: list[Case] = []

    @settings(max_examples=count, database=None, phases=(Phase.generate,), deadline=None)
    @seed(0)
    @given(cases(subject, profiles(subject, 64, 0, budget), budget, **options))
    def collect(case: Case | None) -> None:
        if case is not None:
            found.append(case)

    collect()
    assert len(found) > count // 2
    return found


def test_sizes_cover_one_primes_and_neighbours_of_tiles():
    subject = _subject(_tensor("x", sym("M"), sym("N")), tiles=(64,))
    sizes = {size for case in _draw(subject, count=400) for _, size in case.sizes}
    assert {1, 63, 64, 65} <= sizes
    assert sizes & {3, 5, 7, 11, 13, 17}
    assert 0 in sizes
    assert any(size > 500 for size in sizes)


def test_no_empty_tensors_where_dims_are_declared():
    subject = _subject(_tensor("x", sym("M")), dims={"M": DimRange(low=1)})
    assert all(size > 0 for case in _draw(subject) for _, size in case.sizes)


def test_dims_are_honoured():
    subject = _subject(
        _tensor("x", sym("B"), sym("D")),
        _tensor("w", sym("D"), sym("F")),
        _tensor("h", sym("H"), dtype="int32"),
        dims={
            "B": DimRange(low=2, high=7),
            "D": DimRange(low=8, high=64, step=8),
            "F": DimRange(equals=4 * sym("D")),
            "H": DimRange(choices=(8, 16, 32)),
        },
    )
    for case in _draw(subject):
        sizes = dict(case.sizes)
        assert 2 <= sizes["B"] <= 7
        assert sizes["D"] in range(8, 65, 8)
        assert sizes["F"] == 4 * sizes["D"]
        assert sizes["H"] in {8, 16, 32}


def test_derived_dims_are_computed():
    subject = _subject(_tensor("x", 3 * sym("H") * sym("D"), sym("H") + 1))
    for case in _draw(subject):
        sizes = dict(case.sizes)
        assert case.tensors[0].shape == (3 * sizes["H"] * sizes["D"], sizes["H"] + 1)


def test_quotient_dims_divide_and_never_turn_negative():
    window = (sym("W") - sym("K")) // 2 + 1
    subject = _subject(_tensor("x", sym("W"), sym("K")), _tensor("y", window), _tensor("z", sym("C") // 4))
    for case in _draw(subject):
        sizes = dict(case.sizes)
        assert sizes["C"] % 4 == 0
        assert (sizes["W"] - sizes["K"]) // 2 + 1 >= 0


def test_cases_keep_to_the_budget():
    subject = _subject(_tensor("x", sym("A"), sym("B")), _tensor("y", sym("B"), sym("C")))
    for case in _draw(subject):
        sizes = dict(case.sizes)
        assert sizes["A"] * sizes["B"] * sizes["C"] <= SMALL.work
        assert all(sizes[one] * sizes[other] <= SMALL.elements for one, other in ("AB", "BC"))


def test_profiles_bound_what_a_kernel_is_compiled_for():
    subject = _subject(_tensor("x", sym("M"), sym("N"), dtype="T"), types={"T": ("float16", "float32")})
    few = profiles(subject, 6, 0, BANDED)
    assert len(few) == 6

    @settings(max_examples=200, database=None, phases=(Phase.generate,), deadline=None)
    @seed(1)
    @given(cases(subject, few, BANDED, empty=False))
    def collect(case: Case | None) -> None:
        assert case is not None
        (tensor,) = case.tensors
        sizes = [size for _, size in case.sizes]
        keys.add(
            (
                tensor.dtype,
                tuple(size % 16 == 0 for size in sizes),
                tuple((size - 1).bit_length() for size in sizes),
            )
        )

    keys: set[object] = set()
    collect()
    assert 1 < len(keys) <= 6


def test_type_variables_take_all_their_values():
    subject = _subject(_tensor("x", sym("M"), dtype="T"), types={"T": ("float16", "bfloat16")})
    assert {case.tensors[0].dtype for case in _draw(subject)} == {"float16", "bfloat16"}


def test_values_stay_in_range():
    subject = _subject(
        _tensor("p", sym("M"), values=FloatRange(low=0.25, high=0.5)),
        _tensor("i", sym("M"), dtype="int64"),
        _tensor("q", sym("M")),
        bounds={"i": Bounds(extent=sym("M"), other=-100), "q": Bounds(0.1, 4.0)},
    )
    seen: set[int] = set()
    for case in _draw(subject, count=60):
        made = arguments(case, "cpu")
        p, i, q = made["p"], made["i"], made["q"]
        assert isinstance(p, torch.Tensor)
        assert isinstance(i, torch.Tensor)
        assert isinstance(q, torch.Tensor)
        assert ((p >= 0.25) & (p <= 0.5)).all()
        assert (((i >= 0) & (i < max(i.numel(), 1))) | (i == -100)).all()
        assert (q > 0).all()
        seen.update(i.tolist())
    assert -100 in seen
    assert len(seen) > 5


def test_scalars_keep_what_may_decide_a_shape():
    subject = _subject(
        _tensor("x", sym("M")),
        ScalarSpec(name="groups", kind="int", default=8, span=SPAN),
        ScalarSpec(name="eps", kind="float", default=0.5, span=SPAN),
    )
    found = {case.scalars for case in _draw(subject)}
    assert {dict(scalars)["groups"] for scalars in found} == {8}
    assert {dict(scalars)["eps"] for scalars in found} == {0.5, 0.25, 1.0}


def test_layouts_are_all_drawn():
    subject = _subject(_tensor("x", sym("M"), sym("N")))
    layouts = [tensor.layout for case in _draw(subject, count=300) for tensor in case.tensors]
    strides = [layout.stride for layout in layouts if layout is not None]
    assert None in layouts
    assert any(stride[0] == 0 for stride in strides)
    assert any(stride[0] == 1 and stride[1] > 1 for stride in strides)
    assert any(stride[1] == 2 for stride in strides)
    assert any(layout is not None and layout.offset == 1 for layout in layouts)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32, torch.bool])
@pytest.mark.parametrize(("stride", "offset"), [((1, 4), 0), ((9, 2), 1), ((0, 1), 0), ((5, 1), 3)])
def test_strided_holds_the_values(dtype: torch.dtype, stride: tuple[int, ...], offset: int):
    values = make_tensor((4, 3), dtype, "normal", 3, "cpu")
    made = strided(values, stride, offset)
    assert made.stride() == stride
    assert made.storage_offset() == offset
    expected = values[:1].expand(4, 3) if stride[0] == 0 else values
    assert torch.equal(made, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_values(kind: str):
    first, second = (make_tensor((40, 40), torch.float16, kind, 5, "cpu") for _ in range(2))
    assert torch.equal(first.view(torch.int16), second.view(torch.int16))
    other = make_tensor((40, 40), torch.float16, kind, 6, "cpu")
    assert not torch.equal(first.view(torch.int16), other.view(torch.int16))


def test_no_infinities_where_they_have_no_meaning():
    def kinds(**extra: object) -> set[str]:
        subject = _subject(_tensor("x", sym("M")), _tensor("y", sym("M")), **extra)
        return {tensor.kind for case in _draw(subject, count=300) for tensor in case.tensors[:1]}

    assert kinds() == set(KINDS) - {"nan"}
    assert kinds(bounds={"x": Bounds(finite=True)}) == set(KINDS) - {"special"}
    assert kinds(extreme=False) == set(KINDS) - {"large", "special", "nan"}


def test_nan_comes_without_infinities():
    values = make_tensor((100, 100), torch.float32, "nan", 0, "cpu")
    assert values.isnan().any()
    assert not values.isinf().any()
    assert ((values == 0) & values.signbit()).any()


def test_special_values_hold_every_special_value():
    values = make_tensor((100, 100), torch.float32, "special", 0, "cpu")
    assert values.isnan().any()
    assert values.isposinf().any()
    assert values.isneginf().any()
    assert ((values == 0) & values.signbit()).any()


def test_equations_that_refer_to_each_other_have_no_sizes():
    subject = _subject(
        _tensor("x", sym("A")), dims={"A": DimRange(equals=sym("B")), "B": DimRange(equals=sym("A"))}
    )
    assert subject.sizes({}) is None


@given(st.integers(0, 3))
def test_profiles_do_not_depend_on_chance(start: int):
    subject = _subject(_tensor("x", sym("M"), sym("N")))
    assert profiles(subject, 20, start, SMALL) == profiles(subject, 20, start, SMALL)
