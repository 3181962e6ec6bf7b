"""Einsum: matrix products where the equation allows, a loop over all labels where it does not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import required, required_operand
from packager.ops.einsum_equation import Equation, EquationError, MatrixForm, Term, matrix_form, parse
from packager.ops.products import BATCH_AXES, MATMUL, Matrix, Product, product_calls
from packager.program import Buffer, Descriptor, DType, Kernel, KernelCall, Operand

GENERAL = {
    dtype: Kernel(f"ep_einsum_{suffix}", "ep_matmul_einsum.h", splits=True)
    for dtype, suffix in {DType.FLOAT32: "f32", DType.FLOAT64: "f64", DType.INT32: "i32", DType.INT64: "i64"}.items()
}

EINSUM_AXES = 8  # EP_EINSUM_AXES


@lowering("Einsum")
def einsum(node: ir.Node, ctx: LoweringContext) -> Iterator[KernelCall]:
    """Sums of products by labels; ONNX Einsum-12.  More than two inputs are contracted from the left."""
    operands = [required_operand(node, index, ctx) for index in range(len(node.inputs))]
    shapes = [ctx.shape(required(node, index, ctx)) for index in range(len(node.inputs))]
    try:
        equation = parse(node.attributes.get_string("equation", ""), shapes)
    except EquationError as error:
        raise ctx.unsupported(node, str(error)) from None
    output = ctx.buffer(node.outputs[0])
    terms = list(equation.terms)
    while len(terms) > 2:
        later = {label for term in terms[2:] for label in term.steps} | set(equation.output)
        labels = "".join(label for label in equation.extents if label in later and _in_any(label, terms[:2]))
        between = ctx.temporary([equation.extents[label] for label in labels], output.dtype)
        yield from _calls(_part(terms[:2], labels, equation), operands[:2], between, node, ctx)
        terms = [Term.dense(labels, equation.extents), *terms[2:]]
        operands = [between, *operands[2:]]
    yield from _calls(_part(terms, equation.output, equation), operands, output, node, ctx)


def _in_any(label: str, terms: list[Term]) -> bool:
    return any(label in term.steps for term in terms)


def _part(terms: list[Term], output: str, equation: Equation) -> Equation:
    """An equation over some of the terms, with only the labels they have."""
    extents = {label: extent for label, extent in equation.extents.items() if _in_any(label, terms)}
    return Equation(tuple(terms), output, extents)


def _calls(
    equation: Equation, operands: list[Operand], output: Buffer, node: ir.Node, ctx: LoweringContext
) -> Iterator[KernelCall]:
    """One or two terms into ``output``."""
    found: tuple[int, MatrixForm, Equation, list[Operand]] | None = None
    if len(operands) == 2 and (output.dtype is DType.FLOAT32 or output.dtype in MATMUL):
        for order in ((0, 1), (1, 0)):
            turned = Equation(tuple(equation.terms[at] for at in order), equation.output, equation.extents)
            form = matrix_form(turned)
            if form is None or len(form.batch) > BATCH_AXES:
                continue
            size = math.prod(equation.extents[label] for label in form.rows + form.columns + form.summed)
            if size > 1 and (found is None or size > found[0]):
                found = (size, form, turned, [operands[at] for at in order])
    if found is None:
        yield _general_call(equation, operands, output, node, ctx)
    else:
        yield from product_calls(_product(found[1], found[2], found[3]), output, node, ctx)


def _product(form: MatrixForm, equation: Equation, operands: list[Operand]) -> Product:
    a, b = (term.steps for term in equation.terms)

    def extent(labels: str) -> int:
        return math.prod(equation.extents[label] for label in labels)

    def step(steps: dict[str, int], labels: str) -> int:
        """The step of joined axes is that of the last; an axis of one place needs none."""
        return steps[labels[-1]] if labels else 1

    return Product(
        extent(form.rows),
        extent(form.columns),
        extent(form.summed),
        tuple(equation.extents[label] for label in form.batch),
        Matrix(operands[0], step(a, form.rows), step(a, form.summed), tuple(a.get(label, 0) for label in form.batch)),
        Matrix(
            operands[1], step(b, form.summed), step(b, form.columns), tuple(b.get(label, 0) for label in form.batch)
        ),
    )


def _general_call(
    equation: Equation, operands: list[Operand], output: Buffer, node: ir.Node, ctx: LoweringContext
) -> KernelCall:
    kernel = GENERAL.get(output.dtype)
    if kernel is None:
        raise ctx.unsupported(node, f"no kernel for {output.dtype.label}")
    summed = "".join(label for label in equation.extents if label not in equation.output)
    if max(len(summed), len(equation.output)) > EINSUM_AXES:
        raise ctx.unsupported(node, f"more than {EINSUM_AXES} labels are kept or summed")
    terms = [equation.terms[0], equation.terms[-1]]
    descriptor = Descriptor.of(
        "ep_einsum_desc",
        keep=_aligned([equation.extents[label] for label in equation.output], 1),
        keep_a=_aligned([terms[0].steps.get(label, 0) for label in equation.output], 0),
        keep_b=_aligned([terms[1].steps.get(label, 0) for label in equation.output], 0),
        sum=_aligned([equation.extents[label] for label in summed], 1),
        sum_a=_aligned([terms[0].steps.get(label, 0) for label in summed], 0),
        sum_b=_aligned([terms[1].steps.get(label, 0) for label in summed], 0),
        repeat=math.prod(equation.extents[label] for label in summed),
        has_b=int(len(operands) == 2),
    )
    inputs = [operands[0], operands[1] if len(operands) == 2 else None]
    count = math.prod(equation.extents[label] for label in equation.output)
    macs = math.prod(equation.extents.values())
    return ctx.call(kernel, node, [output], inputs, descriptor, extent=count, macs=macs)


def _aligned(values: list[int], fill: int) -> tuple[int, ...]:
    """``values`` right-aligned in the kernel's axes."""
    return (fill,) * (EINSUM_AXES - len(values)) + tuple(values)
