"""Matrix products: how Gemm, MatMul, Einsum and the recurrent operators choose a kernel, a tile and an order for B.

The kernels and their descriptor are in ``runtime_c/include/ep/ep_gemm*.h``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from packager.config.isa import Isa
from packager.lower.context import LoweringContext
from packager.program import Buffer, Constant, Descriptor, DType, FieldValue, Kernel, KernelCall, Operand

GEMM = Kernel("ep_gemm_f32", "ep_gemm_f32.h", splits=True)
GEMM_DOT = Kernel("ep_gemm_dot_f32", "ep_gemm_dot_f32.h", splits=True)
GEMM_PACK = Kernel("ep_gemm_pack_f32", "ep_gemm_pack.h", splits=True)
MATMUL = {
    dtype: Kernel(f"ep_matmul_{suffix}", "ep_matmul.h", splits=True)
    for dtype, suffix in {
        DType.FLOAT64: "f64",
        DType.INT32: "i32",
        DType.INT64: "i64",
        DType.UINT32: "u32",
        DType.UINT64: "u64",
    }.items()
}

BATCH_AXES = 6  # EP_GEMM_BATCH_AXES
MAX_TILE = 32  # EP_GEMM_MAX_TILE
MAX_TILE_N = 8  # EP_GEMM_MAX_TILE_N

_MAX_TILE_M = 14
_MAX_SCALAR_TILE = 4  # without vectors every row of a tile takes an address register
_BLOCK_K = 384  # values of k whose part of B stays in the first-level cache
_UNBLOCKED_K = 512
_BLOCK_A = 65536  # elements of A that stay in the second-level cache
_FMA_LATENCY = 4.0
_ISSUE = 2.0  # multiply-adds, and loads, a cycle
_SUM_LANES = 6.0  # cycles to add up the lanes of one vector
_TILE_OVERHEAD = 10.0


@dataclass(frozen=True)
class Tile:
    """``m`` rows by ``n`` vectors (or dot products) in registers, ``unroll`` independent sums along k."""

    m: int
    n: int
    unroll: int


@dataclass(frozen=True)
class Matrix:
    """One operand of a batched product: where it is and its element steps."""

    operand: Operand
    row_step: int
    column_step: int
    batch_steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Product:
    """``y[batch, m, n] = act(alpha * a @ b + beta * c)``; ``c_steps`` are C's steps to the next row and column."""

    m: int
    n: int
    k: int
    batch: tuple[int, ...]
    a: Matrix
    b: Matrix
    c: Operand | None = None
    c_steps: tuple[int, int] = (0, 0)
    alpha: float = 1.0
    beta: float = 1.0
    activation: tuple[FieldValue, ...] = ("EP_ACT_NONE", 0.0, 0.0)

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return math.prod(self.batch) * self.m * self.n * self.k


def activation_fields(node: ir.Node) -> tuple[FieldValue, ...]:
    """The activation the fusion passes left on ``node``, as an ``ep_act`` literal."""
    kind = node.attributes.get_string("edgepack_activation", "none")
    alpha = node.attributes.get_float("edgepack_activation_alpha", 0.0)
    beta = node.attributes.get_float("edgepack_activation_beta", 0.0)
    return (f"EP_ACT_{kind.upper()}", float(alpha), float(beta))


def product_calls(product: Product, output: Buffer, node: ir.Node, ctx: LoweringContext) -> Iterator[KernelCall]:
    """Calls that compute ``product`` into ``output``; none when it is empty."""
    if math.prod(product.batch) * product.m * product.n == 0:
        return
    if output.dtype is not DType.FLOAT32:
        yield _plain_call(product, output, node, ctx)
        return
    product = _merge_batch(_fold_scales(product, ctx))
    lanes = ctx.isa.lanes
    panel, panel_cost = choose_tile(product.m, product.n, product.k, ctx.isa)
    dot, dot_cost = _choose_dot_tile(product, ctx.isa)
    if isinstance(product.b.operand, Constant):
        if dot_cost < panel_cost:
            yield gemm_call(GEMM_DOT, _transposed(product, ctx), dot, output=output, node=node, ctx=ctx)
        else:
            yield gemm_call(GEMM, _packed(product, panel, ctx), panel, output=output, node=node, ctx=ctx, packed=True)
        return
    direct = product.b.column_step == 1 and product.n >= lanes
    per_element = 2.0 / lanes if product.b.column_step == 1 else 1.0
    pack_cost = panel_cost + (product.k * product.n * per_element) / _reuse(product)
    if product.b.row_step == 1 and dot_cost < (panel_cost if direct else pack_cost):
        yield gemm_call(GEMM_DOT, product, dot, output=output, node=node, ctx=ctx)
    elif direct and (product.n % lanes == 0 or product.m <= 4 * panel.m):
        yield gemm_call(GEMM, product, panel, output=output, node=node, ctx=ctx)
    else:
        pack, packed = _pack_at_run_time(product, panel, node, ctx)
        yield pack
        yield gemm_call(GEMM, packed, panel, output=output, node=node, ctx=ctx, packed=True)


