/* SPDX-License-Identifier: Apache-2.0 */
/** The processor a program runs on, against the one its model was built for. */
#ifndef EP_CPU_H
#define EP_CPU_H

/** The architecture this program was compiled for, as the ELF machine names it: "x86_64", "aarch64", "arm", "riscv64",
 *  "riscv32", "wasm32" or "unknown".  That it printed at all proves that it runs there. */
const char *ep_cpu_machine(void);

/** Instruction set extensions the model may use, separated by spaces; "" for none beyond the architecture's base.
 *  src/ep_built_for.c is compiled with the model's own flags and holds nothing else. */
extern const char *const ep_built_for;

/** The first of them this processor lacks; NULL when it has all (or when there is no way to ask). */
const char *ep_cpu_missing(void);

#endif
