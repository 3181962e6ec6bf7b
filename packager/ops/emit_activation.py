"""Elementary functions and activations of element-wise operators."""

from __future__ import annotations

from packager.ops.expression import Element, ExpressionBuilder, Term, emits
from packager.program import DType

_FUNCTIONS = (
    *("Exp", "Log", "Sqrt", "Erf", "Sigmoid", "Softplus", "Floor", "Ceil", "Round"),
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
    *("Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"),
)


@emits(*_FUNCTIONS)
def function(e: Element) -> Term:
    """A function of ``ep_math.h`` of the same name."""
    return e.b.call(e.node.op_type.lower(), e.x)


@emits("Reciprocal")
def reciprocal(e: Element) -> Term:
    """``1 / x``."""
    return e.b.infix(e.b.literal(1, e.x.dtype), "/", e.x)


@emits("Relu")
def relu(e: Element) -> Term:
    """``max(0, x)``; NaN stays NaN because it comes second."""
    return e.b.call("max", e.b.literal(0, e.x.dtype), e.x)


@emits("LeakyRelu", "PRelu")
def leaky_relu(e: Element) -> Term:
    """``x < 0 ? slope * x : x``; the slope is ``alpha`` or the second input."""
    x = e.x
    slope = e.args[1] if e.node.op_type == "PRelu" else e.attribute("alpha", 0.01)
    scaled = e.b.infix(slope, "*", x) if x.is_float else e.b.call("mul", slope, x)
    return e.b.select(e.b.compare("lt", x, e.b.literal(0, x.dtype)), scaled, x)


@emits("Clip")
def clip(e: Element) -> Term:
    """``min(max, max(min, x))``: the upper bound wins when they cross; NaN stays NaN."""
    result = e.x
    if e.has(1):
        result = e.b.call("max", e.args[1], result)
    if e.has(2):
        result = e.b.call("min", e.args[-1], result)
    return result


@emits("HardSigmoid", "HardSwish")
def hard_sigmoid(e: Element) -> Term:
    """``max(0, min(1, alpha * x + beta))``; HardSwish is x times that with 1/6 and 1/2."""
    x = e.x
    if e.node.op_type == "HardSwish":
        return e.b.infix(x, "*", _hard_sigmoid(e.b, x, e.b.literal(1 / 6, x.dtype), e.b.literal(0.5, x.dtype)))
    return _hard_sigmoid(e.b, x, e.attribute("alpha", 0.2), e.attribute("beta", 0.5))


@emits("Elu", "Selu", "Celu")
def elu(e: Element) -> Term:
    """``x > 0 ? x : alpha * (e^x - 1)``; Selu scales by gamma, Celu takes ``e^(x/alpha)``."""
    x = e.x
    defaults = {"Elu": 1.0, "Celu": 1.0, "Selu": 1.67326319217681884765625}
    alpha = e.attribute("alpha", defaults[e.node.op_type])
    inner = e.b.infix(x, "/", alpha) if e.node.op_type == "Celu" else x
    below = e.b.infix(alpha, "*", e.b.call("expm1", inner))
    result = e.b.select(e.b.compare("gt", x, e.b.literal(0, x.dtype)), x, below)
    if e.node.op_type != "Selu":
        return result
    return e.b.infix(e.attribute("gamma", 1.05070102214813232421875), "*", result)


@emits("Softsign")
def softsign(e: Element) -> Term:
    """``x / (1 + |x|)``."""
    x = e.x
    return e.b.infix(x, "/", e.b.infix(e.b.literal(1, x.dtype), "+", e.b.call("abs", x)))


@emits("ThresholdedRelu")
def thresholded_relu(e: Element) -> Term:
    """``x > alpha ? x : 0``."""
    x = e.x
    return e.b.select(e.b.compare("gt", x, e.attribute("alpha", 1.0)), x, e.b.literal(0, x.dtype))


@emits("Shrink")
def shrink(e: Element) -> Term:
    """``x < -lambd ? x + bias : x > lambd ? x - bias : 0``; integers in double, for fractional bounds."""
    x = e.x if e.x.is_float else e.b.convert(e.x, DType.FLOAT64)
    bound, bias = (e.node.attributes.get_float(name, default) for name, default in (("lambd", 0.5), ("bias", 0.0)))
    lowered = e.b.infix(x, "-", e.b.literal(bias, x.dtype))
    raised = e.b.infix(x, "+", e.b.literal(bias, x.dtype))
    above = e.b.select(e.b.compare("gt", x, e.b.literal(bound, x.dtype)), lowered, e.b.literal(0, x.dtype))
    result = e.b.select(e.b.compare("lt", x, e.b.literal(-bound, x.dtype)), raised, above)
    return e.b.convert(result, e.x.dtype)


@emits("Mish")
def mish(e: Element) -> Term:
    """``x * tanh(softplus(x))``."""
    x = e.x
    if x.dtype is DType.FLOAT32:
        return e.b.call("mish", x)
    return e.b.infix(x, "*", e.b.call("tanh", e.b.call("softplus", x)))


@emits("Gelu")
def gelu(e: Element) -> Term:
    """``0.5 * x * (1 + erf(x / sqrt(2)))``, or its approximation by tanh."""
    x = e.x
    return e.b.call("gelu_tanh" if e.node.attributes.get_string("approximate", "none") == "tanh" else "gelu", x)


@emits("Swish")
def swish(e: Element) -> Term:
    """``x * sigmoid(alpha * x)``."""
    x = e.x
    alpha = e.node.attributes.get_float("alpha", 1.0)
    inner = x if alpha == 1.0 else e.b.infix(e.b.literal(alpha, x.dtype), "*", x)
    return e.b.infix(x, "*", e.b.call("sigmoid", inner))


def _hard_sigmoid(b: ExpressionBuilder, x: Term, alpha: Term, beta: Term) -> Term:
    line = b.infix(b.infix(alpha, "*", x), "+", beta)
    return b.call("min", b.literal(1, x.dtype), b.call("max", b.literal(0, x.dtype), line))
