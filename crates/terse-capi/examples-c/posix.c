// The connection of terse.h on sockets of POSIX. See posix.h.
#define _POSIX_C_SOURCE 200809L

#include "posix.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The socket has failed, as errno says.
#define SOCKET_FAILED (-1)

// How long a peer may take for the handshake.
#define HANDSHAKE_LIMIT_MS 60000

void link_begin(struct link *link, terse_connection *connection, int socket, bool is_datagram) {
    memset(link, 0, sizeof *link);
    link->connection = connection;
    link->socket = socket;
    link->is_datagram = is_datagram;
}

// Sends what waits to be sent.
static terse_result flush(struct link *link) {
    unsigned char out[4096];
    for (;;) {
        size_t len = 0;
        terse_result result = terse_poll_transmit(link->connection, NULL, out, sizeof out, &len);
        if (result != TERSE_OK || len == 0) {
            return result;
        }
        for (size_t sent = 0; sent < len;) {
            ssize_t count = send(link->socket, out + sent, len - sent, MSG_NOSIGNAL);
            if (count >= 0) {
                sent += (size_t)count;
            } else if (link->is_datagram && errno != EINTR) {
                break; // as if the datagram were lost
            } else if (errno != EINTR) {
                return SOCKET_FAILED;
            }
        }
    }
}

// Answers the connection's request for a signature: the command gets the message, and prints the signature.
static terse_result sign(struct link *link) {
    terse_signature_request request;
    terse_result result = terse_pending_signature(link->connection, &request);
    if (result != TERSE_OK) {
        return result;
    }
    char path[] = "/tmp/terse-sign-XXXXXX";
    int file = mkstemp(path);
    bool is_written = file >= 0 && write(file, request.message, request.message_len) == (ssize_t)request.message_len;
    if (file >= 0) {
        close(file);
    }
    char command[512];
    snprintf(command, sizeof command, "%s %s", link->signer != NULL ? link->signer : "false", path);
    unsigned char signature[1024];
    size_t len = 0;
    FILE *output = is_written ? popen(command, "r") : NULL;
    if (output != NULL) {
        len = fread(signature, 1, sizeof signature, output);
        pclose(output);
    }
    unlink(path);
    return terse_provide_signature(link->connection, NULL, len > 0 ? signature : NULL, len);
}

static terse_result take_events(struct link *link) {
    for (;;) {
        terse_result result = TERSE_OK;
        switch (terse_poll_event(link->connection)) {
        case TERSE_EVENT_NONE:
            return TERSE_OK;
        case TERSE_EVENT_CONNECTED:
            link->is_connected = true;
            break;
        case TERSE_EVENT_NEED_SIGNATURE:
            result = sign(link);
            break;
        case TERSE_EVENT_PEER_CLOSED:
            link->peer_closed = true;
            break;
        }
        if (result != TERSE_OK) {
            return result;
        }
    }
}

// Waits until something can be read, or for the connection's timer. Returns a number above 0 in the first case.
static int wait_for_input(struct link *link) {
    uint64_t at_ms = 0;
    int timeout = 1000; // so that limits are looked at
    if (terse_poll_timeout(link->connection, &at_ms)) {
        terse_time now;
        if (terse_now(link->connection, &now) != TERSE_OK) {
            return SOCKET_FAILED;
        }
        uint64_t left = at_ms > now.monotonic_ms ? at_ms - now.monotonic_ms : 0;
        timeout = left > 1000 ? 1000 : (int)left;
    }
    struct pollfd readable = {.fd = link->socket, .events = POLLIN, .revents = 0};
    int count = poll(&readable, 1, timeout);
    return count < 0 && errno == EINTR ? 0 : count;
}

static terse_result read_input(struct link *link) {
    ssize_t count = recv(link->socket, link->input, sizeof link->input, 0);
    if (count < 0) {
        // Over datagrams, the network may say that a datagram has reached nobody, which a timer deals with.
        return errno == EINTR || link->is_datagram ? TERSE_OK : SOCKET_FAILED;
    }
    if (count == 0 && !link->is_datagram) {
        link->peer_closed = true;
        return terse_handle_end_of_input(link->connection, NULL);
    }
    link->begin = 0;
    link->end = (size_t)count;
    return TERSE_OK;
}

