"""LSTM, GRU and RNN: one matrix product for the inputs of all steps, then one kernel that walks the steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import input_at, required, required_operand
from packager.ops.products import GEMM, Matrix, Product, choose_tile, gemm_call
from packager.ops.rnn_activations import activation_fields
from packager.program import Buffer, Constant, Descriptor, DType, Kernel, KernelCall, Operand

LSTM = Kernel("ep_lstm_f32", "ep_rnn_lstm.h")
GRU = Kernel("ep_gru_f32", "ep_rnn_gru.h")
RNN = Kernel("ep_rnn_f32", "ep_rnn_simple.h")
PACK = Kernel("ep_rnn_pack_f32", "ep_rnn.h", splits=True)

_TOGETHER = 8192  # weights of two directions that stay in the first-level cache side by side
_MAX_GATES = 4  # EP_RNN_MAX_GATES
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclass(frozen=True)
class Recurrence:
    """Extents of a recurrent node; ``layout`` 1 puts the batch first."""

    gates: int
    directions: int
    steps: int
    batch: int
    inputs: int
    hidden: int
    layout: int

    @classmethod
    def of(cls, node: ir.Node, ctx: LoweringContext) -> Recurrence:
        """Read from the shapes of X and R."""
        layout = node.attributes.get_int("layout", 0)
        x, recurrent = ctx.shape(required(node, 0, ctx)), ctx.shape(required(node, 2, ctx))
        if len(x) != 3 or len(recurrent) != 3:
            raise ctx.unsupported(node, f"X of shape {list(x)} and R of shape {list(recurrent)}", "both have rank 3")
        directions, _, hidden = recurrent
        steps, batch = (x[1], x[0]) if layout else (x[0], x[1])
        size = cls(_GATES[node.op_type], directions, steps, batch, x[2], hidden, layout)
        size.check_weights(node, ctx)
        return size

    def check_weights(self, node: ir.Node, ctx: LoweringContext) -> None:
        """ModelError when W, R or B do not have the extents that X and R ask for; ONNX's inference does not look."""
        rows = self.gates * self.hidden
        wanted = {1: (rows, self.inputs), 2: (rows, self.hidden), 3: (2 * rows,)}
        for index, dims in wanted.items():
            value = input_at(node, index)
            if value is not None and ctx.shape(value) != (self.directions, *dims):
                found = list(ctx.shape(value))
                raise ctx.unsupported(
                    node, f"{'XWRB'[index]} of shape {found}", f"X and R ask for {[self.directions, *dims]}"
                )

    def blocks(self, lanes: int) -> int:
        """Blocks of one vector that hold the hidden units."""
        return -(-self.hidden // lanes)

    def macs(self) -> int:
        """Multiply-accumulates of the recurrent part."""
        return self.directions * self.steps * self.batch * self.gates * self.hidden * self.hidden


@lowering("LSTM")
def lstm(node: ir.Node, ctx: LoweringContext) -> Iterator[KernelCall]:
    """ONNX LSTM-22: all directions, activations, peepholes, clip, input_forget, sequence_lens, both layouts."""
    yield from _Builder(node, ctx).lstm()


@lowering("GRU")
def gru(node: ir.Node, ctx: LoweringContext) -> Iterator[KernelCall]:
    """ONNX GRU-22: all directions, activations, clip, linear_before_reset, sequence_lens, both layouts."""
    yield from _Builder(node, ctx).gru()


@lowering("RNN")
def rnn(node: ir.Node, ctx: LoweringContext) -> Iterator[KernelCall]:
    """ONNX RNN-22: all directions, activations, clip, sequence_lens, both layouts."""
    yield from _Builder(node, ctx).rnn()


class _Builder:
    """The calls of one node."""

    def __init__(self, node: ir.Node, ctx: LoweringContext) -> None:
        if ctx.dtype(required(node, 0, ctx)) is not DType.FLOAT32:
            raise ctx.unsupported(node, "only float32 has a kernel", "convert the model to float32")
        self.node = node
        self.ctx = ctx
        self.size = Recurrence.of(node, ctx)
        self.calls: list[KernelCall] = []

    def lstm(self) -> list[KernelCall]:
        """Peepholes come at input 7."""
        recurrent_bias, pre = self._inputs(keep_biases_apart=False)
        r = self._packed(2, range(4), self.size.hidden)
        peepholes = self._packed(7, range(3), 1) if input_at(self.node, 7) is not None else None
        optional = [recurrent_bias, peepholes, *(self._optional(index) for index in (4, 5, 6))]
        self._finish(LSTM, 3, [pre, r, *optional], {"peepholes": peepholes}, scratch=3)
        return self.calls

    def gru(self) -> list[KernelCall]:
        """Without linear_before_reset the third gate needs its own pass over the weights."""
        linear = bool(self.node.attributes.get_int("linear_before_reset", 0))
        recurrent_bias, pre = self._inputs(keep_biases_apart=linear)
        r = self._packed(2, range(3 if linear else 2), self.size.hidden)
        r_h = None if linear else self._packed(2, [2], self.size.hidden)
        optional = [recurrent_bias, self._optional(4), self._optional(5)]
        self._finish(GRU, 2, [pre, r, r_h, *optional], {}, scratch=4)
        return self.calls

    def rnn(self) -> list[KernelCall]:
        """One gate."""
        recurrent_bias, pre = self._inputs(keep_biases_apart=False)
        r = self._packed(2, [0], self.size.hidden)
        optional = [recurrent_bias, self._optional(4), self._optional(5)]
        self._finish(RNN, 2, [pre, r, *optional], {}, scratch=2)
        return self.calls

    # -- operands -------------------------------------------------------------------------------------------------

    def _optional(self, index: int) -> Operand | None:
        return self.ctx.operand(input_at(self.node, index))

    def _inputs(self, *, keep_biases_apart: bool) -> tuple[Operand | None, Buffer]:
        """The recurrent bias, if it must be added at every step, and ``X * W^T + Wb`` of all steps."""
        size, lanes = self.size, self.ctx.isa.lanes
        input_bias, recurrent_bias = self._biases(keep_biases_apart)
        rows = size.steps * size.batch
        width = size.directions * size.blocks(lanes) * size.gates * lanes
        used = size.directions * size.gates * size.hidden
        pre = self.ctx.temporary((rows, width), DType.FLOAT32, padding=rows * (width - used))
        product = Product(
            rows,
            width,
            size.inputs,
            (),
            Matrix(required_operand(self.node, 0, self.ctx), size.inputs, 1),
            Matrix(self._packed(1, range(size.gates), size.inputs), 0, 1),
            input_bias,
            (0, 1),
        )
        tile, _ = choose_tile(rows, width, size.inputs, self.ctx.isa, tile_n=size.gates)
        call = gemm_call(GEMM, product, tile, output=pre, node=self.node, ctx=self.ctx, packed=True)
        self.calls.append(replace(call, macs=rows * used * size.inputs))  # without the lanes that fill blocks
        return recurrent_bias, pre

    def _biases(self, keep_apart: bool) -> tuple[Operand | None, Operand | None]:
        """Wb and Rb, packed; constants are added up at build time unless they must be kept apart."""
        size = self.size
        value = input_at(self.node, 3)
        if value is None:
            return None, None
        half = size.gates * size.hidden
        array = self.ctx.array(value)
        if array is None or keep_apart:
            parts = [self._packed(3, range(size.gates), 1, offset=at, step=2 * half) for at in (0, half)]
            return parts[0], parts[1]
        total = np.add(array[:, :half], array[:, half:])
        return self._pack_constant(total, range(size.gates), 1, value.name or "bias"), None

    def _packed(self, index: int, gates: Sequence[int], k: int, *, offset: int = 0, step: int = 0) -> Operand:
        """Input ``index`` as ``[direction][block][k][gate][lane]``; packed now when constant, else by a call."""
        value = required(self.node, index, self.ctx)
        array = self.ctx.array(value)
        size, lanes = self.size, self.ctx.isa.lanes
        step = step or math.prod(self.ctx.shape(value)[1:])
        if array is not None:
            rows = array.reshape(size.directions, -1)[:, offset:]
            return self._pack_constant(rows, gates, k, value.name or "weights")
        blocks = size.directions * size.blocks(lanes)
        packed = self.ctx.temporary((blocks * k * len(gates) * lanes,), DType.FLOAT32)
        descriptor = Descriptor.of(
            "ep_rnn_pack_desc",
            directions=size.directions,
            hidden=size.hidden,
            k=k,
            gates=len(gates),
            source=tuple(gates) + (0,) * (_MAX_GATES - len(gates)),
            offset=offset,
            step=step,
        )
        operand = self.ctx.operand(value)
        self.calls.append(self.ctx.call(PACK, self.node, [packed], [operand], descriptor, extent=blocks))
        return packed

    def _pack_constant(self, array: npt.NDArray[np.generic], gates: Sequence[int], k: int, name: str) -> Constant:
        """``array[direction][gate * hidden * k ...]`` in the kernel's order."""
        size, lanes = self.size, self.ctx.isa.lanes
        count = array.reshape(size.directions, -1).shape[1] // (size.hidden * k)
        flat = array.reshape(size.directions, -1)[:, : count * size.hidden * k]
        units = flat.reshape(size.directions, count, size.hidden, k)[:, list(gates)]
        padded = np.zeros((size.directions, len(gates), size.blocks(lanes) * lanes, k), np.float32)
        padded[:, :, : size.hidden] = units
        blocked = padded.reshape(size.directions, len(gates), size.blocks(lanes), lanes, k)
        packed = np.ascontiguousarray(blocked.transpose(0, 2, 4, 1, 3))
        return self.ctx.constant(packed, name, f"recurrent blocks of {lanes}")

    # -- the walking kernel ---------------------------------------------------------------------------------------

    def _finish(
        self,
        kernel: Kernel,
        output_count: int,
        inputs: list[Operand | None],
        more: dict[str, Operand | None],
        *,
        scratch: int,
    ) -> None:
        size, node, ctx = self.size, self.node, self.ctx
        wanted = [index < len(node.outputs) and bool(node.outputs[index].name) for index in range(3)]
        outputs = [
            ctx.buffer(node.outputs[index]) if wanted[index] else ctx.temporary((1,), DType.FLOAT32)
            for index in range(output_count)
        ]
        bias = inputs[2] if kernel is not GRU else inputs[3]
        has = {
            "y": wanted[0],
            "y_h": wanted[1],
            "y_c": wanted[2],
            "r_bias": bias is not None,
            "peepholes": more.get("peepholes") is not None,
            "lengths": input_at(node, 4) is not None,
            "h_0": input_at(node, 5) is not None,
            "c_0": kernel is LSTM and input_at(node, 6) is not None,
        }
        descriptor = self._descriptor(tuple(int(flag) for flag in has.values()), has_y=wanted[0])
        used = size.directions * size.batch * size.hidden
        width = size.directions * size.batch * size.blocks(ctx.isa.lanes) * ctx.isa.lanes
        states = ctx.scratch(scratch * width, padding=scratch * (width - used))
        self.calls.append(ctx.call(kernel, node, outputs, inputs, descriptor, scratch=states, macs=size.macs()))

    def _descriptor(self, has: tuple[int, ...], *, has_y: bool) -> Descriptor:
        size, attributes = self.size, self.node.attributes
        direction = attributes.get_string("direction", "forward")
        hidden, batch, steps, directions = size.hidden, size.batch, size.steps, size.directions
        if size.layout:
            y_steps = (directions * hidden, steps * directions * hidden, hidden)
            state = (directions * hidden, hidden)
        else:
            y_steps = (directions * batch * hidden, hidden, batch * hidden)
            state = (hidden, batch * hidden)
        y_step, y_batch, y_direction = y_steps if has_y else (0, 0, 0)
        return Descriptor.of(
            "ep_rnn_desc",
            directions=directions,
            steps=steps,
            batch=batch,
            hidden=hidden,
            reverse=(int(direction == "reverse"), 1),
            row_step=1 if size.layout else batch,
            row_batch=steps if size.layout else 1,
            y_step=y_step,
            y_batch=y_batch,
            y_direction=y_direction,
            state_batch=state[0],
            state_direction=state[1],
            clip=attributes.get_float("clip", 0.0),
            input_forget=attributes.get_int("input_forget", 0),
            linear_before_reset=attributes.get_int("linear_before_reset", 0),
            together=int(directions * size.gates * hidden * hidden <= _TOGETHER),
            act=activation_fields(self.node, directions, self.ctx),
            has=has,
        )
