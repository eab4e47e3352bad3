// A FreeRTOS task that reports to a server over DTLS 1.3, on a UDP socket of lwIP. What it learned of the server stays in memory. See the
// README in this directory.
#include <string.h>

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "lwip/netdb.h"
#include "lwip/sockets.h"

#include "board.h"
#include "device.h"
#include "identity.h" // device_ca, device_chain, device_key: made for each device

#define SERVER "broker.plant.example"
#define PORT 5684
#define PORT_TEXT "5684"

// All memory of the library.
static uint8_t memory[48 * 1024];

// The stack of the task, in words of 4 bytes: the handshake's deepest call.
#define STACK_WORDS (24 * 1024 / 4)

static void lock_memory(void *mutex) {
    (void)xSemaphoreTake(mutex, portMAX_DELAY);
}

static void unlock_memory(void *mutex) {
    (void)xSemaphoreGive(mutex);
}

static void stop(void *context, const char *file, size_t file_len, uint32_t line) {
    (void)context, (void)file, (void)file_len, (void)line;
    board_reset();
}

static int32_t fill_random(void *context, uint8_t *out, size_t len) {
    (void)context;
    return board_random(out, len) ? TERSE_CALLBACK_DONE : TERSE_CALLBACK_FAILED;
}

// Called by the task that reports alone.
static void tell_time(void *context, terse_time *time) {
    static TickType_t last_ticks;
    static uint64_t ticks; // which never overflow
    (void)context;
    TickType_t now = xTaskGetTickCount();
    ticks += (TickType_t)(now - last_ticks);
    last_ticks = now;
    time->monotonic_ms = ticks * portTICK_PERIOD_MS;
    time->unix_seconds = board_unix_seconds();
}

static void send_datagram(void *context, const uint8_t *data, size_t len) {
    (void)lwip_send(*(const int *)context, data, len, 0);
}

static size_t receive_datagram(void *context, uint8_t *data, size_t capacity, uint32_t timeout_ms) {
    const int *server = context;
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(*server, &readable);
    struct timeval timeout = {.tv_sec = (long)(timeout_ms / 1000), .tv_usec = (long)(timeout_ms % 1000 * 1000)};
    if (lwip_select(*server + 1, &readable, NULL, NULL, &timeout) <= 0) {
        return 0;
    }
    ssize_t len = lwip_recv(*server, data, capacity, 0);
    return len > 0 ? (size_t)len : 0;
}

// Returns a socket that is connected to the server, or a number below 0.
static int connect_to_server(void) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    if (lwip_getaddrinfo(SERVER, PORT_TEXT, &hints, &found) != 0) {
        return -1;
    }
    int server = lwip_socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (server >= 0 && lwip_connect(server, found->ai_addr, found->ai_addrlen) != 0) {
        (void)lwip_close(server);
        server = -1;
    }
    lwip_freeaddrinfo(found);
    return server;
}

static void report_once(const terse_client_config *config) {
    static const uint8_t reading[] = "22.5 C";
    uint8_t answer[64];
    size_t answer_len = 0;
    int server = connect_to_server();
    if (server < 0) {
        return;
    }
    const struct device_socket socket = {.context = &server, .send = send_datagram, .receive = receive_datagram};
    terse_result result = device_report(config, &socket, SERVER, PORT, reading, sizeof reading - 1, answer, sizeof answer,
                                        &answer_len, 60000);
    board_log(terse_error_name(result));
    (void)lwip_close(server);
}

// The task.
static void report_for_ever(void *config) {
    for (;;) {
        report_once(config);
        vTaskDelay(pdMS_TO_TICKS(10 * 60 * 1000));
    }
}

// Called by the board's main, before the scheduler runs and with the network up from a task of its own.
void device_begin(void) {
    static StaticSemaphore_t mutex;
    static StaticTask_t task;
    static StackType_t stack[STACK_WORDS];
    const terse_firmware firmware = {
        .context = xSemaphoreCreateMutexStatic(&mutex), .lock = lock_memory, .unlock = unlock_memory, .panic = stop};
    const struct device_system system = {.random = fill_random, .clock = tell_time};
    const struct device_identity identity = {
        .ca = device_ca, .ca_len = sizeof device_ca, .chain = device_chain, .chain_len = sizeof device_chain,
        .key = device_key, .key_len = sizeof device_key};
    terse_client_config *config = NULL;

    terse_result result = terse_init(memory, sizeof memory, &firmware);
    if (result == TERSE_OK) {
        result = device_configure(&identity, &system, &config);
    }
    if (result != TERSE_OK) {
        board_log(terse_error_name(result));
        return;
    }
    (void)xTaskCreateStatic(report_for_ever, "report", STACK_WORDS, config, tskIDLE_PRIORITY + 1, stack, &task);
}
