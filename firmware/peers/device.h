/* The device of the peers' images: what is known to it is in a page of flash, the network is a UART. Nothing of that is known when
   an image is built, so that a compiler can leave nothing out. */
#include <stddef.h>
#include <stdint.h>

#define UART1 ((volatile uint32_t *) 0x40005000)

static inline int uart_receive(unsigned char *to, size_t len) {
    size_t received = 0;
    while (received < len && (UART1[1] & 2))
        to[received++] = (unsigned char) UART1[0];
    return (int) received;
}

static inline int uart_send(const unsigned char *from, size_t len) {
    for (size_t sent = 0; sent < len; sent++) {
        while (UART1[1] & 1) {
        }
        UART1[0] = from[sent];
    }
    return (int) len;
}

/* The items of the page: each behind its length in two bytes. */
static inline const unsigned char *item(const unsigned char **place, size_t *len) {
    const unsigned char *start = *place + 2;
    *len = (size_t) (*place)[0] << 8 | (*place)[1];
    *place = start + *len;
    return start;
}

#define PAGE ((const unsigned char *) 0x000ff000)

static inline uint32_t seconds(void) {
    return ((volatile uint32_t *) 0x40001000)[1];
}
