"""Building the body of an element-wise kernel, one C expression per step.

``ep_map.h`` runs two kinds of function, and codegen prints both from an :class:`~packager.program.Expression`:

* all types are ``ep_f32v``: float32 vectors; truth values are lane masks and never a step of their own (they stand
  inside the step that selects by them);
* anything else: one element at a time, types are ``ep_elem_<type>`` (element types that may alias), truth values are
  bytes 0 and 1.

float16 and bfloat16 are storage types: operands widen to float32 when read, the result is rounded when written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx_ir as ir

from packager.program import DType, Expression

SUFFIX = {
    DType.FLOAT32: "f32",
    DType.FLOAT64: "f64",
    DType.FLOAT16: "u16",
    DType.BFLOAT16: "u16",
    DType.INT8: "i8",
    DType.INT16: "i16",
    DType.INT32: "i32",
    DType.INT64: "i64",
    DType.UINT8: "u8",
    DType.UINT16: "u16",
    DType.UINT32: "u32",
    DType.UINT64: "u64",
    DType.BOOL: "u8",
}
"""How the runtime's primitives end for operands of each type."""

FLOATS = frozenset({DType.FLOAT32, DType.FLOAT64})
_HALVES = {DType.FLOAT16: "f16", DType.BFLOAT16: "bf16"}


@dataclass(frozen=True)
class Term:
    """A value inside an expression: the name of an operand or step, a literal, or a mask in brackets."""

    text: str
    dtype: DType
    value: float | int | bool | None = None  # of a literal

    @property
    def is_float(self) -> bool:
        """Whether arithmetic on it is floating-point."""
        return self.dtype in FLOATS


def computed_in(dtype: DType) -> DType:
    """The type that values of ``dtype`` are computed in."""
    return DType.FLOAT32 if dtype in _HALVES else dtype


@dataclass
class ExpressionBuilder:
    """Collects operands and steps; ``vector`` chooses the kind of function (see the module)."""

    vector: bool
    steps: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    input_types: list[str] = field(default_factory=list)

    def operand(self, dtype: DType) -> Term:
        """The next input, ``x<i>``."""
        name = f"x{len(self.input_types)}"
        self.input_types.append(self._type(dtype))
        if dtype in _HALVES:
            return self.step(f"ep_f32_from_{_HALVES[dtype]}({name})", DType.FLOAT32)
        return Term(name, dtype)

    def literal(self, value: float | int | bool, dtype: DType) -> Term:
        """A constant of ``dtype``; among vectors every number is a float32 (an exponent may be an integer tensor)."""
        dtype = computed_in(dtype)
        if dtype is DType.BOOL and self.vector:
            return Term(f"ep_mask_f32v({int(bool(value))})", dtype, value)
        if dtype is DType.FLOAT32 or self.vector:
            return Term(f"ep_splat_{self.suffix(dtype)}({float_literal(value)})", DType.FLOAT32, value)
        if dtype is DType.FLOAT64:
            return Term(f"({double_literal(value)})", dtype, value)
        return Term(f"(({self._type(dtype)}){integer_literal(int(value))})", dtype, value)

    def step(self, text: str, dtype: DType) -> Term:
        """Name the value of ``text``; a mask stays text."""
        if self.vector and dtype is DType.BOOL:
            return Term(f"({text})", dtype)
        self.steps.append(text)
        self.types.append(self._type(dtype))
        return Term(f"t{len(self.steps) - 1}", dtype)

    def call(self, name: str, *arguments: Term, dtype: DType | None = None) -> Term:
        """``ep_<name>_<type>(...)`` by the type of the first argument, which is also the result's unless given."""
        source = arguments[0].dtype
        text = ", ".join(argument.text for argument in arguments)
        return self.step(f"ep_{name}_{self.suffix(source)}({text})", dtype or source)

    def infix(self, left: Term, operator: str, right: Term) -> Term:
        """A C operator on two values of one type; integers are cast back from C's promotion."""
        text = f"{left.text} {operator} {right.text}"
        if left.dtype in FLOATS or (self.vector and left.dtype is DType.BOOL):
            return self.step(text, left.dtype)
        return self.step(f"({self._type(left.dtype)})({text})", left.dtype)

    def compare(self, name: str, left: Term, right: Term) -> Term:
        """``lt``, ``le``, ``gt``, ``ge``, ``eq`` or ``ne``: a truth value."""
        if self.vector and left.dtype is not DType.BOOL:
            return self.call(name, left, right, dtype=DType.BOOL)
        if self.vector:
            different = self.infix(left, "^", right)
            return different if name == "ne" else self.negate(different)
        return self.step(f"(ep_elem_u8)({left.text} {_OPERATORS[name]} {right.text})", DType.BOOL)

    def negate(self, condition: Term) -> Term:
        """Logical not."""
        return self.step(f"~{condition.text}" if self.vector else f"(ep_elem_u8)!{condition.text}", DType.BOOL)

    def select(self, condition: Term, yes: Term, no: Term) -> Term:
        """``yes`` where ``condition`` holds."""
        if self.vector and yes.dtype is DType.BOOL:
            text = f"({condition.text} & {yes.text}) | (~{condition.text} & {no.text})"
            return self.step(text, DType.BOOL)
        if self.vector:
            return self.step(f"ep_select_f32v({condition.text}, {yes.text}, {no.text})", yes.dtype)
        text = f"{condition.text} ? {yes.text} : {no.text}"
        return self.step(text if yes.is_float else f"({self._type(yes.dtype)})({text})", yes.dtype)

    def convert(self, term: Term, dtype: DType) -> Term:
        """ONNX Cast: floats toward zero, integers by their low bits, truth values by ``!= 0``."""
        if term.dtype is dtype:
            return term
        if dtype in _HALVES:
            single = self.convert(term, DType.FLOAT32)
            kind = _HALVES[dtype]
            return self.step(f"ep_f32_from_{kind}(ep_{kind}_from_f32({single.text}))", DType.FLOAT32)
        if dtype is DType.BOOL:
            return self.compare("ne", term, self.literal(0, term.dtype))
        if term.dtype is DType.BOOL and self.vector:
            return self.select(term, self.literal(1, dtype), self.literal(0, dtype))
        if term.is_float and dtype not in FLOATS:
            return self.step(f"ep_{self.suffix(term.dtype)}_to_{self.suffix(dtype)}({term.text})", dtype)
        return self.step(f"({self._type(dtype)}){term.text}", dtype)

    def finish(self, result: Term, dtype: DType) -> Expression:
        """The expression whose value is ``result``, stored as ``dtype``."""
        if dtype in _HALVES:
            result = self.step(f"ep_{_HALVES[dtype]}_from_f32({result.text})", DType.UINT16)
        if result.text != f"t{len(self.steps) - 1}":
            result = self.step(result.text, result.dtype)
        return Expression(tuple(self.steps), tuple(self.types), tuple(self.input_types))

    def suffix(self, dtype: DType) -> str:
        """How primitives on ``dtype`` end here."""
        return "f32v" if self.vector else SUFFIX[dtype]

    def _type(self, dtype: DType) -> str:
        return "ep_f32v" if self.vector else f"ep_elem_{SUFFIX[dtype]}"


_OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


@dataclass(frozen=True)
class Element:
    """What an operator's meaning is written in: one element of each input that is present, and the result's type."""

    b: ExpressionBuilder
    node: ir.Node
    args: Sequence[Term]
    out: DType

    @property
    def x(self) -> Term:
        """The first input."""
        return self.args[0]

    def has(self, index: int) -> bool:
        """Whether input ``index`` was given."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def attribute(self, name: str, default: float) -> Term:
        """A float attribute as a literal of the first input's type."""
        return self.b.literal(self.node.attributes.get_float(name, default), self.x.dtype)


Emitter = Callable[[Element], Term]

_EMITTERS: dict[str, Emitter] = {}


def emits(*op_types: str) -> Callable[[Emitter], Emitter]:
    """Register the decorated function as the element-wise meaning of ``op_types``."""

    def register(emitter: Emitter) -> Emitter:
        for op_type in op_types:
            if op_type in _EMITTERS:
                raise ValueError(f"{op_type} has two element-wise meanings")
            _EMITTERS[op_type] = emitter
        return emitter

    return register


def emitter_of(op_type: str) -> Emitter | None:
    """What computes one element of ``op_type``; None when it is not element-wise."""
    return _EMITTERS.get(op_type)


def emitters() -> tuple[str, ...]:
    """All element-wise operators."""
    return tuple(_EMITTERS)


def float_literal(value: float) -> str:
    """``value`` rounded to single precision, as C."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if math.isnan(single):
        return "EP_NAN_F32"
    if math.isinf(single):
        return "EP_INF_F32" if single > 0 else "-EP_INF_F32"
    return f"{single!s}f"


def double_literal(value: float) -> str:
    """``value`` as C."""
    value = float(value)
    if math.isnan(value):
        return "EP_NAN_F64"
    if math.isinf(value):
        return "EP_INF_F64" if value > 0 else "-EP_INF_F64"
    return repr(value)


def integer_literal(value: int) -> str:
    """``value`` as C; the smallest int64 has no literal of its own."""
    if value == -(2**63):
        return "INT64_MIN"
    return f"{value}u" if value > 2**63 - 1 else str(value)
