"""Axes: substitution, splitting, unification and names."""

from __future__ import annotations

import pytest

from tilespec.ir.axes import UnscannableError, name_axes, split, substitute, unify
from tilespec.ir.build import axis_expr, compute, index_node, literal
from tilespec.ir.nodes import Contract, Load, Node, Program, Reduce, Scan, Store, Tensor, postorder
from tilespec.model.dims import AxisAtom, Expr, const, sym

B, D, S = sym("B"), sym("D"), sym("S")


def axis(name: str, extent: Expr) -> tuple[AxisAtom, Expr]:
    atom = AxisAtom(name, extent)
    return atom, axis_expr(atom)


def program(
    value: Node,
    axes: tuple[AxisAtom, ...],
    shape: tuple[Expr, ...],
    inputs: tuple[Tensor, ...],
    index: tuple[Expr, ...] | None = None,
) -> Program:
    out = Tensor("out", shape, value.dtype)
    places = tuple(axis_expr(atom) for atom in axes) if index is None else index
    return Program("probe", tuple(inputs), (), (Store(out, places, value, tuple(axes)),))


def binders(made: Program) -> list[Reduce | Contract | Scan]:
    nodes = postorder(store.value for store in made.stores)
    return [node for node in nodes if isinstance(node, Reduce | Contract | Scan)]


def axes_of(node: Node) -> tuple[AxisAtom, ...]:
    assert isinstance(node, Reduce | Contract)
    return node.axes


x = Tensor("x", (B, D), "float32")
square = Tensor("m", (D, D), "float32")


def test_a_row_reduction_takes_the_output_axis_whose_loads_it_shares():
    (b, i), (d, j), (r, k) = axis("b", B), axis("d", D), axis("r", D)
    total = Reduce("float32", "sum", Load("float32", x, (i, k)), (r,))
    made = unify(program(compute("div", Load("float32", x, (i, j)), total), (b, d), (B, D), (x,)))
    assert axes_of(binders(made)[0]) == (d,)
    assert len([node for node in postorder([made.stores[0].value]) if isinstance(node, Load)]) == 1


def test_of_two_equal_extents_only_the_one_that_shares_loads_is_taken():
    (a, i), (d, j), (r, k) = axis("a", D), axis("d", D), axis("r", D)
    along_rows = Reduce("float32", "max", Load("float32", square, (k, j)), (r,))
    made = unify(
        program(compute("sub", Load("float32", square, (i, j)), along_rows), (a, d), (D, D), (square,))
    )
    assert axes_of(binders(made)[0]) == (a,)


def test_a_covariance_keeps_its_contraction_apart():
    (a, i), (d, j), (r, k) = axis("a", D), axis("d", D), axis("r", D)
    value = Contract(
        "float32", Load("float32", square, (i, k)), Load("float32", square, (j, k)), (r,), "float32"
    )
    assert binders(unify(program(value, (a, d), (D, D), (square,))))[0].axes == (r,)


def test_reductions_over_one_extent_join_even_over_different_tensors():
    y = Tensor("y", (B, D), "float32")
    (b, i), (r, k), (s, n) = axis("b", B), axis("r", D), axis("s", D)
    one = Reduce("float32", "sum", Load("float32", x, (i, k)), (r,))
    two = Reduce("float32", "max", Load("float32", y, (i, n)), (s,))
    made = unify(program(compute("add", one, two), (b,), (B,), (x, y)))
    assert len({node.axes for node in binders(made)}) == 1


def test_axes_of_one_reduction_never_collapse():
    (r, k), (s, n) = axis("r", D), axis("s", D)
    value = Reduce("float32", "sum", Load("float32", square, (k, n)), (r, s))
    assert len(binders(unify(program(value, (), (), (square,))))[0].axes) == 2


def test_attention_joins_softmax_and_second_product_but_not_the_head_dim():
    q, key, v = (Tensor(name, (S, D), "float32") for name in "qkv")
    (s, i), (d, j) = axis("s", S), axis("d", D)
    (t, n), (e, w), (p, m) = axis("t", S), axis("e", D), axis("p", S)

    def score(place: Expr) -> Contract:
        return Contract(
            "float32", Load("float32", q, (i, w)), Load("float32", key, (place, w)), (e,), "float32"
        )

    top = Reduce("float32", "max", score(m), (p,))
    weight = compute("exp", compute("sub", score(n), top))
    value = Contract("float32", weight, Load("float32", v, (n, j)), (t,), "float32")
    made = binders(unify(program(value, (s, d), (S, D), (q, key, v))))
    outer = next(node for node in made if isinstance(node, Contract) and node.axes[0].extent == S)
    inner = [node for node in made if isinstance(node, Contract) and node.axes[0].extent == D]
    assert [node.axes for node in made if isinstance(node, Reduce)] == [outer.axes]
    assert len(inner) == 1
    assert inner[0].axes[0] != d


def test_a_contraction_never_takes_an_output_axis():
    w = Tensor("w", (D,), "float32")
    (b, i), (d, j), (r, k) = axis("b", B), axis("d", D), axis("r", D)
    dot = Contract("float32", Load("float32", x, (i, k)), Load("float32", w, (k,)), (r,), "float32")
    made = unify(program(compute("add", Load("float32", x, (i, j)), dot), (b, d), (B, D), (x, w)))
    assert axes_of(binders(made)[0]) == (r,)


