from __future__ import annotations

import itertools

import pytest

from packager.config.isa import Isa
from packager.ops.tile import MAX_PIXELS, ConvWork, conv_tile, depthwise_tile, flattened, outer_channels, vector_width

MACHINES = [Isa("avx512", 16, 32), Isa("avx2", 8, 16), Isa("neon", 4, 32), Isa("sse2", 4, 16)]
PLANES = [(1, 1), (1, 49), (3, 5), (7, 7), (14, 14), (25, 5), (28, 28), (56, 56), (1, 12544)]


@pytest.mark.parametrize("isa", MACHINES, ids=lambda isa: isa.name)
def test_a_tile_fits_the_register_file_with_one_to_spare(isa: Isa) -> None:
    for (rows, columns), vectors, steps in itertools.product(PLANES, (1, 2, 3, 6, 40), (9, 64, 4608)):
        tile = conv_tile(ConvWork(rows, columns, vectors, steps), isa, isa.lanes)
        assert tile is not None
        assert tile.pixels * tile.vectors + tile.vectors + 1 < max(isa.registers, 17)
        assert tile.pixels <= MAX_PIXELS
        assert tile.height <= rows
        assert tile.width <= columns
        assert tile.height == 1 or tile.width == columns


def test_tiles_known_to_be_fast_are_chosen() -> None:
    avx512, avx2 = MACHINES[:2]
    wide = conv_tile(ConvWork(56, 56, 4, 576), avx512, 16)
    small = conv_tile(ConvWork(7, 7, 60, 160), avx512, 16)
    narrow = conv_tile(ConvWork(56, 60, 8, 576), avx2, 8)
    assert wide is not None
    assert small is not None
    assert narrow is not None
    assert (wide.width, wide.vectors) == (14, 2)
    assert small.height > 1, "a row of seven pixels does not hide the latency of a multiply-add"
    assert (narrow.width, narrow.vectors) == (6, 2)


def test_weights_beyond_the_second_level_cache_ask_for_fewer_channels_and_more_pixels() -> None:
    near = conv_tile(ConvWork(7, 7, 32, 288), MACHINES[0], 16)
    far = conv_tile(ConvWork(7, 7, 32, 4608), MACHINES[0], 16)
    assert near is not None
    assert far is not None
    assert far.vectors < near.vectors
    assert far.pixels > near.pixels


@pytest.mark.parametrize("isa", MACHINES, ids=lambda isa: isa.name)
def test_padding_without_a_halo_stays_within_the_outer_tiles(isa: Isa) -> None:
    for columns, left, right in itertools.product((5, 20, 61, 112), (0, 1, 2, 3), (0, 1, 2, 3)):
        tile = conv_tile(ConvWork(9, columns, 2, 27, multi_row=False, border=(left, right)), isa, isa.lanes)
        assert tile is not None
        tiles = -(-columns // tile.width)
        assert tile.height == 1
        if tiles > 1:
            assert tile.width >= left
            assert (tiles - 1) * tile.width <= columns - right


def test_no_tile_is_found_when_padding_is_wider_than_any() -> None:
    assert conv_tile(ConvWork(9, 200, 2, 27, multi_row=False, border=(60, 0)), MACHINES[0], 16) is None


def test_a_vector_holds_several_blocks_where_that_saves_vectors() -> None:
    avx512 = MACHINES[0]
    assert vector_width(24, 8, avx512) == 16  # two vectors instead of three
    assert vector_width(8, 8, avx512) == 8
    assert vector_width(64, 16, avx512) == 16
    assert vector_width(24, 8, MACHINES[1]) == 8


def test_a_pointwise_plane_becomes_one_row_when_its_rows_are_short() -> None:
    assert flattened(ConvWork(7, 7, 4, 256), MACHINES[1], 8) == (1, 49)
    assert flattened(ConvWork(56, 56, 4, 256), MACHINES[0], 16) == (56, 56)


def test_large_weights_are_read_once_and_large_images_once() -> None:
    megabyte = 1 << 20
    assert outer_channels(100_000, 9 * megabyte, channel_tiles=16, row_tiles=7)
    assert not outer_channels(6 * megabyte, 10_000, channel_tiles=4, row_tiles=112)


@pytest.mark.parametrize("isa", MACHINES, ids=lambda isa: isa.name)
def test_depthwise_tiles_fit_beside_the_kernel_row(isa: Isa) -> None:
    for rows, vectors, kernel, stride in itertools.product((1, 7, 56), (1, 5, 7, 56), (3, 5, 7, 11), (1, 2)):
        height, width = depthwise_tile(rows, vectors, kernel, stride, isa)
        taps = kernel if kernel < 8 else 1
        assert 1 <= height <= rows
        assert 1 <= width <= vectors
        assert height * width <= max(2, isa.registers - taps - 1)