static terse_result take_input(struct link *link) {
    size_t taken = 0;
    terse_result result =
        terse_handle_input(link->connection, NULL, link->input + link->begin, link->end - link->begin, &taken);
    link->begin += taken;
    return result;
}

// Handles what comes next: input, or a timer.
static terse_result step(struct link *link) {
    terse_result result = flush(link);
    if (result == TERSE_OK && link->begin == link->end) {
        int count = wait_for_input(link);
        if (count < 0) {
            return SOCKET_FAILED;
        }
        result = count > 0 ? read_input(link) : terse_handle_timeout(link->connection, NULL);
    }
    if (result == TERSE_OK && link->begin < link->end) {
        result = take_input(link);
    }
    if (result == TERSE_OK) {
        result = take_events(link);
    }
    terse_result sent = flush(link); // after a failure, too: an alert may wait
    return result != TERSE_OK ? result : sent;
}

terse_result link_handshake(struct link *link) {
    terse_time begun, now;
    terse_result result = terse_now(link->connection, &begun);
    while (result == TERSE_OK && !link->is_connected) {
        result = step(link);
        if (result == TERSE_OK) {
            result = terse_now(link->connection, &now);
        }
        if (result == TERSE_OK && now.monotonic_ms - begun.monotonic_ms > HANDSHAKE_LIMIT_MS) {
            result = terse_give_up(link->connection, NULL);
            (void)flush(link); // an alert for a peer that is not there
            return result != TERSE_OK ? result : TERSE_ERROR_TIMED_OUT;
        }
    }
    return result;
}

terse_result link_receive(struct link *link, unsigned char *out, size_t capacity, size_t *len) {
    for (;;) {
        terse_result result = terse_recv(link->connection, out, capacity, len);
        if (result != TERSE_OK || *len > 0 || link->peer_closed) {
            return result;
        }
        result = step(link);
        if (result != TERSE_OK) {
            return result;
        }
    }
}

terse_result link_send(struct link *link, const unsigned char *data, size_t len) {
    while (len > 0) {
        size_t taken = 0;
        terse_result result = terse_send(link->connection, data, len, &taken);
        if (result == TERSE_OK) {
            result = flush(link);
        }
        if (result != TERSE_OK) {
            return result;
        }
        data += taken;
        len -= taken;
    }
    return TERSE_OK;
}

terse_result link_close(struct link *link) {
    terse_result result = terse_close(link->connection);
    return result != TERSE_OK ? result : flush(link);
}

void link_explain(const struct link *link, terse_result result) {
    if (result == SOCKET_FAILED) {
        perror("the socket has failed");
        return;
    }
    char text[300] = "";
    if (terse_connection_message(link->connection, text, sizeof text, NULL) != TERSE_OK) {
        text[0] = '\0';
    }
    const char *name = terse_error_name(result);
    int32_t alert = terse_connection_alert(link->connection);
    fprintf(stderr, "%s (alert %ld): %s\n", name != NULL ? name : "unknown error", (long)alert, text);
}

void link_report(const struct link *link) {
    static const char *const modes[] = {"full", "rfc7924", "bithac", "compact", "resumed", "psk"};
    terse_summary summary;
    char peer[300] = "";
    if (terse_connection_summary(link->connection, &summary, sizeof summary) != TERSE_OK ||
        terse_connection_peer_name(link->connection, peer, sizeof peer, NULL) != TERSE_OK) {
        return;
    }
    printf("%sTLS 1.%d suite=0x%04x mode=%s sent=%llu received=%llu verified=%u peer=%s\n", summary.is_datagram ? "D" : "",
           summary.version - 0x0301, summary.cipher_suite, summary.mode < 6 ? modes[summary.mode] : "other",
           (unsigned long long)summary.sent_bytes, (unsigned long long)summary.received_bytes,
           (unsigned)summary.signatures_verified, peer[0] != '\0' ? peer : "nobody");
    fflush(stdout);
}

unsigned char *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    unsigned char *contents = malloc(65536);
    if (file == NULL || contents == NULL) {
        perror(path);
        exit(2);
    }
    *len = fread(contents, 1, 65536, file);
    fclose(file);
    return contents;
}

