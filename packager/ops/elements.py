"""How kernels that compute with several element types name them (``ep_element``)."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.program import DType

_ELEMENTS = {
    DType.FLOAT32: "EP_ELEMENT_F32",
    DType.FLOAT64: "EP_ELEMENT_F64",
    DType.INT8: "EP_ELEMENT_S8",
    DType.INT16: "EP_ELEMENT_S16",
    DType.INT32: "EP_ELEMENT_S32",
    DType.INT64: "EP_ELEMENT_S64",
    DType.UINT8: "EP_ELEMENT_U8",
    DType.UINT16: "EP_ELEMENT_U16",
    DType.UINT32: "EP_ELEMENT_U32",
    DType.UINT64: "EP_ELEMENT_U64",
    DType.BOOL: "EP_ELEMENT_U8",
}


def element(value: ir.Value, node: ir.Node, ctx: LoweringContext) -> str:
    """The enumerator of the type of ``value``; ModelError for types the kernels do not compute with."""
    dtype = ctx.dtype(value)
    if dtype not in _ELEMENTS:
        raise ctx.unsupported(node, f"{dtype.label} tensor '{value.name}'")
    return _ELEMENTS[dtype]
