"""The gate behind the compiler: is the ELF what the profile says?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from packager.build.artifact import SectionSizes
from packager.build.objects import ElfObject, open_elf
from packager.config.target import Target
from packager.errors import BudgetError, BuildError, Problem

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_MACHINES = {  # architecture of the triple: ELF machine, bits
    "x86_64": ("EM_X86_64", 64),
    "x86": ("EM_386", 32),
    "i386": ("EM_386", 32),
    "aarch64": ("EM_AARCH64", 64),
    "arm": ("EM_ARM", 32),
    "thumb": ("EM_ARM", 32),
    "armv7l": ("EM_ARM", 32),
    "riscv32": ("EM_RISCV", 32),
    "riscv64": ("EM_RISCV", 64),
}

_MEMORY = re.compile(r"mem(cpy|set|move|cmp)$|__aeabi_mem(cpy|set|move|clr)[48]?$")
_INTEGER_HELPERS = re.compile(
    r"__aeabi_(u?i|u?l)div(mod)?$|__aeabi_(llsl|llsr|lasr|lmul|lcmp|ulcmp|uread\d|uwrite\d)$"
    r"|__(u?div|u?mod|mul|ashl|ashr|lshr|u?divmod|popcount|clz|ctz)[sdt]i[34]?$"
)
# conversions between 64-bit integers or doubles and floats, and double arithmetic: no instruction on 32-bit cores
_WIDE_HELPERS = re.compile(
    r"__aeabi_(f2u?lz|u?l2f|u?l2d|d2u?lz|u?i2d|d2u?iz|d2f|f2d|c?d\w+|dadd|dsub|dmul|ddiv)$"
    r"|__(fixuns|fix|float|floatun)[sd]f?[dst]i?[sdf]*$|__\w+df[23]?$|__(extendsfdf2|truncdfsf2)$"
)
_SOFT_FLOAT = re.compile(
    r"__aeabi_(c?f(add|sub|rsub|mul|div|cmp\w*)|f2u?iz|u?i2f)$|__(add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|unord)sf[23]$"
    r"|__(fixsfsi|fixunssfsi|floatsisf|floatunsisf)$"
)
_LINKER_MADE = {"_GLOBAL_OFFSET_TABLE_"}
_THREADS = re.compile(
    r"pthread_\w+$|sched_\w+$|__sched_\w+$|clock_gettime(64)?$|__clock_gettime64$|posix_memalign$|free$|sysconf$"
    r"|__aarch64_(cas|swp|ldadd|ldclr|ldeor|ldset)\w+$|__atomic_\w+$"
)
_EF_ARM_ABI_FLOAT_HARD = 0x400
_EF_RISCV_FLOAT_ABI = 0x6


def has_fpu(target: Target) -> bool:
    """Whether single-precision arithmetic has instructions; 32-bit Arm says so in the ABI of its triple."""
    if target.architecture in {"arm", "thumb", "armv7l"}:
        return target.triple.endswith("hf")
    return target.vector_isa().name != "scalar" or not target.architecture.startswith("riscv")


def check_objects(objects: Sequence[ElfObject], target: Target, *, threaded: str = "") -> None:
    """Refuse objects of the wrong machine, with symbols nobody defines or with soft-float calls despite an FPU.

    ``threaded`` names the object that may use the system's threads.
    """
    problems: list[Problem] = []
    defined = {name for item in objects for name in item.defined}
    for item in objects:
        problems += _check_machine(item.name, item.machine, item.bits, target)
        for symbol in sorted(item.undefined - defined):
            problems += _check_symbol(symbol, item.name, target, may_thread=item.name == threaded)
    if problems:
        raise BuildError(problems)


def check_program(name: str, data: bytes, target: Target) -> None:
    """Refuse a program of the wrong machine or float ABI, or one that needs a dynamic linker."""
    elf = open_elf(data)
    problems = list(_check_machine(name, str(elf["e_machine"]), int(elf.elfclass), target))
    if not problems:
        problems += _check_float_abi(name, str(elf["e_machine"]), int(elf["e_flags"]), target)
    if target.linkage == "static":
        problems += _check_static(name, elf)
    if problems:
        raise BuildError(problems)


def section_sizes(objects: Iterable[ElfObject], weights: str) -> SectionSizes:
    """The memory the objects occupy; ``weights`` is the symbol of the weight blob."""
    sizes = {"text": 0, "rodata": 0, "weights": 0, "data": 0, "bss": 0}
    for item in objects:
        for section in item.sections:
            if section.is_executable:
                kind = "text"
            elif section.is_writable and not section.name.startswith(".data.rel.ro"):
                kind = "data" if section.has_data else "bss"
            else:
                kind = "rodata"
            sizes[kind] += section.size
        if weights in item.variables:
            sizes["weights"] += item.variables[weights].size
    sizes["rodata"] -= sizes["weights"]
    return SectionSizes(**sizes)


def check_budget(sizes: SectionSizes, target: Target) -> None:
    """BudgetError when code and weights are more than the target's flash."""
    limit = target.budget.flash
    if limit is None or sizes.flash <= limit:
        return
    raise BudgetError(
        Problem(
            "EP0402",
            f"code and weights need {sizes.flash:,} bytes, {sizes.flash - limit:,} more than the {limit:,} bytes "
            f"of flash that target {target.name} allows",
            f"weights {sizes.weights:,}, code {sizes.text:,}, other constants {sizes.rodata:,}, "
            f"initialised variables {sizes.data:,} bytes",
            "use a smaller model, or a target with more flash",
        )
    )


