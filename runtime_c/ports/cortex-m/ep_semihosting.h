/* SPDX-License-Identifier: Apache-2.0 */
/** Calls to the debugger or emulator (Arm semihosting, version 2): how a bare-metal program gets arguments and files. */
#ifndef EP_SEMIHOSTING_H
#define EP_SEMIHOSTING_H

/** Set up the clock and the heap, call main() with the words of the semihosting command line, exit with its result. */
void ep_semihosting_run(void);

/** End the program. */
void ep_semihosting_exit(int code);

#endif
