"""The description of a model behind ``ep_model.h``, which generic programs use; unused it is dropped by the linker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codegen_c.lines import columns, string_lines
from codegen_c.names import c_string
from packager.program import Port, Program, upper_bound


def model_table(program: Program, prefix: str, ids: Mapping[str, str]) -> str:
    """``const ep_model <prefix>_model`` and what it points at."""
    lines = [*_tables(program), *_entries(program, prefix, ids), *_model(program, prefix)]
    return "\n".join([*lines, ""])


def _tables(program: Program) -> Iterator[str]:
    ports = (*program.inputs, *program.outputs)
    for index, port in enumerate(ports):
        dims = ", ".join(str(upper_bound(dim)) for dim in port.dims) or "1"
        yield f"static const ptrdiff_t port_{index}_dims[] = {{{dims}}};"
    yield "static const ep_port ports[] = {"
    yield from columns([_port_row(index, port) for index, port in enumerate(ports)])
    yield from ("};", "", "static const ep_step_info steps[] = {")
    rows = [(c_string(call.kernel.name), string_lines(call.source, 8), f"{call.macs}u") for call in program.body]
    yield from columns(rows or [('""', '""', "0u")])
    yield from ("};", "")


def _port_row(index: int, port: Port) -> tuple[str, ...]:
    rank = str(len(port.dims))
    return c_string(port.name), c_string(port.dtype.label), rank, f"port_{index}_dims", f"{port.bytes}u"


def _entries(program: Program, prefix: str, ids: Mapping[str, str]) -> Iterator[str]:
    """The entry points with the types of the table."""
    yield from ("static ep_status table_init(void *ctx, void *arena, size_t arena_bytes)", "{")
    yield from (f"    return {prefix}_init((context *)ctx, arena, arena_bytes);", "}", "")
    yield from ("static ep_status table_invoke(void *ctx)", "{")
    yield from (f"    return {prefix}_invoke((context *)ctx);", "}", "")
    if program.threads > 1:
        yield from ("static void table_set_pool(void *ctx, struct ep_pool *pool)", "{")
        yield from (f"    {prefix}_set_pool((context *)ctx, pool);", "}", "")
    if program.states:
        yield from ("static void table_reset(void *ctx)", "{", f"    {prefix}_reset((context *)ctx);", "}", "")
    yield from _step(program)
    inputs = [f"{prefix}_input_{ids[port.name]}" for port in program.inputs]
    outputs = [f"{prefix}_output_{ids[port.name]}" for port in program.outputs]
    yield from _port("input", "", inputs)
    yield from _port("output", "const ", outputs)


def _step(program: Program) -> Iterator[str]:
    yield from ("static ep_status table_step(void *opaque, int index)", "{")
    yield from ("    context *const ctx = (context *)opaque;", "    switch (index) {")
    for index, call in enumerate(program.body):
        if call.kernel.fallible:
            yield f"    case {index}: return step_{index}(ctx);"
        else:
            yield f"    case {index}: step_{index}(ctx); return EP_OK;"
    yield from ("    default: (void)ctx; return EP_E_INDEX;", "    }", "}", "")


def _port(kind: str, const: str, accessors: list[str]) -> Iterator[str]:
    yield from (f"static {const}void *table_{kind}({const}void *opaque, int index)", "{")
    yield from (f"    {const}context *const ctx = ({const}context *)opaque;", "    switch (index) {")
    for index, accessor in enumerate(accessors):
        yield f"    case {index}: return {accessor}(ctx);"
    yield from ("    default: (void)ctx; return NULL;", "    }", "}", "")


def _model(program: Program, prefix: str) -> Iterator[str]:
    upper = prefix.upper()
    fields = {
        "name": c_string(program.name),
        "sha256": f"{upper}_MODEL_SHA256",
        "ctx_bytes": "sizeof(context)",
        "arena_bytes": f"{upper}_ARENA_SIZE",
        "arena_align": f"{upper}_ARENA_ALIGN",
        "weights_bytes": f"{upper}_WEIGHTS_SIZE",
        "input_count": str(len(program.inputs)),
        "output_count": str(len(program.outputs)),
        "step_count": str(len(program.body)),
        "inputs": "ports",
        "outputs": f"ports + {len(program.inputs)}",
        "steps": "steps",
        "init": "table_init",
        "set_pool": "table_set_pool" if program.threads > 1 else "NULL",
        "invoke": "table_invoke",
        "step": "table_step",
        "input": "table_input",
        "output": "table_output",
        "reset": "table_reset" if program.states else "NULL",
    }
    yield from (f"extern const ep_model {prefix}_model;", f"const ep_model {prefix}_model = {{")
    yield from (f"    .{name:<13} = {value}," for name, value in fields.items())
    yield "};"