def _check_machine(name: str, machine: str, bits: int, target: Target) -> list[Problem]:
    expected = _MACHINES.get(target.architecture)
    if expected is None or (machine, bits) == expected:
        return []
    return [
        Problem(
            "EP0510",
            f"the compiler made {machine} code of {bits} bits, the target is {expected[0]} of {expected[1]} bits",
            name,
            f"set toolchain and triple of target {target.name} to the same architecture",
        )
    ]


def _check_symbol(symbol: str, name: str, target: Target, *, may_thread: bool) -> list[Problem]:
    if has_fpu(target) and _SOFT_FLOAT.match(symbol):
        return [
            Problem(
                "EP0511",
                f"float arithmetic calls the software routine {symbol} although the target has an FPU",
                name,
                f"name the FPU in cpu of target {target.name}, such as cortex_m4+vfp4d16sp",
            )
        ]
    allowed = [_MEMORY, _INTEGER_HELPERS, _WIDE_HELPERS, *([_THREADS] if may_thread else [])]
    if not has_fpu(target):
        allowed.append(_SOFT_FLOAT)
    if symbol in _LINKER_MADE or any(pattern.match(symbol) for pattern in allowed):
        return []
    return [
        Problem("EP0512", f"the library needs the symbol {symbol}, which nothing in it defines", name, "report this")
    ]


def _check_float_abi(name: str, machine: str, flags: int, target: Target) -> list[Problem]:
    wrong = machine == "EM_ARM" and target.triple.endswith("hf") and not flags & _EF_ARM_ABI_FLOAT_HARD
    wrong |= machine == "EM_RISCV" and target.vector_isa().name == "rvf" and not flags & _EF_RISCV_FLOAT_ABI
    if not wrong:
        return []
    hint = f"the toolchain of target {target.name} is set up for another ABI"
    return [Problem("EP0513", "floats are not passed in FPU registers, as the target says", name, hint)]


def _check_static(name: str, elf: ELFFile) -> list[Problem]:
    from elftools.elf.dynamic import DynamicSegment

    needed = [
        str(vars(tag)["needed"])
        for segment in elf.iter_segments()
        if isinstance(segment, DynamicSegment)
        for tag in segment.iter_tags("DT_NEEDED")
    ]
    if not needed and not any(segment["p_type"] == "PT_INTERP" for segment in elf.iter_segments()):
        return []
    hint = "use `linkage: dynamic` in the target, or a toolchain with a static C library"
    what = f"the program is not static: it needs {', '.join(needed) or 'a dynamic linker'}"
    return [Problem("EP0514", what, name, hint)]
