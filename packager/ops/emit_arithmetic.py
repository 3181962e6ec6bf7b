"""Arithmetic, comparisons, logic and bits of element-wise operators."""

from __future__ import annotations

from collections.abc import Callable

from packager.ops.expression import Element, ExpressionBuilder, Term, emits
from packager.program import DType

_INFIX = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_COMPARISONS = {
    "Equal": "eq",
    "Less": "lt",
    "Greater": "gt",
    "LessOrEqual": "le",
    "GreaterOrEqual": "ge",
}
_BITS = {"And": "&", "Or": "|", "Xor": "^", "BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^"}
_POWERS: dict[float | int | bool | None, Callable[[ExpressionBuilder, Term], Term]] = {
    -1: lambda b, x: b.infix(b.literal(1, x.dtype), "/", x),
    2: lambda b, x: b.infix(x, "*", x),
    3: lambda b, x: b.infix(_square(b, x), "*", x),
    4: lambda b, x: _square(b, _square(b, x)),
    0.5: lambda b, x: b.call("sqrt", x),
    -0.5: lambda b, x: b.infix(b.literal(1, x.dtype), "/", b.call("sqrt", b.infix(x, "+", b.literal(0, x.dtype)))),
}
"""Exponents that need no logarithm; like numpy, x^0.5 is the square root at -infinity too (adding 0 makes -0 a 0)."""


@emits(*_INFIX)
def arithmetic(e: Element) -> Term:
    """IEEE on floats; integers wrap around, Div truncates toward zero."""
    return _binary(e.b, e.node.op_type, e.x, e.args[1])


@emits("Sum", "Mean")
def total(e: Element) -> Term:
    """All inputs added from the left; Mean divides by their number."""
    result = e.x
    for term in e.args[1:]:
        result = _binary(e.b, "Add", result, term)
    return _binary(e.b, "Div", result, e.b.literal(len(e.args), result.dtype)) if e.node.op_type == "Mean" else result


@emits("Max", "Min")
def extreme(e: Element) -> Term:
    """NaN when any input is."""
    name = e.node.op_type.lower()
    result = e.x
    for term in e.args[1:]:
        result = e.b.call(f"{name}_nan" if term.is_float else name, result, term)
    return result


@emits("Mod")
def modulo(e: Element) -> Term:
    """Fmod = 1: the sign of the dividend; 0: of the divisor."""
    return e.b.call("fmod" if e.node.attributes.get_int("fmod", 0) else "mod", *e.args)


@emits("Pow")
def power(e: Element) -> Term:
    """The type is that of the base; an integer base with a float exponent goes through double."""
    base, exponent = e.args
    if base.is_float and exponent.value in _POWERS:
        return _POWERS[exponent.value](e.b, base)
    if base.is_float:
        return e.b.call("pow", base, e.b.convert(exponent, base.dtype))
    if exponent.is_float:
        wide = e.b.call("pow", e.b.convert(base, DType.FLOAT64), e.b.convert(exponent, DType.FLOAT64))
        return e.b.convert(wide, base.dtype)
    return e.b.call("pow", base, e.b.convert(exponent, DType.INT64))


@emits(*_COMPARISONS)
def comparison(e: Element) -> Term:
    """False with NaN."""
    return e.b.compare(_COMPARISONS[e.node.op_type], *e.args)


@emits(*_BITS)
def bits(e: Element) -> Term:
    """Truth values are 0 or 1 (or lane masks): bitwise is logical."""
    return e.b.infix(e.x, _BITS[e.node.op_type], e.args[1])


@emits("Not")
def logical_not(e: Element) -> Term:
    """Logical not."""
    return e.b.negate(e.x)


@emits("BitwiseNot")
def bitwise_not(e: Element) -> Term:
    """All bits flipped."""
    return e.b.infix(e.x, "^", e.b.literal(-1 if e.out.label.startswith("int") else 2 ** (8 * e.out.size) - 1, e.out))


@emits("BitShift")
def shift(e: Element) -> Term:
    """By the width of the type or more: 0."""
    return e.b.call("shl" if e.node.attributes.get_string("direction") == "LEFT" else "shr", *e.args)


@emits("Where")
def where(e: Element) -> Term:
    """``condition ? x : y``."""
    return e.b.select(*e.args)


@emits("Cast", "CastLike")
def cast(e: Element) -> Term:
    """Floats to integers toward zero, saturating."""
    return e.b.convert(e.x, e.out)


@emits("Abs", "Neg", "Sign")
def sign_work(e: Element) -> Term:
    """The smallest integer is its own absolute value and negative; the sign of NaN is NaN."""
    x = e.x
    if e.node.op_type == "Neg" and x.is_float:
        return e.b.step(f"-{x.text}", x.dtype)
    if e.node.op_type == "Sign" and x.is_float:
        zero, one, minus = (e.b.literal(value, x.dtype) for value in (0, 1, -1))
        return e.b.select(e.b.compare("gt", x, zero), one, e.b.select(e.b.compare("lt", x, zero), minus, x))
    return e.b.call(e.node.op_type.lower(), x)


@emits("IsNaN")
def is_nan(e: Element) -> Term:
    """A NaN differs from itself."""
    return e.b.compare("ne", e.x, e.x)


@emits("IsInf")
def is_inf(e: Element) -> Term:
    """``detect_negative`` and ``detect_positive`` choose which infinities count."""
    signs = {"detect_positive": "inf", "detect_negative": "-inf"}
    wanted = [float(value) for name, value in signs.items() if e.node.attributes.get_int(name, 1)]
    if not wanted:
        return e.b.compare("lt", e.x, e.x)
    found = [e.b.compare("eq", e.x, e.b.literal(value, e.x.dtype)) for value in wanted]
    return found[0] if len(found) == 1 else e.b.infix(found[0], "|", found[1])


def _binary(b: ExpressionBuilder, op_type: str, left: Term, right: Term) -> Term:
    if left.is_float:
        return b.infix(left, _INFIX[op_type], right)
    return b.call(op_type.lower(), left, right)


def _square(b: ExpressionBuilder, x: Term) -> Term:
    return b.infix(x, "*", x)
