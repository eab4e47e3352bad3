/* The device of the peers' images, which is that of `lean`: what is known to it is in a page of flash, the network is UART 1, and UART 0
   shows how a connection went. Nothing of that is known when an image is built, so that a compiler can leave nothing out. */
#include <stddef.h>
#include <stdint.h>

/* What the page has (firmware/device/src/known.rs), each with its length. */
struct bytes {
    const unsigned char *start;
    size_t len;
};
struct known {
    const unsigned char *seed; /* SEED_LEN bytes */
    uint64_t started;          /* the time of the start, in seconds since 1970 */
    struct bytes ca, chain[2], key, psk_identity, psk; /* the chain is the device's certificate and the one above it */
};
#define SEED_LEN 32

/* The name of the server, and what it sends back. */
#define SERVER "broker.example"
#define REQUEST "22.5 C"
#define REQUEST_LEN (sizeof REQUEST - 1)

struct known device_known(void);

/* Returns the milliseconds since the start, in the first three minutes. */
uint32_t device_milliseconds(void);

/* Returns the time in seconds since 1970. */
uint64_t device_time(void);

/* Takes what has come: 0 if nothing has. */
int device_receive(unsigned char *to, size_t len);
int device_send(const unsigned char *from, size_t len);

/* Connects once. Returns 0 if the server has sent the request back. Each peer has its own. */
int run(void);
