"""The gate's rules one by one, on objects and headers written by hand; test_compile.py has the real ones."""

from __future__ import annotations

import struct

import pytest

from packager.build.artifact import SectionSizes
from packager.build.elf_check import check_budget, check_objects, check_program, has_fpu, section_sizes
from packager.build.objects import ElfObject, Section
from packager.config.load import load_target
from packager.errors import BudgetError, BuildError

MACHINE = {"rpi4": "EM_AARCH64", "rpi3-armv7": "EM_ARM", "cortex-m4f": "EM_ARM", "riscv64-linux": "EM_RISCV"}
HARD_FLOAT = 0x05000400


def object_for(target: str, *undefined: str, **fields: object) -> ElfObject:
    bits = 32 if MACHINE[target] == "EM_ARM" else 64
    return ElfObject("model.o", MACHINE[target], bits, True, 0, (), undefined=set(undefined), **fields)  # type: ignore[arg-type]  # as named


def arm_header(flags: int) -> bytes:
    """An ELF file for 32-bit Arm without sections and segments."""
    ident = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    return ident + struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0, 0, 0, flags, 52, 32, 0, 40, 0, 0)


@pytest.mark.parametrize(
    ("target", "symbol"),
    [
        ("rpi4", "memcpy"),
        ("rpi3-armv7", "__aeabi_memcpy4"),
        ("rpi3-armv7", "__aeabi_idivmod"),
        ("rpi3-armv7", "__aeabi_uldivmod"),
        ("cortex-m4f", "__aeabi_dadd"),  # the FPU has single precision only
        ("cortex-m4f", "__aeabi_f2lz"),
        ("cortex-m4f", "__aeabi_l2f"),
        ("riscv64-linux", "memset"),
    ],
)
def test_what_every_compiler_brings_along_may_be_used(target: str, symbol: str) -> None:
    check_objects([object_for(target, symbol)], load_target(target))


@pytest.mark.parametrize("symbol", ["malloc", "expf", "printf", "sinf", "pthread_create", "abort", "__errno_location"])
def test_a_library_function_is_refused_by_name(symbol: str) -> None:
    with pytest.raises(BuildError, match=symbol) as error:
        check_objects([object_for("rpi4", symbol)], load_target("rpi4"))
    assert error.value.problems[0].code == "EP0512"


def test_only_the_object_of_the_thread_pool_may_use_threads() -> None:
    item = object_for("rpi4", "pthread_create", "clock_gettime")
    check_objects([item], load_target("rpi4"), threaded="model.o")
    with pytest.raises(BuildError):
        check_objects([item], load_target("rpi4"), threaded="ep_pool_posix.o")


@pytest.mark.parametrize("symbol", ["__aeabi_fadd", "__aeabi_fmul", "__aeabi_fcmplt", "__aeabi_i2f", "__mulsf3"])
def test_software_floats_are_refused_where_there_is_an_fpu(symbol: str) -> None:
    with pytest.raises(BuildError) as error:
        check_objects([object_for("cortex-m4f", symbol)], load_target("cortex-m4f"))
    assert error.value.problems[0].code == "EP0511"


def test_software_floats_are_used_where_there_is_none() -> None:
    soft = load_target("cortex-m4f").model_copy(update={"triple": "thumb-freestanding-eabi", "cpu": "cortex_m3"})
    assert not has_fpu(soft)
    check_objects([object_for("cortex-m4f", "__aeabi_fadd", "__mulsf3")], soft)


def test_symbols_of_other_objects_of_the_library_are_defined() -> None:
    weights = object_for("rpi4", defined={"tiny_weights": "STT_OBJECT"})
    check_objects([object_for("rpi4", "tiny_weights"), weights], load_target("rpi4"))


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(BuildError) as error:
        check_objects([object_for("rpi4", "malloc", "free", "sinf")], load_target("rpi4"))
    assert len(error.value.problems) == 3


def test_a_program_that_passes_floats_in_integer_registers_is_refused() -> None:
    target = load_target("rpi3-armv7")
    check_program("run", arm_header(HARD_FLOAT), target)
    with pytest.raises(BuildError) as error:
        check_program("run", arm_header(0x05000200), target)
    assert error.value.problems[0].code == "EP0513"


def test_sizes_are_told_apart_by_what_memory_they_need() -> None:
    sections = (
        Section(".text.f", 100, is_writable=False, is_executable=True, has_data=True),
        Section(".rodata.w", 50, is_writable=False, is_executable=False, has_data=True),
        Section(".data.rel.ro.t", 8, is_writable=True, is_executable=False, has_data=True),
        Section(".data.x", 4, is_writable=True, is_executable=False, has_data=True),
        Section(".bss.y", 16, is_writable=True, is_executable=False, has_data=False),
    )
    weights = Section(".rodata.w", 40, is_writable=False, is_executable=False, has_data=True)
    item = ElfObject("m.o", "EM_ARM", 32, True, 0, sections, variables={"m_weights": weights})
    sizes = section_sizes([item], "m_weights")
    assert sizes == SectionSizes(text=100, rodata=18, weights=40, data=4, bss=16)
    assert (sizes.flash, sizes.ram) == (162, 20)


def test_a_budget_is_kept_to_the_byte() -> None:
    target = load_target("cortex-m4f")
    limit = target.budget.flash
    assert limit is not None
    check_budget(SectionSizes(text=limit), target)
    with pytest.raises(BudgetError, match="1 more than"):
        check_budget(SectionSizes(text=limit, data=1), target)
