from __future__ import annotations

import numpy as np
import pytest

from packager.errors import ModelError
from packager.ops.einsum_equation import EquationError, matrix_form, parse
from tests.ops.linalg_network import Network, floats
from tests.support.harness import ISAS, Array, compile_program, node_model

EXTENTS = {"i": 3, "j": 4, "k": 5, "l": 6, "b": 2, "h": 3, "w": 7, "c": 20}
EQUATIONS = [
    "ij,jk->ik",
    "ij,kj->ik",
    "ij,jk->ki",
    "bij,bjk->bik",
    "bhwc,hkc->bhwk",
    "bhwc,wkc->bhwk",
    "ij->ji",
    "ii->i",
    "ii->",
    "ij,ij->",
    "ij,ij->ij",
    "i,j->ij",
    "ijk,jil->kl",
    "ij,jk,kl->il",
    "...ij,...jk->...ik",
    "bij,jk",
    "ij,k->ijk",
    "bhic,bhjc->bhij",
    "bihc,bjhc->bhij",
    "bhij,bjhc->bihc",
    "ij,jj->i",
    "c,cw->w",
    "ijkl,jl->ik",
    "b...,b...->...",
]


def operands(equation: str, rng: np.random.Generator) -> list[Array]:
    shapes = []
    for term in equation.split("->", maxsplit=1)[0].split(","):
        first, _, last = term.partition("...")
        dots = [2, 3] if "..." in term else []
        shapes.append([EXTENTS[x] for x in first] + dots + [EXTENTS[x] for x in last])
    return [floats(rng, *shape) for shape in shapes]


@pytest.mark.parametrize("isa", ISAS)
def test_equations_give_what_numpy_gives(isa: str) -> None:
    rng = np.random.default_rng(0)
    network = Network()
    for equation in EQUATIONS:
        arrays = operands(equation, rng)
        wanted = np.asarray(np.einsum(equation, *[array.astype(np.float64) for array in arrays]))
        network.node("Einsum", [*arrays], wanted.astype(np.float32), equation=equation)
    network.check(isa, atol=1e-4)


def test_constant_operands_are_packed_when_the_model_is_built() -> None:
    rng = np.random.default_rng(1)
    model = node_model("Einsum", {"a": floats(rng, 6, 8)}, constants={"b": floats(rng, 32, 8)}, equation="ij,kj->ik")
    assert [call.kernel.name for call in compile_program(model).body] == ["ep_gemm_f32"]


def test_a_label_between_rows_becomes_part_of_the_batch() -> None:
    form = matrix_form(parse("bhwc,hkc->bhwk", [(2, 3, 7, 20), (3, 5, 20)]))
    assert form is not None
    assert (form.batch, form.rows, form.columns, form.summed) == ("bh", "w", "k", "c")


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3)], "2 terms for 1 inputs"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "label j"),
        ("ij->iz", [(2, 3)], "names a label twice or one that no input has"),
        ("ij->ii", [(2, 3)], "names a label twice or one that no input has"),
        ("ijk->i", [(2, 3)], "does not fit an input of rank 2"),
    ],
)
def test_equations_that_do_not_fit_say_why(equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(EquationError, match=message):
        parse(equation, shapes)


def test_a_type_without_kernel_is_refused_by_name() -> None:
    model = node_model("Einsum", {"a": np.ones((2, 3), np.int8)}, equation="ij->ji")
    with pytest.raises(ModelError, match=r"Einsum: no kernel for int8"):
        compile_program(model)
