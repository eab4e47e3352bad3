// An image for a Cortex-M4 without an operating system: a client and a server connect in memory over DTLS 1.3 with a pre-shared key, twice,
// and say how much memory it took. It runs in QEMU:
//
//   qemu-system-arm -M mps2-an386 -nographic -semihosting-config enable=on,target=native -kernel loopback.elf
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terse.h"

static uint8_t memory[64 * 1024];

// A device has a generator in hardware. This one is none: it shows what calls what, and protects nothing.
static int32_t count(void *context, uint8_t *out, size_t len) {
    uint32_t *state = context;
    for (size_t i = 0; i < len; i++) {
        *state = *state * 1664525 + 1013904223;
        out[i] = (uint8_t)(*state >> 24);
    }
    return TERSE_CALLBACK_DONE;
}

static void stop(void *context, const char *file, size_t file_len, uint32_t line) {
    (void)context;
    printf("panic at %.*s:%u\n", (int)file_len, file, (unsigned)line);
    exit(1);
}

static void require(terse_result result) {
    if (result != TERSE_OK) {
        printf("%s\n", terse_error_name(result));
        exit(1);
    }
}

static const terse_time now = {.monotonic_ms = 1, .unix_seconds = 0};

static terse_config_builder *settings(void) {
    static uint32_t state = 1;
    static const uint8_t key[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    terse_config_builder *builder = terse_config_builder_new_p256();
    require(terse_config_builder_random(builder, count, &state));
    require(terse_config_builder_versions(builder, TERSE_VERSION_1_3, TERSE_VERSION_1_3));
    require(terse_config_builder_datagrams(builder, 1232, 0));
    require(terse_config_builder_limits(builder, 2048, 1024, 1024));
    require(terse_config_builder_psk(builder, (const uint8_t *)"sensor17", 8, key, sizeof key));
    return builder;
}

// Carries what one side has to send to the other. Returns whether there was something.
static bool carry(terse_connection *from, terse_connection *to) {
    static uint8_t datagram[1232];
    size_t len = 0, taken = 0;
    require(terse_poll_transmit(from, &now, datagram, sizeof datagram, &len));
    if (len == 0) {
        return false;
    }
    require(terse_handle_input(to, &now, datagram, len, &taken));
    return true;
}

static void connect(const terse_client_config *client_config, const terse_server_config *server_config) {
    terse_connection *client = NULL, *server = NULL;
    require(terse_connection_new_client(client_config, "broker.example", 5684, &now, &client));
    require(terse_connection_new_server(server_config, &now, &server));
    while (carry(client, server) || carry(server, client)) {
    }
    uint8_t data[16];
    size_t len = 0;
    require(terse_send(client, (const uint8_t *)"22.5 C", 6, &len));
    while (carry(client, server)) {
    }
    require(terse_recv(server, data, sizeof data, &len));
    if (len != 6 || memcmp(data, "22.5 C", 6) != 0) {
        printf("the data did not arrive\n");
        exit(1);
    }
    size_t used = 0;
    require(terse_memory(&used, NULL));
    printf("connected, %u bytes of memory in use\n", (unsigned)used);
    terse_connection_free(client);
    terse_connection_free(server);
}

int main(void) {
    const terse_firmware firmware = {.panic = stop};
    require(terse_init(memory, sizeof memory, &firmware));
    size_t before = 0, after = 0;
    require(terse_memory(&before, NULL));
    terse_client_config *client = NULL;
    terse_server_config *server = NULL;
    terse_config_builder *builder = settings();
    require(terse_config_builder_build_client(builder, &client));
    require(terse_config_builder_build_server(builder, &server));
    terse_config_builder_free(builder);
    connect(client, server);
    connect(client, server);
    terse_client_config_free(client);
    terse_server_config_free(server);
    require(terse_memory(&after, NULL));
    if (after != before) {
        printf("%u bytes were not given back\n", (unsigned)(after - before));
        return 1;
    }
    printf("ok\n");
    return 0;
}
