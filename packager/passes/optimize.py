"""Every graph pass, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import onnx_ir as ir
from onnx_ir.passes import common

from packager.passes.absorb_transpose import AbsorbTranspose
from packager.passes.fold_arithmetic import FoldArithmetic
from packager.passes.fold_batch_norm import FoldBatchNormalization
from packager.passes.fold_dequantize import FoldDequantize
from packager.passes.fold_into_next import FoldIntoNext
from packager.passes.fold_pad import FoldPad
from packager.passes.fuse_activation import FuseActivation
from packager.passes.fuse_elementwise import FuseElementwise
from packager.passes.fuse_residual import FuseResidual
from packager.passes.gather_to_slice import GatherToSlice
from packager.passes.global_pools import GlobalPools
from packager.passes.merge_concats import MergeConcats
from packager.passes.merge_transposes import MergeTransposes
from packager.passes.merge_views import MergeViews
from packager.passes.node_pass import FUSED_DOMAIN, NodePass
from packager.passes.recognize_activations import RecognizeActivations
from packager.passes.recognize_layer_norm import RecognizeLayerNorm
from packager.passes.remove_noops import RemoveNoOps
from packager.passes.round_in_float import RoundInFloat
from packager.passes.sink_transposes import SinkTransposes
from packager.passes.sink_views import SinkViews
from packager.progress import Progress, silent

AfterPass = Callable[[str, ir.Model], None]
"""Called with a pass's name and the model it left: tests check the graph there."""

_MAX_ROUNDS = 16


def _tidying() -> list[NodePass]:
    """Passes that make room for each other; they run until none of them finds anything."""
    return [
        FoldDequantize(),
        GatherToSlice(),
        RemoveNoOps(),
        MergeViews(),
        MergeTransposes(),
        SinkTransposes(),
        MergeConcats(),
        RecognizeActivations(),
        RecognizeLayerNorm(),
        GlobalPools(),
        SinkViews(),
        AbsorbTranspose(),
        FoldBatchNormalization(),
        FoldArithmetic(),
        FoldIntoNext(),
        FoldPad(),
    ]


def _fusing() -> list[NodePass]:
    """Passes that leave more than plain ONNX behind, once: the residual is added before the activation."""
    return [RoundInFloat(), FuseResidual(), FuseActivation(), FuseElementwise()]


def optimize(model: ir.Model, progress: Progress = silent, *, after_pass: AfterPass | None = None) -> tuple[str, ...]:
    """Rewrite ``model`` in place; returns what was fused, readable ("37x Conv + Relu"), most frequent first."""
    progress("simplifying the graph")
    counts: Counter[str] = Counter()
    for _ in range(_MAX_ROUNDS):
        found = _run(_tidying(), model, after_pass)
        counts += found
        shared = common.CommonSubexpressionEliminationPass()(model).modified
        common.RemoveUnusedNodesPass()(model)
        if not (found or shared):
            break
    progress("fusing operators")
    counts += _run(_fusing(), model, after_pass)
    common.RemoveUnusedNodesPass()(model)
    common.NameFixPass()(model)
    model.opset_imports.setdefault(FUSED_DOMAIN, 1)
    return tuple(f"{count}x {text}" for text, count in counts.most_common() if text)


def _run(passes: Sequence[NodePass], model: ir.Model, after_pass: AfterPass | None) -> Counter[str]:
    found: Counter[str] = Counter()
    for graph_pass in passes:
        graph_pass(model)
        found += graph_pass.counts
        if after_pass is not None:
            after_pass(type(graph_pass).__name__, model)
    return found
