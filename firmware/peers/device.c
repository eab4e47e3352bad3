/* The start of an image, and the drivers: CMSDK APB UART and timer ("Cortex-M System Design Kit", 4.2 and 4.3). */
#include "device.h"
#include <string.h>

#define REGISTER(address) (*(volatile uint32_t *) (address))
#define UART0 0x40004000u
#define UART1 0x40005000u
#define TIMER1 0x40001000u
#define CPACR REGISTER(0xe000ed88)

enum { DATA = 0, STATE = 4, CTRL = 8, BAUDDIV = 16 };  /* of a UART */
enum { TX_FULL = 1, RX_FULL = 2, TX_ENABLE = 1, RX_ENABLE = 2 };
enum { VALUE = 4, RELOAD = 8, TICKS_PER_MILLISECOND = 25000 };  /* of a timer, which counts down */

extern unsigned char __data_start__[], __data_end__[], __data_source__[], __bss_start__[], __bss_end__[], __stack[];

static void show(char lamp) {
    REGISTER(UART0 + DATA) = (uint32_t) lamp;
    for (;;)
        __asm volatile("wfi");
}

/* It is a function of its own because it may use registers of the FPU, which `reset` turns on. */
static __attribute__((noinline, noreturn)) void begin(void) {
    memcpy(__data_start__, __data_source__, (size_t) (__data_end__ - __data_start__));
    memset(__bss_start__, 0, (size_t) (__bss_end__ - __bss_start__));
    for (uint32_t uart = UART0; uart <= UART1; uart += UART1 - UART0) {
        REGISTER(uart + BAUDDIV) = 16; /* the least divider, which QEMU only looks at */
        REGISTER(uart + CTRL) = TX_ENABLE | RX_ENABLE;
    }
    REGISTER(TIMER1 + RELOAD) = UINT32_MAX;
    REGISTER(TIMER1 + VALUE) = UINT32_MAX;
    REGISTER(TIMER1) = 1;
    show(run() == 0 ? '+' : '-');
    __builtin_unreachable();
}

void reset(void) {
    CPACR |= 0xfu << 20; /* ARMv7-M Architecture Reference Manual, B3.2.20: full access to the FPU */
    __asm volatile("dsb\n isb" ::: "memory");
    begin();
}

static void fault(void) {
    show('-');
}

/* The stack, the reset, and the exceptions of the processor. */
__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void)) __stack, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault,
};

static struct bytes item(const unsigned char **place) {
    struct bytes item = {*place + 2, (size_t) (*place)[0] << 8 | (*place)[1]};
    *place = item.start + item.len;
    return item;
}

struct known device_known(void) {
    struct known known;
    const unsigned char *place = (const unsigned char *) 0x000ff000;
    __asm("" : "+r"(place)); /* the compiler takes it for an object of size 0 otherwise */
    known.seed = place;
    place += SEED_LEN;
    known.started = 0;
    for (int byte = 0; byte < 8; byte++)
        known.started = known.started << 8 | *place++;
    item(&place); /* the settings */
    known.ca = item(&place);
    if (known.ca.len > 0)
        item(&place); /* it is empty, as the item behind the chain is */
    known.chain[0] = item(&place);
    known.chain[1] = known.chain[0];
    if (known.chain[0].len > 0) {
        known.chain[1] = item(&place);
        item(&place);
    }
    known.key = item(&place);
    known.psk_identity = item(&place);
    known.psk = item(&place);
    return known;
}

uint32_t device_milliseconds(void) {
    return (UINT32_MAX - REGISTER(TIMER1 + VALUE)) / TICKS_PER_MILLISECOND;
}

uint64_t device_time(void) {
    return device_known().started + device_milliseconds() / 1000;
}

int device_receive(unsigned char *to, size_t len) {
    size_t received = 0;
    while (received < len && (REGISTER(UART1 + STATE) & RX_FULL))
        to[received++] = (unsigned char) REGISTER(UART1 + DATA);
    return (int) received;
}

int device_send(const unsigned char *from, size_t len) {
    for (size_t sent = 0; sent < len; sent++) {
        while (REGISTER(UART1 + STATE) & TX_FULL) {
        }
        REGISTER(UART1 + DATA) = from[sent];
    }
    return (int) len;
}
