from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from packager.config.isa import Isa
from packager.lower.context import FORMAT_KEY
from packager.passes.layout import assign_layout, channel_block
from packager.program import PLAIN, Format, Halo
from tests.passes.support import load
from tests.support.harness import Array

AVX512 = Isa("avx512", 16, 32)
SCALAR = Isa("scalar", 1, 16)

CHAIN = """
    g (float[1, 3, 20, 20] x) => (float[1, 10] y) {
        a = Conv <pads = [1, 1, 1, 1]> (x, stem)
        b = Relu (a)
        c = Conv <pads = [1, 1, 1, 1]> (b, body)
        d = Add (c, b)
        e = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (d)
        f = GlobalAveragePool (e)
        h = Flatten (f)
        y = Gemm (h, head)
    }
"""


def weights(**shapes: tuple[int, ...]) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def laid_out(text: str, isa: Isa = AVX512, *, halos: bool = True, **shapes: tuple[int, ...]) -> ir.Model:
    model = load(text, **weights(**shapes))
    assign_layout(model, isa, halos=halos)
    return model


def format_of(model: ir.Model, name: str) -> Format:
    value = next(output for node in model.graph for output in node.outputs if output.name == name)
    found = value.meta.get(FORMAT_KEY, PLAIN)
    assert isinstance(found, Format)
    return found


def op_types(model: ir.Model) -> list[str]:
    return [node.op_type for node in model.graph]


def test_a_chain_of_convolutions_needs_no_copy_at_all() -> None:
    model = laid_out(CHAIN, stem=(32, 3, 3, 3), body=(32, 32, 3, 3), head=(32, 10))
    assert "Reorder" not in op_types(model)
    assert format_of(model, "b") == Format(16), "the second convolution leaves out what lies outside"
    assert format_of(model, "d") == Format(16)
    assert format_of(model, "e") == Format(16)
    assert format_of(model, "f") == PLAIN, "one pixel a channel is the same row-major and blocked"


def test_nothing_changes_without_vectors() -> None:
    model = laid_out(CHAIN, SCALAR, stem=(32, 3, 3, 3), body=(32, 32, 3, 3), head=(32, 10))
    assert "Reorder" not in op_types(model)
    assert all(FORMAT_KEY not in output.meta for node in model.graph for output in node.outputs)


def test_without_halos_blocks_remain() -> None:
    model = laid_out(CHAIN, halos=False, stem=(32, 3, 3, 3), body=(32, 32, 3, 3), head=(32, 10))
    assert format_of(model, "b") == Format(16)


def test_a_halo_is_the_largest_that_any_reader_needs() -> None:
    model = laid_out(
        """
        g (float[1, 3, 6, 6] x) => (float[1, 16, 6, 6] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, stem)
            b = Conv <pads = [0, 0, 0, 3]> (a, row)
            c = Conv <pads = [2, 0, 2, 0]> (a, column)
            y = Add (b, c)
        }
        """,
        stem=(16, 3, 3, 3),
        row=(16, 16, 1, 4),
        column=(16, 16, 5, 1),
    )
    assert format_of(model, "a") == Format(16, Halo(2, 0, 2, 3))


def test_stride_may_leave_the_padding_at_the_end_unread() -> None:
    model = laid_out(
        """
        g (float[1, 3, 12, 12] x) => (float[1, 16, 6, 6] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, stem)
            y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, body)
        }
        """,
        stem=(16, 3, 3, 3),
        body=(16, 16, 3, 3),
    )
    assert format_of(model, "a").halo == Halo(1, 1, 0, 0)


def test_depthwise_kernels_need_only_the_columns() -> None:
    model = laid_out(
        """
        g (float[1, 3, 20, 20] x) => (float[1, 16, 20, 20] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, stem)
            y = Conv <pads = [2, 1, 2, 1], group = 16> (a, each)
        }
        """,
        stem=(16, 3, 3, 3),
        each=(16, 1, 5, 3),
    )
    assert format_of(model, "a") == Format(16, Halo(0, 1, 0, 1))


