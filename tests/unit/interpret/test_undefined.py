"""What a GPU leaves undefined is an error in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
import torch

from tilespec.interpret import InterpreterError
from tilespec.interpret.errors import (
    AliasError,
    DataRaceError,
    InterpreterLaunchError,
    NotSupportedError,
    OutOfBoundsError,
    PoisonError,
)

Run = Callable[..., None]
Load = Callable[..., ModuleType]


@pytest.mark.parametrize(
    "body",
    [
        "ct.load(x, 2, 4)",
        "ct.load(x, -1, 4)",
        "ct.store(x, 2, ct.zeros((4,), ct.float32))",
        "ct.store(x, ct.bid(0) - 1, ct.zeros((4,), ct.float32))",
        "ct.load(x.slice(0, 0, 2), 1, 4)",
        "x.slice(0, 4, 9)",
        "x.tiled_view(4, traversal_steps=3).load(2)",
        "ct.load(x, 1, 4, check_bounds=False)",
        "ct.gather(x, ct.arange(8, dtype=ct.int32), check_bounds=False)",
    ],
)
def test_leaving_an_array(run: Run, body: str) -> None:
    with pytest.raises(OutOfBoundsError):
        run(body, x=torch.zeros(6))


@pytest.mark.parametrize(
    "use",
    [
        "t + 1",
        "ct.maximum(t, 0.0)",
        "ct.exp(t)",
        "ct.sum(t)",
        "ct.max(t)",
        "ct.cumsum(t)",
        "ct.where(ct.arange(4, dtype=ct.int32) < 3, t, 0.0)",
        "t.astype(ct.int32).astype(ct.float32)",
        "t[None, :].reshape((4,)) * 0",
        "ct.cat((ct.extract(t, 1, 2), ct.extract(t, 0, 2)), 0)",
        "ct.mma(t.reshape((1, 4)), ct.ones((4, 4), ct.float32), ct.zeros((1, 4), ct.float32)).reshape((4,))",
    ],
)
def test_undetermined_padding_must_not_reach_a_store(run: Run, use: str) -> None:
    with pytest.raises(PoisonError):
        run(f"t = ct.load(x, 0, 4)\nct.store(y, 0, {use})", x=torch.zeros(2), y=torch.zeros(4))


@pytest.mark.parametrize(
    "use",
    [
        "ct.where(ct.arange(4, dtype=ct.int32) < 2, t, 0.0)",
        "ct.sum(ct.where(ct.arange(4, dtype=ct.int32) < 2, t, 0.0))",
        "ct.extract(t, 0, 2)",
    ],
)
def test_undetermined_padding_that_is_masked_is_fine(run: Run, use: str) -> None:
    run(f"t = ct.load(x, 0, 4)\nct.store(y, 0, {use})", x=torch.zeros(2), y=torch.zeros(4))


def test_undetermined_padding_outside_of_the_stored_array_is_fine(run: Run) -> None:
    y = torch.zeros(2)
    run("ct.store(y, 0, ct.load(x, 0, 4) + 1)", x=torch.zeros(2), y=y)
    assert y.tolist() == [1.0, 1.0]


def test_undetermined_padding_must_not_choose_an_element_or_a_branch(run: Run) -> None:
    index, y = torch.zeros(2, dtype=torch.int32), torch.zeros(4)
    with pytest.raises(PoisonError):
        run("ct.store(y, 0, ct.gather(y, ct.load(i, 0, 4)))", i=index, y=y)
    with pytest.raises(PoisonError):
        run("ct.scatter(y, ct.load(i, 0, 4), 1.0)", i=index, y=y)
    with pytest.raises(PoisonError):
        run("if ct.sum(ct.load(y, 0, 8)) > 0:\n    ct.store(y, 0, 1.0)", y=y)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 3e9, -3e9])
def test_a_float_that_no_int_holds_is_undetermined(run: Run, value: float) -> None:
    with pytest.raises(PoisonError):
        run(
            "ct.store(y, 0, ct.load(x, 0, 1).astype(ct.int32))",
            x=torch.tensor([value]),
            y=torch.zeros(1, dtype=torch.int32),
        )


@pytest.mark.parametrize("use", ["t // (t - t)", "t % (t - t)", "t << 32", "t >> 40"])
def test_integer_results_that_the_machine_leaves_open(run: Run, use: str) -> None:
    with pytest.raises(PoisonError):
        run(f"t = ct.load(x, 0, 4)\nct.store(x, 0, {use})", x=torch.ones(4, dtype=torch.int32))


COPY = "ct.store(y, ct.bid(0), ct.load(x, ct.bid(0), 4) + 1)"


def test_an_output_that_is_an_input_too(run: Run) -> None:
    x = torch.zeros(8)
    with pytest.raises(AliasError, match="`y`"):
        run(COPY, x=x, y=x, grid=(2,))
    with pytest.raises(AliasError):
        run(COPY, x=x[:6], y=x[2:], grid=(1,))


def test_views_of_one_tensor_that_share_no_element(run: Run) -> None:
    both = torch.zeros(8, 2)
    run(COPY, x=both[:, 0], y=both[:, 1], grid=(2,))
    assert both.sum() == 8.0


def test_an_alias_can_be_accepted(load: Load) -> None:
    module = load(
        """
        import torch
        import cuda.tile as ct

        @ct.kernel
        def k(x, y):
            ct.store(y, ct.bid(0), ct.load(x, ct.bid(0), 4) + 1)

        def launch(x):
            ct.launch(torch.cuda.current_stream(), (2,), k, (x, x))
        """,
        allow_alias=True,
    )
    x = torch.zeros(8)
    module.launch(x)
    assert x.sum() == 8.0


def test_two_blocks_that_write_one_element(run: Run) -> None:
    with pytest.raises(DataRaceError):
        run("ct.store(y, 0, ct.bid(0))", y=torch.zeros(1, dtype=torch.int32), grid=(2,))
    with pytest.raises(DataRaceError):
        run(
            "ct.scatter(y, ct.arange(2, dtype=ct.int32), ct.bid(0))",
            y=torch.zeros(2, dtype=torch.int32),
            grid=(2,),
        )


def test_two_blocks_may_write_the_same_value(run: Run) -> None:
    y = torch.zeros(1, dtype=torch.int32)
    run("ct.store(y, 0, 7)", y=y, grid=(3,))
    assert y.item() == 7


def test_one_scatter_that_writes_an_element_twice(run: Run) -> None:
    with pytest.raises(DataRaceError):
        run("i = ct.arange(4, dtype=ct.int32)\nct.scatter(y, i // 2, i)", y=torch.zeros(4, dtype=torch.int32))


def test_a_block_that_reads_what_another_wrote(run: Run) -> None:
    body = "ct.store(y, ct.bid(0), ct.load(y, 1 - ct.bid(0), 1) + 1)"
    with pytest.raises(DataRaceError):
        run(body, y=torch.zeros(2), grid=(2,))


def test_a_block_may_update_its_own_elements(run: Run) -> None:
    y = torch.zeros(8)
    run("for _ in range(3):\n    ct.store(y, ct.bid(0), ct.load(y, ct.bid(0), 4) + 1)", y=y, grid=(2,))
    assert y.tolist() == [3.0] * 8


def test_atomics_may_share_elements(run: Run) -> None:
    y = torch.zeros(1)
    run("ct.atomic_add(y, 0, 1.0)", y=y, grid=(5,))
    assert y.item() == 5.0


@pytest.mark.parametrize("grid", [[1], (1, 1, 1, 1), (0,), (1, 70000), (1 << 24,), (1.0,), 3])
def test_grids_that_cannot_be(run: Run, grid: object) -> None:
    with pytest.raises(InterpreterLaunchError):
        run("pass", y=torch.zeros(1), grid=grid)


def test_arguments_that_cannot_be(run: Run) -> None:
    with pytest.raises(InterpreterLaunchError, match="NoneType"):
        run("pass", y=None)
    with pytest.raises(InterpreterLaunchError, match="requires grad"):
        run("pass", y=torch.zeros(1, requires_grad=True))
    with pytest.raises(OverflowError):
        run("pass", y=1 << 31)


def test_what_is_not_modelled_says_so(run: Run) -> None:
    with pytest.raises(NotSupportedError, match="mma_scaled"):
        run("ct.mma_scaled(1, 2, 3, 4, 5)", y=torch.zeros(1))
    with pytest.raises(NotSupportedError, match="get_raw_memory"):
        run("y.get_raw_memory()", y=torch.zeros(1))
    with pytest.raises(NotSupportedError, match="atomic_store_add"):
        run("y.tiled_view(1).atomic_store_add(0, 1.0)", y=torch.zeros(1))
    with pytest.raises(NotSupportedError, match="RZ"):
        run("ct.add(1.0, ct.full((1,), 1.0, ct.float32), rounding_mode=ct.RoundingMode.RZ)", y=torch.zeros(1))


def test_errors_of_python_are_named(run: Run) -> None:
    with pytest.raises(InterpreterError, match="potentially undefined"):
        run("if n > 3:\n    p = 1\nct.store(y, 0, p)", y=torch.zeros(1), n=1)
    with pytest.raises(InterpreterError, match="in kernel k"):
        run("ct.load(y, 5, 1)", y=torch.zeros(1))
