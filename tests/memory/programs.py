"""Random programs for the planner, and an interpreter that runs them on real bytes."""

from __future__ import annotations

import hashlib
import random

from packager.program import Buffer, DType, Format, Halo, Kernel, KernelCall, Operand, Port, Program

UNARY = Kernel("ep_any", "ep_any.h")
ZERO_HALO = Kernel("ep_zero_halo", "ep_layout.h")


def tensor(name: str, *dims: int, fmt: Format = Format(), alias: tuple[str, int] | None = None) -> Buffer:  # noqa: B008
    return Buffer(name, DType.FLOAT32, dims, fmt, alias=alias)


def call(
    outputs: list[Buffer],
    inputs: list[Operand | None],
    *,
    scratch: Buffer | None = None,
    in_place: tuple[tuple[int, int], ...] = (),
) -> KernelCall:
    name = outputs[0].name if outputs else "nothing"
    return KernelCall(UNARY, tuple(outputs), tuple(inputs), scratch=scratch, in_place=in_place, source=f"Any '{name}'")


def program(inputs: list[Buffer], outputs: list[Buffer], body: list[KernelCall], *, lanes: int = 1) -> Program:
    found: dict[str, Buffer] = {}
    for step in body:
        for operand in (*step.outputs, *step.inputs, step.scratch):
            if isinstance(operand, Buffer):
                found[operand.name] = operand
    for buffer in (*inputs, *outputs):
        found[buffer.name] = buffer
    return Program("net", ports(inputs), ports(outputs), tuple(found.values()), (), tuple(body), lanes=lanes)


def ports(buffers: list[Buffer]) -> tuple[Port, ...]:
    return tuple(Port(buffer.name, buffer.dtype, buffer.dims, buffer) for buffer in buffers)