def test_graph_outputs_are_row_major_and_keep_their_names() -> None:
    model = laid_out(
        "g (float[1, 3, 20, 20] x) => (float[1, 16, 20, 20] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }",
        w=(16, 3, 3, 3),
    )
    assert op_types(model) == ["Conv", "Reorder"]
    assert [value.name for value in model.graph.outputs] == ["y"]
    assert format_of(model, "y") == PLAIN


def test_a_value_is_copied_once_for_all_its_readers() -> None:
    model = laid_out(
        """
        g (float[1, 3, 20, 20] x) => (float[1, 20, 20, 16] y, float[1, 20, 16, 20] z) {
            a = Conv <pads = [1, 1, 1, 1]> (x, w)
            y = Transpose <perm = [0, 2, 3, 1]> (a)
            z = Transpose <perm = [0, 2, 1, 3]> (a)
        }
        """,
        w=(16, 3, 3, 3),
    )
    assert op_types(model).count("Reorder") == 1


def test_a_decoder_stays_in_blocks() -> None:
    model = laid_out(
        """
        g (float[1, 3, 20, 20] x) => (float[1, 16, 20, 20] y) {
            a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, down)
            b = ConvTranspose <strides = [2, 2]> (a, up)
            y = Conv <pads = [1, 1, 1, 1]> (b, last)
        }
        """,
        down=(32, 3, 3, 3),
        up=(32, 16, 2, 2),
        last=(16, 16, 3, 3),
    )
    assert op_types(model) == ["Conv", "ConvTranspose", "Conv", "Reorder"]
    assert format_of(model, "a") == Format(16), "each phase leaves out what lies outside"
    assert format_of(model, "b").block == 16


def test_a_transposed_convolution_with_gaps_is_left_row_major() -> None:
    model = laid_out(
        """
        g (float[1, 64, 20, 20] x) => (float[1, 16, 60, 60] y) {
            y = ConvTranspose <strides = [3, 3], output_padding = [1, 1]> (x, w)
        }
        """,
        w=(64, 16, 2, 2),
    )
    assert op_types(model) == ["ConvTranspose"]


@pytest.mark.parametrize(("parts", "block"), [((16, 32), 16), ((16, 24), 8), ((12, 20), 4)])
def test_parts_of_a_channel_concat_share_blocks_and_halo(parts: tuple[int, int], block: int) -> None:
    model = laid_out(
        """
        g (float[1, 3, 6, 6] x) => (float[1, 16, 6, 6] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, p)
            b = Conv <pads = [1, 1, 1, 1]> (x, q)
            c = Concat <axis = 1> (a, b)
            y = Conv <pads = [1, 1, 1, 1]> (c, r)
        }
        """,
        p=(parts[0], 3, 3, 3),
        q=(parts[1], 3, 3, 3),
        r=(16, sum(parts), 3, 3),
    )
    assert format_of(model, "a") == format_of(model, "b") == format_of(model, "c") == Format(block, Halo(1, 1, 1, 1))
    assert op_types(model).count("Reorder") == 1, "only the graph output"


def test_a_small_convolution_between_row_major_neighbours_is_left_alone() -> None:
    model = laid_out(
        """
        g (float[1, 64, 4, 64] x) => (float[1, 4, 64, 4] y) {
            a = Conv (x, w)
            y = Transpose <perm = [0, 2, 3, 1]> (a)
        }
        """,
        w=(4, 64, 1, 1),
    )
    assert op_types(model) == ["Conv", "Transpose"]


def test_weights_computed_at_run_time_keep_a_convolution_row_major() -> None:
    model = laid_out(
        "g (float[1, 16, 20, 20] x, float[16, 16, 3, 3] w) => (float[1, 16, 18, 18] y) { y = Conv (x, w) }"
    )
    assert op_types(model) == ["Conv"]


@pytest.mark.parametrize(
    ("channels", "block"), [(64, 16), (24, 8), (20, 4), (8, 8), (10, 4), (37, 8), (15, 16), (3, 0), (1, 0)]
)
def test_blocks_waste_as_few_lanes_as_possible(channels: int, block: int) -> None:
    assert channel_block(channels, 16) == block


def test_blocks_are_no_wider_than_the_vectors() -> None:
    assert channel_block(64, 8) == 8
    assert channel_block(64, 4) == 4
