"""Which transport a target's programs run behind."""

from __future__ import annotations

from packager.config.board import Board
from packager.config.target import Target
from packager.deploy.local import LocalTransport
from packager.deploy.machine import MachineTransport
from packager.deploy.transport import Transport
from packager.deploy.wasm import WasmTransport
from packager.errors import DeviceError, Problem


def local_transport(target: Target, board: Board | None = None) -> Transport:
    """Where programs of ``target`` run on this machine: directly, or in the emulator its profile or ``board`` names.

    DeviceError EP0717 when a target without an operating system has no board with an emulator.
    """
    if board is not None and board.emulator is not None and board.emulator.kind == "system":
        return MachineTransport(board.name, board.emulator.command)
    if target.is_freestanding:
        hint = "name a board that has an emulator (`edgepack boards`), or flash the bundle's image"
        raise DeviceError(Problem("EP0717", f"programs for {target.name} do not run on this machine", hint=hint))
    if target.is_wasm:
        return WasmTransport()
    command = target.emulator_here
    if board is not None and board.emulator is not None:
        command = tuple(part for part in board.emulator.command if part != "{program}")
    return LocalTransport(command)
