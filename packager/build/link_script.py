"""Linker scripts of bare-metal programs, from a board's memory map."""

from __future__ import annotations

from packager.build.runtime_files import linker_script
from packager.config.board import Board
from packager.config.load import available, load_board
from packager.config.target import Target
from packager.errors import BuildError, Problem


def board_for(target: Target, board: Board | None) -> Board:
    """``board``, or the first known one that the target was made for; BuildError when there is none."""
    if board is not None:
        return board
    for found in available("boards"):
        candidate = load_board(found.file)
        if candidate.target == target.name and candidate.memory:
            return candidate
    raise BuildError(
        Problem(
            "EP0505",
            "a program without an operating system needs a board's memory map",
            f"target {target.name}",
            "name one with --board; `edgepack boards` lists them",
        )
    )


def script_for(board: Board, stack_bytes: int) -> bytes:
    """The whole script: the board's own, or the shipped one behind the board's regions FLASH and RAM and the stack."""
    if board.linker_script is not None:
        return board.linker_script.read_bytes()
    flash, ram = board.region("flash"), board.region("ram")
    if flash is None or ram is None:
        what = "the board's memory map needs a region of kind flash and one of kind ram"
        raise BuildError(Problem("EP0505", what, f"board {board.name}"))
    head = (
        f"/* {board.name} */\n"
        "MEMORY\n"
        "{\n"
        f"    FLASH (rx) : ORIGIN = {flash.origin:#x}, LENGTH = {flash.size:#x}\n"
        f"    RAM (rw) : ORIGIN = {ram.origin:#x}, LENGTH = {ram.size:#x}\n"
        "}\n\n"
        f"EP_STACK_SIZE = {stack_bytes};\n\n"
    )
    return head.encode() + linker_script()
