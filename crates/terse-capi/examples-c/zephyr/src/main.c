// A Zephyr application that reports to a server over DTLS 1.3, on a UDP socket of Zephyr, and keeps what it learned of the server in
// Zephyr's settings. See the README in this directory.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <zephyr/kernel.h>
#include <zephyr/net/socket.h>
#include <zephyr/random/random.h>
#include <zephyr/settings/settings.h>
#include <zephyr/sys/reboot.h>

#include "device.h"
#include "identity.h" // device_ca, device_chain, device_key: made for each device

#define SERVER "broker.plant.example"
#define PORT 5684

// All memory of the library.
static uint8_t memory[48 * 1024];

K_MUTEX_DEFINE(memory_mutex);

static void lock_memory(void *context) {
    (void)k_mutex_lock(context, K_FOREVER);
}

static void unlock_memory(void *context) {
    (void)k_mutex_unlock(context);
}

static void stop(void *context, const char *file, size_t file_len, uint32_t line) {
    (void)context;
    printk("terse: %.*s:%u\n", (int)file_len, file, (unsigned int)line);
    sys_reboot(SYS_REBOOT_COLD);
}

static int32_t fill_random(void *context, uint8_t *out, size_t len) {
    (void)context;
    return sys_csrand_get(out, len) == 0 ? TERSE_CALLBACK_DONE : TERSE_CALLBACK_FAILED;
}

// The seconds between 1970 and the start of this device, which the network tells it (SNTP); 0 while it does not know.
static uint64_t started_unix;

static void tell_time(void *context, terse_time *time) {
    (void)context;
    time->monotonic_ms = (uint64_t)k_uptime_get();
    time->unix_seconds = started_unix > 0 ? started_unix + time->monotonic_ms / 1000 : 0;
}

// A value of the store, under "terse/" and its key in hexadecimal digits.
static void name_of(char name[48], const uint8_t *key, size_t key_len) {
    int used = snprintf(name, 48, "terse/");
    for (size_t i = 0; i < key_len && used < 46; i++) {
        used += snprintf(name + used, (size_t)(48 - used), "%02x", key[i]);
    }
}

struct loaded {
    uint8_t *value;
    size_t capacity;
    ssize_t len; // below 0 if there is none, or it is longer than there is room
};

static int take_value(const char *key, size_t len, settings_read_cb read, void *read_context, void *param) {
    struct loaded *loaded = param;
    (void)key;
    if (len <= loaded->capacity) {
        loaded->len = read(read_context, loaded->value, len);
    }
    return 0;
}

static int32_t load(void *context, const uint8_t *key, size_t key_len, uint8_t *value, size_t capacity, size_t *value_len) {
    char name[48];
    struct loaded loaded = {.value = value, .capacity = capacity, .len = -1};
    (void)context;
    name_of(name, key, key_len);
    if (settings_load_subtree_direct(name, take_value, &loaded) != 0) {
        return TERSE_CALLBACK_FAILED;
    }
    if (loaded.len < 0) {
        return TERSE_CALLBACK_NOT_FOUND;
    }
    *value_len = (size_t)loaded.len;
    return TERSE_CALLBACK_DONE;
}

static int32_t save(void *context, const uint8_t *key, size_t key_len, const uint8_t *value, size_t value_len) {
    char name[48];
    (void)context;
    name_of(name, key, key_len);
    return settings_save_one(name, value, value_len) == 0 ? TERSE_CALLBACK_DONE : TERSE_CALLBACK_FAILED;
}

static int32_t forget(void *context, const uint8_t *key, size_t key_len) {
    char name[48];
    (void)context;
    name_of(name, key, key_len);
    return settings_delete(name) == 0 ? TERSE_CALLBACK_DONE : TERSE_CALLBACK_FAILED;
}

static void send_datagram(void *context, const uint8_t *data, size_t len) {
    (void)zsock_send(*(const int *)context, data, len, 0);
}

static size_t receive_datagram(void *context, uint8_t *data, size_t capacity, uint32_t timeout_ms) {
    const int *server = context;
    struct zsock_pollfd readable = {.fd = *server, .events = ZSOCK_POLLIN};
    if (zsock_poll(&readable, 1, timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms) <= 0) {
        return 0;
    }
    ssize_t len = zsock_recv(*server, data, capacity, 0);
    return len > 0 ? (size_t)len : 0;
}

// Returns a socket that is connected to the server, or a number below 0.
static int connect_to_server(void) {
    const struct zsock_addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct zsock_addrinfo *found = NULL;
    if (zsock_getaddrinfo(SERVER, STRINGIFY(PORT), &hints, &found) != 0) {
        return -1;
    }
    int server = zsock_socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (server >= 0 && zsock_connect(server, found->ai_addr, found->ai_addrlen) != 0) {
        (void)zsock_close(server);
        server = -1;
    }
    zsock_freeaddrinfo(found);
    return server;
}

static void report_once(const terse_client_config *config) {
    static const uint8_t reading[] = "22.5 C";
    uint8_t answer[64];
    size_t answer_len = 0;
    int server = connect_to_server();
    if (server < 0) {
        printk("no way to the server\n");
        return;
    }
    const struct device_socket socket = {.context = &server, .send = send_datagram, .receive = receive_datagram};
    terse_result result = device_report(config, &socket, SERVER, PORT, reading, sizeof reading - 1, answer, sizeof answer,
                                        &answer_len, 60000);
    printk("report: %s\n", terse_error_name(result));
    (void)zsock_close(server);
}

int main(void) {
    const terse_firmware firmware = {
        .context = &memory_mutex, .lock = lock_memory, .unlock = unlock_memory, .panic = stop};
    const terse_store_callbacks store = {.load = load, .save = save, .remove = forget, .max_value = 1024};
    const struct device_system system = {.random = fill_random, .clock = tell_time, .store = &store};
    const struct device_identity identity = {
        .ca = device_ca, .ca_len = sizeof device_ca, .chain = device_chain, .chain_len = sizeof device_chain,
        .key = device_key, .key_len = sizeof device_key};
    terse_client_config *config = NULL;

    if (settings_subsys_init() != 0 || terse_init(memory, sizeof memory, &firmware) != TERSE_OK) {
        return -EIO;
    }
    terse_result result = device_configure(&identity, &system, &config);
    if (result != TERSE_OK) {
        printk("configuration: %s\n", terse_error_name(result));
        return -EINVAL;
    }
    for (;;) {
        report_once(config);
        k_sleep(K_MINUTES(10));
    }
}
