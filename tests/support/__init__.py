"""What many tests share: building small models and running what the compiler makes of them."""

from tests.support.harness import ISAS, compile_program, node_model, run_model, run_program

__all__ = ["ISAS", "compile_program", "node_model", "run_model", "run_program"]