def test_a_reduction_over_a_product_is_another_pass_than_the_product():
    # A row norm of `x @ m` over D, where `x` is read along D inside the product.
    (b, i), (d, j), (k, n), (r, m) = axis("b", B), axis("d", D), axis("k", D), axis("r", D)

    def product(place: Expr) -> Contract:
        return Contract(
            "float32", Load("float32", x, (i, n)), Load("float32", square, (n, place)), (k,), "float32"
        )

    norm = Reduce("float32", "sum", compute("mul", product(m), Load("float32", x, (i, m))), (r,))
    made = unify(program(compute("div", product(j), norm), (b, d), (B, D), (x, square)))
    (reduction,) = (node for node in binders(made) if isinstance(node, Reduce))
    assert reduction.axes == (d,)
    assert len([node for node in binders(made) if isinstance(node, Contract)]) == 1


def test_stores_share_axes_in_the_way_that_shares_loads():
    (a, i), (d, j), (c, n), (r, k) = axis("a", D), axis("d", D), axis("c", D), axis("r", D)
    whole = Store(Tensor("y", (D, D), "float32"), (i, j), Load("float32", square, (i, j)), (a, d))
    columns = Store(
        Tensor("z", (D,), "float32"),
        (n,),
        Reduce("float32", "sum", Load("float32", square, (k, n)), (r,)),
        (c,),
    )
    made = unify(Program("probe", (square,), (), (whole, columns)))
    assert made.stores[1].axes == (d,)


def test_split_follows_division_and_remainder():
    flat = Tensor("x", (B, S), "float32")
    e, i = axis("e", B * S)
    made = split(program(Load("float32", flat, (i // S, i % S)), (e,), (B * S,), (flat,)))
    (store,) = made.stores
    outer, inner = store.axes
    assert (outer.extent, inner.extent) == (B, S)
    assert store.index == (axis_expr(outer) * S + axis_expr(inner),)
    assert store.value.index == (axis_expr(outer), axis_expr(inner))


def test_split_goes_from_the_coarsest_divisor_down():
    cube = Tensor("x", (B, S, D), "float32")
    e, i = axis("e", B * S * D)
    value = Load("float32", cube, (i // (S * D), i // D % S, i % D))
    (store,) = split(program(value, (e,), (B * S * D,), (cube,))).stores
    assert [atom.extent for atom in store.axes] == [B, S, D]
    assert all(item.axis is not None for item in store.value.index)


def test_split_leaves_scans_alone():
    flat = Tensor("x", (B * S,), "float32")
    (e, i), (r, k) = axis("e", B * S), axis("r", B * S)
    scan = Scan(
        "float32", "sum", compute("mul", Load("float32", flat, (k,)), Load("float32", flat, (k // S,))), r, i
    )
    made = split(program(scan, (e,), (B * S,), (flat,)))
    assert made.stores[0].value.axis.extent == B * S


def test_substitute_puts_data_in_an_index():
    places = Tensor("t", (B,), "int64")
    (_, i), (d, j) = axis("b", B), axis("d", D)
    chosen = Load("int64", places, (i,))
    assert substitute(Load("float32", x, (i, j)), {d: chosen}).index == (i, chosen)
    moved = substitute(Load("float32", x, (i, j + 1)), {d: chosen}).index[1]
    assert moved is compute("add", literal("int64", 1), chosen)
    assert substitute(index_node(j), {d: const(3)}) is literal("int64", 3)


def test_a_scan_cannot_be_read_at_data():
    places = Tensor("t", (B,), "int64")
    (_, i), (d, j), (r, k) = axis("b", B), axis("d", D), axis("r", D)
    scan = Scan("float32", "sum", Load("float32", x, (i, k)), r, j)
    with pytest.raises(UnscannableError):
        substitute(scan, {d: Load("int64", places, (i,))})


def test_names_follow_dims_and_avoid_what_is_taken():
    bias = Tensor("b", (D,), "float32")
    (p, i), (q, j), (r, k), (t, n) = axis("@1", B), axis("@2", D), axis("@3", D), axis("@4", const(3))
    inner = Reduce(
        "float32", "sum", compute("mul", Load("float32", x, (n, k)), Load("float32", x, (i, k))), (r, t)
    )
    value = compute("mul", compute("add", Load("float32", bias, (j,)), Load("float32", x, (i, j))), inner)
    made = name_axes(program(value, (p, q), (B, D), (x, bias)))
    assert [atom.name for atom in made.stores[0].axes] == ["b1", "d"]
    assert [atom.name for atom in axes_of(binders(made)[0])] == ["d1", "r0"]


def test_a_keyword_is_no_name():
    (p, i) = axis("@1", sym("IN"))
    t = Tensor("t", (sym("IN"),), "float32")
    made = name_axes(program(Load("float32", t, (i,)), (p,), (sym("IN"),), (t,)))
    assert made.stores[0].axes[0].name == "in1"
