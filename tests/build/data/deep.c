/* SPDX-License-Identifier: Apache-2.0 */
/* A call graph with known frames: entry 64 -> middle 256 -> leaf 1024 bytes; wide 512 beside it. */

__attribute__((noinline)) static int use(volatile char *buffer, int size)
{
    for (int i = 0; i < size; i++) {
        buffer[i] = (char)i;
    }
    return buffer[size / 2];
}

static int middle(int x);

__attribute__((noinline)) static int leaf(int x)
{
    volatile char frame[1024];
#if defined(RECURSIVE)
    return x > 0 ? middle(x - 1) + use(frame, 1024) : 0;
#else
    return use(frame, 1024) + x;
#endif
}

__attribute__((noinline)) static int wide(int x)
{
    volatile char frame[512];
    return use(frame, 512) + x;
}

__attribute__((noinline)) static int middle(int x)
{
    volatile char frame[256];
    return use(frame, 256) + leaf(x) + 1;
}

int entry(int x);
int entry(int x)
{
    volatile char frame[64];
    return use(frame, 64) + middle(x) + wide(x) + 1;
}

int by_pointer(int (*run)(int (*)(int)));
int by_pointer(int (*run)(int (*)(int)))
{
    return run(leaf);
}
