// A device that reports to a server over DTLS 1.3. See device.h.
#include "device.h"

#include <string.h>

// What one connection works with. One task reports at a time: the buffers are its own.
struct report {
    terse_connection *connection;
    const struct device_socket *socket;
    uint64_t until_ms;
    bool is_connected, peer_closed;
    // What was received and not taken yet: input[begin..end].
    size_t begin, end;
    uint8_t input[DEVICE_MAX_DATAGRAM + 16], output[DEVICE_MAX_DATAGRAM];
};

static terse_result add_settings(terse_config_builder *builder, const struct device_identity *identity,
                                 const struct device_system *system) {
    terse_result result = terse_config_builder_random(builder, system->random, system->context);
    if (result == TERSE_OK) {
        result = terse_config_builder_clock(builder, system->clock, system->context);
    }
    if (result == TERSE_OK) {
        result = terse_config_builder_versions(builder, TERSE_VERSION_1_3, TERSE_VERSION_1_3);
    }
    if (result == TERSE_OK) {
        result = terse_config_builder_datagrams(builder, DEVICE_MAX_DATAGRAM, 0);
    }
    if (result == TERSE_OK) {
        result = terse_config_builder_limits(builder, 2048, 1024, 1024);
    }
    if (result == TERSE_OK) {
        result = terse_config_builder_trust(builder, identity->ca, identity->ca_len);
    }
    if (result == TERSE_OK) {
        result = terse_config_builder_credential(builder, identity->chain, identity->chain_len, identity->key,
                                                 identity->key_len);
    }
    return result;
}

terse_result device_configure(const struct device_identity *identity, const struct device_system *system,
                              terse_client_config **config) {
    *config = NULL;
    terse_client_store *store = NULL;
    terse_config_builder *builder = terse_config_builder_new_p256();
    terse_result result = add_settings(builder, identity, system);
    if (result == TERSE_OK) {
        result = terse_client_store_new(1, system->store, &store);
    }
    if (result == TERSE_OK) {
        result = terse_config_builder_client_store(builder, store, TERSE_USE_CACHE);
    }
    if (result == TERSE_OK) {
        result = terse_config_builder_build_client(builder, config);
    }
    terse_client_store_free(store);
    terse_config_builder_free(builder);
    return result;
}

// Sends what waits to be sent.
static terse_result flush(struct report *report) {
    for (;;) {
        size_t len = 0;
        terse_result result = terse_poll_transmit(report->connection, NULL, report->output, sizeof report->output, &len);
        if (result != TERSE_OK || len == 0) {
            return result;
        }
        report->socket->send(report->socket->context, report->output, len);
    }
}

// Writes how long to wait for a datagram. Ends the connection when its time is over.
static terse_result time_to_wait(struct report *report, uint32_t *wait_ms) {
    terse_time now;
    terse_result result = terse_now(report->connection, &now);
    if (result != TERSE_OK) {
        return result;
    }
    if (now.monotonic_ms >= report->until_ms) {
        result = terse_give_up(report->connection, NULL);
        return result != TERSE_OK ? result : TERSE_ERROR_TIMED_OUT;
    }
    uint64_t at_ms = report->until_ms;
    uint64_t timer_ms = 0;
    if (terse_poll_timeout(report->connection, &timer_ms) && timer_ms < at_ms) {
        at_ms = timer_ms;
    }
    *wait_ms = at_ms > now.monotonic_ms ? (uint32_t)(at_ms - now.monotonic_ms) : 0;
    return TERSE_OK;
}

static void take_events(struct report *report) {
    for (;;) {
        switch (terse_poll_event(report->connection)) {
        case TERSE_EVENT_CONNECTED:
            report->is_connected = true;
            break;
        case TERSE_EVENT_PEER_CLOSED:
            report->peer_closed = true;
            break;
        default: // the key is here: no signature is waited for
            return;
        }
    }
}

// Waits for a datagram, or for the timer.
static terse_result wait_for_input(struct report *report) {
    uint32_t wait_ms = 0;
    terse_result result = time_to_wait(report, &wait_ms);
    if (result != TERSE_OK) {
        return result;
    }
    report->begin = 0;
    report->end = report->socket->receive(report->socket->context, report->input, sizeof report->input, wait_ms);
    return report->end > 0 ? TERSE_OK : terse_handle_timeout(report->connection, NULL);
}

// Handles what comes next: a datagram or the rest of one, or a timer.
static terse_result step(struct report *report) {
    terse_result result = flush(report);
    if (result == TERSE_OK && report->begin == report->end) {
        result = wait_for_input(report);
    }
    if (result == TERSE_OK && report->begin < report->end) {
        size_t taken = 0;
        result = terse_handle_input(report->connection, NULL, report->input + report->begin, report->end - report->begin, &taken);
        report->begin += taken;
    }
    take_events(report);
    terse_result sent = flush(report); // after a failure, too: an alert may wait
    return result != TERSE_OK ? result : sent;
}

static terse_result exchange(struct report *report, const uint8_t *reading, size_t len, uint8_t *answer, size_t capacity,
                             size_t *answer_len) {
    terse_result result = TERSE_OK;
    while (result == TERSE_OK && !report->is_connected) {
        result = step(report);
    }
    size_t taken = 0;
    if (result == TERSE_OK) {
        result = terse_send(report->connection, reading, len, &taken);
    }
    while (result == TERSE_OK) {
        result = terse_recv(report->connection, answer, capacity, answer_len);
        if (result != TERSE_OK || *answer_len > 0 || report->peer_closed) {
            break;
        }
        result = step(report);
    }
    if (result == TERSE_OK) {
        result = terse_close(report->connection);
    }
    terse_result sent = flush(report);
    return result != TERSE_OK ? result : sent;
}

terse_result device_report(const terse_client_config *config, const struct device_socket *socket, const char *server, uint16_t port,
                           const uint8_t *reading, size_t len, uint8_t *answer, size_t capacity, size_t *answer_len,
                           uint32_t limit_ms) {
    static struct report report; // in no task's stack
    *answer_len = 0;
    memset(&report, 0, sizeof report);
    report.socket = socket;
    terse_result result = terse_connection_new_client(config, server, port, NULL, &report.connection);
    terse_time now;
    if (result == TERSE_OK) {
        result = terse_now(report.connection, &now);
    }
    if (result == TERSE_OK) {
        report.until_ms = now.monotonic_ms + limit_ms;
        result = exchange(&report, reading, len, answer, capacity, answer_len);
    }
    terse_connection_free(report.connection);
    return result;
}