def choose_tile(m: int, n: int, k: int, isa: Isa, tile_n: int | None = None) -> tuple[Tile, float]:
    """The panel tile with the least estimated cycles for one matrix, and the estimate; ``tile_n`` fixes the width."""
    vectors = -(-n // isa.lanes)
    widths = [tile_n] if tile_n else range(1, min(MAX_TILE_N, vectors) + 1)
    best: tuple[float, int, Tile] | None = None
    for tile in _tiles(m, widths, k, isa):
        columns = _pieces(vectors, tile.n)
        cost = sum(
            rows * groups * (k * _cycles(height, width, tile.unroll) + 2 * height * width + _TILE_OVERHEAD)
            for height, rows in _pieces(m, tile.m)
            for width, groups in columns
        )
        best = min(best or (math.inf, 0, tile), (cost, -tile.m * tile.n, tile), key=lambda entry: entry[:2])
    assert best is not None
    return best[2], best[0]


def _choose_dot_tile(product: Product, isa: Isa) -> tuple[Tile, float]:
    """The best tile of dot products; infinite cost where the kernel does not apply."""
    if product.a.column_step != 1:
        return Tile(1, 1, 1), math.inf
    steps = -(-product.k // isa.lanes)
    best: tuple[float, Tile] | None = None
    for tile in _tiles(min(product.m, 4), range(1, min(MAX_TILE_N, product.n) + 1), steps, isa):
        cost = sum(
            rows
            * groups
            * (
                steps * _cycles(height, width, tile.unroll, broadcast=False)
                + (_SUM_LANES if isa.lanes > 1 else 1.0) * height * width
            )
            for height, rows in _pieces(product.m, tile.m)
            for width, groups in _pieces(product.n, tile.n)
        )
        best = min(best or (math.inf, tile), (cost, tile), key=lambda entry: entry[0])
    assert best is not None
    return best[1], best[0] + _TILE_OVERHEAD


def _tiles(m: int, widths: Sequence[int], k: int, isa: Isa) -> Iterator[Tile]:
    """Tiles whose sums, one row of B and one value of A leave a register to spare: clang spills when none is left."""
    tallest = min(m, _MAX_SCALAR_TILE if isa.lanes == 1 else _MAX_TILE_M)
    fits = False
    for tile in itertools.starmap(Tile, itertools.product(range(1, tallest + 1), widths, (1, 2, 4, 8))):
        sums = tile.m * tile.n * tile.unroll
        if sums <= MAX_TILE and sums + tile.n + 1 < isa.registers and (tile.unroll == 1 or tile.unroll <= k):
            fits = True
            yield tile
    if not fits:
        yield Tile(1, widths[0], 1)


def _cycles(height: int, width: int, unroll: int, *, broadcast: bool = True) -> float:
    """Estimated cycles for one step along k."""
    loads = height + width
    latency = _FMA_LATENCY / unroll
    return max(height * width / _ISSUE, loads / _ISSUE, latency) + (0.25 if broadcast else 0.5) / unroll


def _pieces(extent: int, step: int) -> list[tuple[int, int]]:
    """``extent`` cut into steps: (size, how many)."""
    whole, rest = divmod(extent, step)
    return [(size, count) for size, count in ((step, whole), (rest, 1)) if size and count]


def _reuse(product: Product) -> int:
    """How often one packed B is used: batches of A may share it."""
    shared = [extent for extent, step in zip(product.batch, product.b.batch_steps, strict=True) if step == 0]
    return math.prod(shared)


# -- orders of B --------------------------------------------------------------------------------------------------


def pack_panels(matrix: npt.NDArray[np.float32], tile_n: int, lanes: int) -> npt.NDArray[np.float32]:
    """``matrix[K, N]`` as ``[group][K][tile_n * lanes]``, zero past column N.

    The last group has only the vectors it needs.
    """
    k, n = matrix.shape
    padded = np.zeros((k, -(-n // lanes) * lanes), np.float32)
    padded[:, :n] = matrix
    width = tile_n * lanes
    groups = [padded[:, start : start + width].reshape(-1) for start in range(0, padded.shape[1], width)]
    return np.concatenate(groups) if groups else np.zeros(0, np.float32)


def _matrices(product: Product) -> tuple[npt.NDArray[np.float32], tuple[int, ...], Constant]:
    """A constant B as ``[count, K, N]``, the batch steps in matrices, and the constant it came from."""
    constant = product.b.operand
    assert isinstance(constant, Constant)
    flat = np.frombuffer(constant.data, np.float32)
    extents = [e if s else 1 for e, s in zip(product.batch, product.b.batch_steps, strict=True)]
    view = np.lib.stride_tricks.as_strided(
        flat,
        (*extents, product.k, product.n),
        tuple(4 * step for step in (*product.b.batch_steps, product.b.row_step, product.b.column_step)),
        writeable=False,
    )
    steps = [math.prod(extents[axis + 1 :]) if extents[axis] > 1 else 0 for axis in range(len(extents))]
    return view.reshape(-1, product.k, product.n), tuple(steps), constant


def _packed(product: Product, tile: Tile, ctx: LoweringContext) -> Product:
    """Constant B in the order of the panel kernel."""
    matrices, steps, source = _matrices(product)
    packed = np.stack([pack_panels(matrix, tile.n, ctx.isa.lanes) for matrix in matrices])
    constant = ctx.constant(packed, source.name, f"gemm panels of {tile.n}x{ctx.isa.lanes}")
    return replace(product, b=Matrix(constant, 0, 1, tuple(step * packed.shape[1] for step in steps)))


def _transposed(product: Product, ctx: LoweringContext) -> Product:
    """Constant B with k innermost."""
    matrices, steps, source = _matrices(product)
    constant = ctx.constant(np.ascontiguousarray(matrices.transpose(0, 2, 1)), source.name, "transposed")
    size = product.k * product.n
    return replace(product, b=Matrix(constant, 1, product.k, tuple(step * size for step in steps)))


def _pack_at_run_time(product: Product, tile: Tile, node: ir.Node, ctx: LoweringContext) -> tuple[KernelCall, Product]:
    """A call that packs B before the product, and the product that reads the result."""
    lanes = ctx.isa.lanes
    extents = tuple(e if s else 1 for e, s in zip(product.batch, product.b.batch_steps, strict=True))
    size = product.k * -(-product.n // lanes) * lanes
    packed = ctx.temporary((math.prod(extents) * size,), DType.FLOAT32)
    call = ctx.call(
        GEMM_PACK,
        node,
        [packed],
        [product.b.operand],
        pack_descriptor(product, tile.n, extents),
        extent=math.prod(extents) * -(-product.n // (lanes * tile.n)),
    )
    steps = [math.prod(extents[axis + 1 :]) * size if extents[axis] > 1 else 0 for axis in range(len(extents))]
    return call, replace(product, b=Matrix(packed, 0, 1, tuple(steps)))


def pack_descriptor(product: Product, tile_n: int, extents: Sequence[int]) -> Descriptor:
    """How ``ep_gemm_pack_f32`` reads B."""
    return Descriptor.of(
        "ep_gemm_pack_desc",
        n=product.n,
        k=product.k,
        k_step=product.b.row_step,
        n_step=product.b.column_step,
        tile_n=tile_n,
        batch=_six(extents, 1),
        b_bs=_six(product.b.batch_steps, 0),
    )


# -- descriptors --------------------------------------------------------------------------------------------------


def gemm_call(
    kernel: Kernel,
    product: Product,
    tile: Tile,
    *,
    output: Buffer,
    node: ir.Node,
    ctx: LoweringContext,
    packed: bool = False,
) -> KernelCall:
    """The call of a float kernel with a tile; the batch must be merged, and a packed B packed for the tile's width."""
    rows = -(-product.m // tile.m)
    batch = math.prod(product.batch)
    group = tile.n if kernel is GEMM_DOT else tile.n * ctx.isa.lanes
    groups = -(-product.n // group)
    overlaps = kernel is GEMM and not packed and product.n % ctx.isa.lanes != 0
    split_n = batch * rows < 2 * ctx.threads and batch == 1 and groups > rows and not overlaps
    if kernel is GEMM_DOT:
        split_n = split_n and rows == 1
    block_k = max(1, product.k)
    if packed and rows > 1 and product.k > _UNBLOCKED_K:
        block_k = -(-product.k // -(-product.k // _BLOCK_K))
    descriptor = Descriptor.of(
        "ep_gemm_desc",
        m=product.m,
        n=product.n,
        k=product.k,
        a_rs=product.a.row_step,
        a_ks=product.a.column_step,
        b_step=product.b.column_step if kernel is GEMM_DOT else product.b.row_step,
        packed=int(packed),
        has_c=int(product.c is not None),
        c_rs=product.c_steps[0],
        c_cs=product.c_steps[1],
        alpha=product.alpha,
        beta=product.beta,
        tile_m=tile.m,
        tile_n=tile.n,
        unroll_k=tile.unroll,
        block_m=max(1, _BLOCK_A // (block_k * tile.m)),
        block_k=block_k,
        split_n=int(split_n),
        batch=_six(product.batch, 1),
        a_bs=_six(product.a.batch_steps, 0),
        b_bs=_six(product.b.batch_steps, 0),
        act=product.activation,
    )
    return ctx.call(
        kernel,
        node,
        [output],
        [product.a.operand, product.b.operand, product.c],
        descriptor,
        extent=groups if split_n else batch * rows,
        macs=product.macs,
    )


def _plain_call(product: Product, output: Buffer, node: ir.Node, ctx: LoweringContext) -> KernelCall:
    """The product of a type without a vector kernel."""
    kernel = MATMUL.get(output.dtype)
    if kernel is None:
        raise ctx.unsupported(node, f"no kernel for {output.dtype.label}")
    scaled = (product.alpha, product.beta) != (1.0, 1.0)
    if output.dtype is not DType.FLOAT64 and scaled:
        raise ctx.unsupported(node, f"alpha and beta other than 1 with {output.dtype.label} are not supported")
    if product.activation[0] != "EP_ACT_NONE":
        raise ctx.unsupported(node, f"a fused activation with {output.dtype.label} is not supported")
    descriptor = Descriptor.of(
        "ep_matmul_desc",
        m=product.m,
        n=product.n,
        k=product.k,
        a_rs=product.a.row_step,
        a_ks=product.a.column_step,
        b_ks=product.b.row_step,
        b_cs=product.b.column_step,
        has_c=int(product.c is not None),
        c_rs=product.c_steps[0],
        c_cs=product.c_steps[1],
        alpha=product.alpha,
        beta=product.beta,
        batch=_six(product.batch, 1),
        a_bs=_six(product.a.batch_steps, 0),
        b_bs=_six(product.b.batch_steps, 0),
    )
    inputs = [product.a.operand, product.b.operand, product.c]
    extent = math.prod(product.batch) * product.m
    return ctx.call(kernel, node, [output], inputs, descriptor, extent=extent, macs=product.macs)


def _six(values: Sequence[int], fill: int) -> tuple[int, ...]:
    """``values`` right-aligned in the kernel's batch axes."""
    return (fill,) * (BATCH_AXES - len(values)) + tuple(values)


# -- simplification -----------------------------------------------------------------------------------------------


def _fold_scales(product: Product, ctx: LoweringContext) -> Product:
    """Multiply constant operands by alpha and beta at build time; drop a C that adds nothing."""
    if product.alpha != 1.0 and isinstance(product.b.operand, Constant):
        scaled = np.frombuffer(product.b.operand.data, np.float32) * np.float32(product.alpha)
        operand = ctx.constant(scaled, product.b.operand.name)
        product = replace(product, alpha=1.0, b=replace(product.b, operand=operand))
    if isinstance(product.c, Constant):
        scaled = np.frombuffer(product.c.data, np.float32) * np.float32(product.beta)
        product = replace(product, beta=1.0, c=ctx.constant(scaled, product.c.name) if scaled.any() else None)
    if product.beta == 0.0:
        product = replace(product, beta=1.0, c=None)
    return product if product.c is not None else replace(product, c_steps=(0, 0), beta=1.0)


def _merge_batch(product: Product) -> Product:
    """Join batch axes that lie side by side; turn a batch of A times one B into more rows."""
    axes = [
        axis for axis in zip(product.batch, product.a.batch_steps, product.b.batch_steps, strict=True) if axis[0] != 1
    ]
    merged: list[tuple[int, int, int]] = []
    for extent, a_step, b_step in axes:
        if merged and merged[-1][1:] == (extent * a_step, extent * b_step):
            merged[-1] = (merged[-1][0] * extent, a_step, b_step)
        else:
            merged.append((extent, a_step, b_step))
    rows = product.m
    no_rows_in_c = product.c_steps[0] == 0
    if merged and merged[-1][2] == 0 and no_rows_in_c and (rows == 1 or merged[-1][1] == rows * product.a.row_step):
        extent, a_step, _ = merged.pop()
        step = a_step if rows == 1 else product.a.row_step
        product = replace(product, m=rows * extent, a=replace(product.a, row_step=step))
    return replace(
        product,
        batch=tuple(axis[0] for axis in merged),
        a=replace(product.a, batch_steps=tuple(axis[1] for axis in merged)),
        b=replace(product.b, batch_steps=tuple(axis[2] for axis in merged)),
    )
