"""A planned Program as C files."""

from __future__ import annotations

from dataclasses import replace

from codegen_c.c_header import header
from codegen_c.c_source import SourcePrinter
from codegen_c.embed import EmbedStyle
from codegen_c.firmware import firmware_files
from codegen_c.names import identifiers, model_prefix
from codegen_c.weights import weight_blob, weight_files
from packager.program import Program


def serial(program: Program) -> Program:
    """``program`` for one thread, so that it needs no pool."""
    return replace(program, threads=1, body=tuple(replace(call, parallel=False) for call in program.body))


def emit(program: Program, *, embed: EmbedStyle) -> dict[str, bytes]:
    """``{path: bytes}`` of the generated part of a bundle: public header, source, weights, build files for firmware.

    Pure: equal programs give equal bytes.
    """
    prefix = model_prefix(program.name)
    ids = identifiers(port.name for port in (*program.inputs, *program.outputs))
    blob = weight_blob(program)
    return {
        f"include/{prefix}.h": header(program, prefix, ids, len(blob.data)).encode(),
        f"src/{prefix}.c": SourcePrinter(program, prefix, ids, blob).print().encode(),
        **weight_files(prefix, blob, program.arena_align, embed),
        **firmware_files(prefix, blob, program.arena_align, embed, program),
    }
