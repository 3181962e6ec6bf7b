"""Only steps that are long enough are shared among threads."""

from __future__ import annotations

from packager.lower.parallel import mark_parallel
from packager.program import Buffer, DType, Kernel, KernelCall

SPLITS = Kernel("ep_a", "a.h", splits=True)
BUFFER = Buffer("x", DType.FLOAT32, (64,))


def call(macs: int, kernel: Kernel = SPLITS, extent: int = 8) -> KernelCall:
    return KernelCall(kernel, (BUFFER,), (BUFFER,), extent=extent, macs=macs)


def parallel(one: KernelCall, *, lanes: int = 4, threads: int = 4) -> bool:
    return mark_parallel([one], lanes=lanes, threads=threads)[0].parallel


def test_a_long_step_is_shared_and_a_short_one_is_not() -> None:
    assert parallel(call(10_000_000))
    assert not parallel(call(10_000))


def test_wider_vectors_need_more_work_for_the_same_time() -> None:
    assert parallel(call(500_000), lanes=4)
    assert not parallel(call(500_000), lanes=16)


def test_one_thread_one_row_or_a_kernel_that_can_fail_is_never_shared() -> None:
    assert not parallel(call(10_000_000), threads=1)
    assert not parallel(call(10_000_000, extent=1))
    assert not parallel(call(10_000_000, Kernel("ep_b", "b.h", splits=True, fallible=True)))
    assert not parallel(call(10_000_000, Kernel("ep_c", "c.h")))


def test_traffic_counts_where_there_is_no_arithmetic() -> None:
    large = Buffer("y", DType.FLOAT32, (1 << 20,))
    assert parallel(KernelCall(SPLITS, (large,), (large,), extent=8))
