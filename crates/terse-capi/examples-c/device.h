// A device that reports to a server over DTLS 1.3: the part that is the same on every operating system. See zephyr/ and freertos/.
#ifndef TERSE_EXAMPLE_DEVICE_H
#define TERSE_EXAMPLE_DEVICE_H

#include "terse.h"

// The longest datagram that is sent: what IPv6 over IEEE 802.15.4 carries without losing much to fragments, and all that Ethernet needs.
#define DEVICE_MAX_DATAGRAM 1232

// Who the device is and whom it trusts, in PEM or DER. All of it is copied.
struct device_identity {
    const uint8_t *ca, *chain, *key;
    size_t ca_len, chain_len, key_len;
};

// What the device has of its operating system.
struct device_system {
    terse_random random;
    terse_clock clock;
    void *context;
    // Where it keeps what it learned of its server; NULL to keep it in memory.
    const terse_store_callbacks *store;
};

// A UDP socket that is connected to the server.
struct device_socket {
    void *context;
    // Sends a datagram. One that cannot be sent is lost, and sent again when its timer says so.
    void (*send)(void *context, const uint8_t *data, size_t len);
    // Waits for a datagram until timeout_ms have passed. Returns its length, or 0 if none came.
    size_t (*receive)(void *context, uint8_t *data, size_t capacity, uint32_t timeout_ms);
};

// Makes the configuration of the device, which lives as long as the program.
terse_result device_configure(const struct device_identity *identity, const struct device_system *system,
                              terse_client_config **config);

// Connects, sends the reading, waits for the answer, and closes; gives up after limit_ms. From the second connection on no certificates
// are sent. Writes the answer to answer, and its length to answer_len.
terse_result device_report(const terse_client_config *config, const struct device_socket *socket, const char *server, uint16_t port,
                           const uint8_t *reading, size_t len, uint8_t *answer, size_t capacity, size_t *answer_len,
                           uint32_t limit_ms);

#endif