class Builder:
    """Grows a random program: chains, branches, views, concats written by parts, halos, scratch, in-place pairs."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.buffers: dict[str, Buffer] = {}
        self.body: list[KernelCall] = []

    def new(self, fmt: Format | None = None, dims: tuple[int, ...] | None = None) -> Buffer:
        if fmt is None:
            halo = self.dice.choice([Halo(), Halo(), Halo(1, 1, 1, 1), Halo(0, 1, 0, 0)])
            fmt = self.dice.choice([Format(), Format(), Format(4, halo)])
        if dims is None:
            dims = (1, self.dice.choice([1, 3, 4, 8]), self.dice.randint(1, 3), self.dice.randint(1, 3))
        return self.add(Buffer(f"t{len(self.buffers)}", DType.FLOAT32, dims, fmt))

    def add(self, buffer: Buffer) -> Buffer:
        self.buffers[buffer.name] = buffer
        return buffer

    def pick(self, readable: list[Buffer]) -> Buffer:
        recent = self.dice.random() < 0.7
        return self.dice.choice(readable[-4:] if recent else readable)

    def step(self, readable: list[Buffer]) -> None:
        kind = self.dice.random()
        if kind < 0.15:
            self.view(readable)
        elif kind < 0.3:
            self.concat(readable)
        else:
            self.compute(readable)

    def compute(self, readable: list[Buffer]) -> None:
        given = [self.pick(readable) for _ in range(self.dice.randint(1, 3))]
        same = self.dice.random() < 0.6
        made = [self.new(given[0].format, given[0].shape) if same else self.new()]
        if self.dice.random() < 0.2:
            made.append(self.new())
        pairs = [(o, i) for o in range(len(made)) for i in range(len(given)) if self.dice.random() < 0.6]
        scratch = self.new() if self.dice.random() < 0.2 else None
        self.body.append(call(made, list(given), scratch=scratch, in_place=tuple(pairs)))
        self.finish(made, readable)

    def finish(self, made: list[Buffer], readable: list[Buffer]) -> None:
        for buffer in made:
            if buffer.format.halo:
                self.body.append(KernelCall(ZERO_HALO, (buffer,), (), source=f"halo {buffer.name}"))
            readable.append(buffer)

    def view(self, readable: list[Buffer]) -> None:
        base = self.pick(readable)
        if not base.format.is_plain:
            return
        count = base.logical_bytes // 4
        begin = self.dice.randrange(count)
        length = self.dice.randint(1, count - begin)
        readable.append(self.add(Buffer(f"t{len(self.buffers)}", base.dtype, (length,), alias=(base.name, 4 * begin))))

    def concat(self, readable: list[Buffer]) -> None:
        lengths = [self.dice.choice([4, 8, 5]) for _ in range(self.dice.randint(2, 3))]
        whole = self.new(Format(), (sum(lengths),))
        at = 0
        for length in lengths:
            part = self.add(Buffer(f"t{len(self.buffers)}", whole.dtype, (length,), alias=(whole.name, 4 * at)))
            given = self.pick(readable)
            alike = given.format.is_plain and given.stored_bytes == part.stored_bytes
            self.body.append(call([part], [given], in_place=((0, 0),) if alike else ()))
            at += length
        readable.append(whole)


def random_program(seed: int, steps: int = 12) -> Program:
    builder = Builder(seed)
    inputs = [builder.new() for _ in range(builder.dice.randint(1, 2))]
    readable = list(inputs)
    for _ in range(steps):
        builder.step(readable)
    outputs = list(dict.fromkeys(builder.pick(readable) for _ in range(builder.dice.randint(1, 3))))
    buffers = tuple(builder.buffers.values())
    lanes = builder.dice.choice([1, 4, 16])
    return Program("net", ports(inputs), ports(outputs), buffers, (), tuple(builder.body), lanes=lanes)


def run_on_bytes(subject: Program, addresses: dict[str, int], size: int) -> list[bytes]:
    """Run ``subject`` on one bytearray: every call mixes what it reads into what it writes; the outputs' bytes.

    In-place calls are element-wise: byte k of an output depends on byte k of the inputs, written in that order.
    """
    memory = bytearray(size)
    sizes = {buffer.name: buffer.stored_bytes for buffer in subject.buffers}

    def load(buffer: Buffer) -> bytes:
        at = addresses[buffer.name]
        return bytes(memory[at : at + sizes[buffer.name]])

    def store(buffer: Buffer, data: bytes) -> None:
        at = addresses[buffer.name]
        memory[at : at + sizes[buffer.name]] = data

    for port in subject.inputs:
        assert isinstance(port.operand, Buffer)
        store(port.operand, stream(port.name.encode(), sizes[port.operand.name]))
    for step in subject.body:
        if step.kernel is ZERO_HALO:
            buffer = step.outputs[0]
            store(buffer, stream(b"halo" + load(buffer), sizes[buffer.name]))
            continue
        if step.scratch is not None:
            store(step.scratch, stream(b"scratch", sizes[step.scratch.name]))
        made = []
        for number, target in enumerate(step.outputs):
            # an input the contract does not pair with this output may be read after the output's bytes are gone
            before = bytes(memory)
            paired = {
                i: load(b) for i, b in enumerate(step.inputs) if isinstance(b, Buffer) and (number, i) in step.in_place
            }
            store(target, bytes(sizes[target.name]))
            late = {i: load(b) for i, b in enumerate(step.inputs) if isinstance(b, Buffer) and i not in paired}
            scratch = load(step.scratch) if step.scratch is not None else b""
            memory[:] = before
            ordered = [value for _, value in sorted((paired | late).items())]
            made.append(
                stream(b"|".join([step.source.encode(), bytes([number]), scratch, *ordered]), sizes[target.name])
            )
        for target, data in zip(step.outputs, made, strict=True):
            store(target, data)
    results = []
    for port in subject.outputs:
        assert isinstance(port.operand, Buffer)
        results.append(load(port.operand))
    return results


def stream(seed: bytes, count: int) -> bytes:
    return hashlib.shake_128(seed).digest(count)
