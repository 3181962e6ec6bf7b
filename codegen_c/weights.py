"""The weight blob of a program and the file that carries it into the object."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from codegen_c.embed import EmbedStyle
from codegen_c.literals import byte_rows
from packager.program import Constant, Program

TAG_BYTES = 64
"""Length of the tag at the start of the blob: ``EP_WEIGHTS_TAG_BYTES`` of ep_context.h."""


@dataclass(frozen=True)
class WeightBlob:
    """``data`` begins with ``tag``; ``offsets`` tells where each constant lies; ``digest`` names the file."""

    data: bytes
    offsets: Mapping[Constant, int]
    tag: bytes
    digest: str


def weight_blob(program: Program) -> WeightBlob:
    """All constants, each aligned for the widest load, behind a tag with the sha256 of what follows."""
    parts: list[bytes] = []
    offsets: dict[Constant, int] = {}
    position = TAG_BYTES
    for constant in program.constants:
        padding = -position % program.arena_align
        parts += [bytes(padding), constant.data]
        offsets[constant] = position + padding
        position += padding + len(constant.data)
    payload = b"".join(parts)
    tag = (b"edgepack" + hashlib.sha256(payload).digest()).ljust(TAG_BYTES, b"\0")
    data = tag + payload
    return WeightBlob(data, offsets, tag, hashlib.sha256(data).hexdigest())


def weight_files(prefix: str, blob: WeightBlob, align: int, style: EmbedStyle) -> dict[str, bytes]:
    """The sources that define ``<prefix>_weights``.  The binary is named by its content: some compilers' caches look at
    nothing else.
    """
    binary = f"weights/{blob.digest[:12]}.bin"
    if style is EmbedStyle.INCBIN:
        return {f"src/{prefix}_weights.S": _assembler(prefix, binary, align).encode(), binary: blob.data}
    head = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        f'#include "{prefix}.h"',
        "",
        "/* a linker section for the weights, such as external flash */",
        "#ifndef EP_WEIGHTS_SECTION",
        "#define EP_WEIGHTS_SECTION",
        "#endif",
        "",
    ]
    if style is EmbedStyle.EMBED:
        head += [
            "#if !defined(__has_embed)",
            f'#error "this compiler has no #embed: compile firmware/{prefix}_weights.S instead of this file"',
            "#endif",
        ]
        head += ["#if defined(__clang__)", '#pragma clang diagnostic ignored "-Wc23-extensions"', "#endif", ""]
    head.append(
        f"EP_WEIGHTS_SECTION EP_ALIGNED({align}) const uint8_t {prefix}_weights[{prefix.upper()}_WEIGHTS_SIZE] = {{"
    )
    if style is EmbedStyle.EMBED:
        rows = ["#if defined(__has_embed)", f'#embed "../{binary}"', "#endif"]
        files = {binary: blob.data}
    else:
        rows, files = list(byte_rows(blob.data)), {}
    return {f"src/{prefix}_weights.c": "\n".join([*head, *rows, "};", ""]).encode(), **files}


def _assembler(prefix: str, binary: str, align: int) -> str:
    symbol = f"{prefix}_weights"
    return "\n".join(
        [
            "/* SPDX-License-Identifier: Apache-2.0 */",
            f'    .section .rodata.{symbol}, "a"',
            f"    .balign {align}",
            f"    .globl {symbol}",
            f"    .type {symbol}, %object",
            f"{symbol}:",
            f'    .incbin "{binary}"',
            f"    .size {symbol}, . - {symbol}",
            '    .section .note.GNU-stack, "", %progbits',
            "",
        ]
    )
