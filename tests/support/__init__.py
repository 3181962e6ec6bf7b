"""What many tests share: building small models and running what the compiler makes of them."""

from tests.support.harness import ISAS, Network, compile_program, load_program, node_model, run_model, run_program

__all__ = ["ISAS", "Network", "compile_program", "load_program", "node_model", "run_model", "run_program"]
