/* One TLS library, as the benchmarks use it: a client and a server over memory.
 *
 * Each library has a file with one `struct peer`, which is all that is seen from outside: `src/stacks/c.rs` has the
 * same structs in Rust. What must always hold: no call blocks; a pipe is read and written by no one else during a call. */

#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIPE_CAPACITY 65536

/* One direction of the wire: bytes from `start` to `end` wait to be read. Of datagrams, each has its length before it. */
struct pipe {
    unsigned char bytes[PIPE_CAPACITY];
    size_t start;
    size_t end;
    uint64_t total;
    size_t largest; /* datagram; 0: they are a stream */
};

/* The number of bytes of a datagram's length, which is in little endian. */
#define PREFIX 2

/* The largest datagram, in bytes, of libraries that can cut messages into fragments. */
#define MTU 1232

/* What both sides are made for. Texts are PEM, and end with a zero. */
struct settings {
    const char *name; /* the server's */
    const char *root;
    const char *chain[2]; /* the client's, the server's */
    const char *key[2];
    int tls13;
    int datagrams;
    int cookie;    /* the server of datagrams makes sure of the client's address; without one, in DTLS 1.3 */
    size_t mtu;    /* of those, the largest that either side sends: what cannot be cut takes up to MTU bytes */
    int rsa;
    int resumes; /* by session ID in (D)TLS 1.2, by ticket in (D)TLS 1.3; otherwise there are neither */
    /* The time in milliseconds. In memory it stands still, so that nothing runs out, however slow the machine. */
    int64_t (*now)(void);
};

enum { CLIENT, SERVER };

/* What `handshake` returns. */
enum { FAILED = -1, WAITS, DONE };

/* A time that never comes. */
#define NEVER INT64_MAX

struct peer {
    const char *(*version)(void);
    /* Configurations and trust for both sides, or NULL. They stay as long as the process. */
    void *(*world)(const struct settings *settings);
    /* One side of a new connection, or NULL. */
    void *(*connect)(void *world, int side);
    int (*handshake)(void *connection, struct pipe *in, struct pipe *out);
    /* Whether a finished handshake resumed a session. */
    int (*resumed)(void *connection);
    /* Returns how many bytes were read, which is 0 if there are none, or FAILED. */
    long (*read)(void *connection, struct pipe *in, struct pipe *out, void *buffer, size_t room);
    /* Writes all of it, or returns FAILED. */
    int (*write)(void *connection, struct pipe *in, struct pipe *out, const void *data, size_t len);
    /* When `expire` is to be called, unless something comes before, or NEVER. Both are NULL, and `mtu` is not looked at,
     * where the library has a clock of its own. */
    int64_t (*deadline)(void *connection);
    /* Does what is due. Returns FAILED if that fails, and any other value if not. */
    int (*expire)(void *connection, struct pipe *in, struct pipe *out);
    /* A client keeps its session first. */
    void (*end)(void *connection);
    /* Why the last call failed. */
    const char *(*error)(void);
};

__attribute__((visibility("default"))) extern const struct peer peer;

static char error_text[256];

static const char *last_error(void) {
    return error_text;
}

/* Prints the reason. The return value is for functions that fail with something else than DONE. */
__attribute__((unused)) static int failed(const char *what, long code, const char *text) {
    snprintf(error_text, sizeof error_text, "%s: %ld %s", what, code, text);
    return FAILED;
}

/* The client's address, for libraries that make their cookies from it. */
__attribute__((unused)) static const unsigned char client_address[6] = {192, 0, 2, 1, 0x16, 0x33};

/* The key with which the server makes cookies. */
__attribute__((unused)) static unsigned char cookie_secret[32] = "nobody else knows this, for sure";

/* Returns what can be read at once: all bytes of a stream, or one datagram. */
__attribute__((unused)) static unsigned char *pipe_peek(struct pipe *pipe, size_t *len) {
    unsigned char *start = pipe->bytes + pipe->start;
    *len = pipe->end - pipe->start;
    if (pipe->largest > 0 && *len > 0) {
        *len = start[0] | (size_t)start[1] << 8;
        start += PREFIX;
    }
    return start;
}

/* Reads bytes of a stream, or one datagram. The part of a datagram that does not fit is lost. */
__attribute__((unused)) static size_t pipe_read(struct pipe *pipe, void *buffer, size_t room) {
    size_t whole;
    const unsigned char *start = pipe_peek(pipe, &whole);
    size_t len = whole < room ? whole : room;
    memcpy(buffer, start, len);
    pipe->start = (size_t)(start - pipe->bytes) + (pipe->largest > 0 ? whole : len);
    if (pipe->start == pipe->end) {
        pipe->start = pipe->end = 0;
    }
    return len;
}

/* Writes all of it or nothing. */
__attribute__((unused)) static size_t pipe_write(struct pipe *pipe, const void *data, size_t len) {
    if (len + PREFIX > PIPE_CAPACITY - pipe->end || (pipe->largest > 0 && len > pipe->largest)) {
        return 0;
    }
    if (pipe->largest > 0) {
        pipe->bytes[pipe->end++] = (unsigned char)len;
        pipe->bytes[pipe->end++] = (unsigned char)(len >> 8);
    }
    memcpy(pipe->bytes + pipe->end, data, len);
    pipe->end += len;
    pipe->total += len;
    return len;
}

#endif
