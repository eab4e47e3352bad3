/* Measures the stack of a call: the region below is painted before the call, and looked at after it.
 *
 * What must always hold: `paint`, the call and `depth` are made by one frame, so that their frames begin at one place;
 * a call that is counted is entered through `terse_bench_counted_call`, which callgrind knows by its name. */

#include <stddef.h>
#include <stdint.h>

#define WORDS (512 * 1024 / sizeof(uint64_t))
#define PAINT 0xa5c33c5a96e7187eu

#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
__attribute__((noinline)) static void paint(void) {
    volatile uint64_t region[WORDS];
    for (size_t i = 0; i < WORDS; i++) {
        region[i] = PAINT;
    }
}

/* Returns how many bytes of the stack were used, down to the deepest word that is no paint. It reads memory that was never
 * written, on purpose. */
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
__attribute__((noinline)) static size_t depth(void) {
    volatile uint64_t region[WORDS];
    size_t i = 0;
    while (i < WORDS && region[i] == PAINT) {
        i++;
    }
    return (WORDS - i) * sizeof(uint64_t);
}

__attribute__((noinline)) size_t terse_bench_stack_of(void (*call)(void *), void *argument) {
    paint();
    call(argument);
    return depth();
}

__attribute__((noinline)) void terse_bench_counted_call(void (*call)(void *), void *argument) {
    call(argument);
    __asm__ volatile("" ::: "memory"); /* no tail call: the function has to be left after it */
}