void require(terse_config_builder *builder, terse_result result) {
    if (result == TERSE_OK) {
        return;
    }
    char text[300] = "";
    if (terse_config_builder_message(builder, text, sizeof text, NULL) != TERSE_OK) {
        text[0] = '\0';
    }
    fprintf(stderr, "%s: %s\n", terse_error_name(result), text);
    exit(2);
}

// The signer of the key: it always answers later, as one does that asks a secure element over a bus.
static int32_t sign_later(void *context, uint16_t scheme, const uint8_t *message, size_t message_len, uint8_t *signature,
                          size_t capacity, size_t *signature_len) {
    (void)context, (void)scheme, (void)message, (void)message_len, (void)signature, (void)capacity, (void)signature_len;
    return TERSE_CALLBACK_PENDING;
}

void set_credentials(terse_config_builder *builder, const char *ca, const char *chain, const char *key, const char *signer) {
    size_t len = 0, key_len = 0;
    if (ca != NULL) {
        unsigned char *contents = read_file(ca, &len);
        require(builder, terse_config_builder_trust(builder, contents, len));
        free(contents);
    }
    if (chain == NULL) {
        return;
    }
    unsigned char *contents = read_file(chain, &len);
    if (signer != NULL) {
        const uint16_t ecdsa_secp256r1_sha256 = 0x0403;
        terse_signer callbacks = {.context = NULL, .sign = sign_later, .schemes = &ecdsa_secp256r1_sha256, .schemes_len = 1};
        require(builder, terse_config_builder_credential_signer(builder, contents, len, &callbacks));
    } else if (key != NULL) {
        unsigned char *secret = read_file(key, &key_len);
        require(builder, terse_config_builder_credential(builder, contents, len, secret, key_len));
        memset(secret, 0, key_len);
        free(secret);
    }
    free(contents);
}

// Writes the path of the file for a key: its bytes in hexadecimal digits.
static void path_of(char *path, size_t capacity, const char *directory, const uint8_t *key, size_t key_len) {
    int used = snprintf(path, capacity, "%s/", directory);
    for (size_t i = 0; i < key_len && (size_t)used + 3 < capacity; i++) {
        used += snprintf(path + used, capacity - (size_t)used, "%02x", key[i]);
    }
}

static int32_t load(void *directory, const uint8_t *key, size_t key_len, uint8_t *value, size_t capacity, size_t *value_len) {
    char path[512];
    path_of(path, sizeof path, directory, key, key_len);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return errno == ENOENT ? TERSE_CALLBACK_NOT_FOUND : TERSE_CALLBACK_FAILED;
    }
    *value_len = fread(value, 1, capacity, file);
    bool is_whole = fgetc(file) == EOF && !ferror(file);
    fclose(file);
    return is_whole ? TERSE_CALLBACK_DONE : TERSE_CALLBACK_FAILED;
}

static int32_t save(void *directory, const uint8_t *key, size_t key_len, const uint8_t *value, size_t value_len) {
    char path[512], new_path[520];
    path_of(path, sizeof path, directory, key, key_len);
    snprintf(new_path, sizeof new_path, "%s.new", path);
    FILE *file = fopen(new_path, "wb");
    if (file == NULL) {
        return TERSE_CALLBACK_FAILED;
    }
    bool is_written = fwrite(value, 1, value_len, file) == value_len && fflush(file) == 0 && fsync(fileno(file)) == 0;
    fclose(file);
    // The file has the old value or the new one, whenever the power fails.
    return is_written && rename(new_path, path) == 0 ? TERSE_CALLBACK_DONE : TERSE_CALLBACK_FAILED;
}

static int32_t forget(void *directory, const uint8_t *key, size_t key_len) {
    char path[512];
    path_of(path, sizeof path, directory, key, key_len);
    if (unlink(path) == 0) {
        return TERSE_CALLBACK_DONE;
    }
    return errno == ENOENT ? TERSE_CALLBACK_NOT_FOUND : TERSE_CALLBACK_FAILED;
}

terse_store_callbacks directory_store(const char *directory) {
    terse_store_callbacks callbacks = {
        .context = (void *)(uintptr_t)directory, .load = load, .save = save, .remove = forget, .max_value = 0};
    return callbacks;
}
