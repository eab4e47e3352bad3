// The vectors of a Cortex-M4, which begin newlib's start-up code.
#include <stdint.h>

extern void _start(void);
extern uint32_t stack_top[];

static void stay(void) {
    for (;;) {
    }
}

// Lets the program use floating-point registers, which the library's calling convention has.
static void reset(void) {
    volatile uint32_t *const coprocessor_access = (volatile uint32_t *)0xe000ed88;
    *coprocessor_access |= 0xfu << 20;
    __asm__ volatile("dsb\n\tisb");
    _start();
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, (const void *)reset, (const void *)stay, (const void *)stay, (const void *)stay, (const void *)stay, (const void *)stay,
};
