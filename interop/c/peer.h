/* A small client and server for one TLS library: what every program does, whichever library it is made with.
 *
 *     PROGRAM server|client [WORD=VALUE]...
 *     PROGRAM version
 *
 * Standard output is the application data that was received, and nothing else. Standard error says what happened, a
 * line for each event: `listening 4433`, `connected`, `version 1.3`, `resumed yes`, `alert received 40`. Standard input
 * is application data, but for lines that begin with an exclamation mark: `!close`, `!keys`.
 *
 * What must always hold: what is said has happened; a program ends when its connections have. */

#ifndef PEER_H
#define PEER_H

#include <stddef.h>

#define MOST 32

enum asks { ASKS_NO, ASKS_OPTIONAL, ASKS_REQUIRED };

/* Code points, as they are registered. */
struct list {
    unsigned values[MOST];
    int count;
};

/* What the command line asks for. */
struct options {
    int server;
    int port;                 /* to connect to */
    int connections;          /* one after the other; a client's later ones offer the session of the one before */
    const char *ca;           /* PEM files */
    const char *chain;
    const char *key;
    const char *raw_key;      /* SubjectPublicKeyInfo in DER: our own, instead of certificates */
    const char *peer_raw_key; /* the peer's, the only one that is believed */
    enum asks asks;
    int tls12;
    int tls13;
    struct list suites;
    struct list groups;
    struct list schemes;
    const char *name; /* the server's, which a client expects */
    int sends_name;
    const char *protocols; /* with commas */
    int fragment;          /* the code point of max_fragment_length */
    int tickets;
    int session_ids;
    int extended_master_secret;
    const char *identity;
    unsigned char psk[64];
    size_t psk_len;
    const char *early_data; /* a client's; a server's is anything, and lets it accept some */
    int cookie;
    const char *exporter; /* a label: 32 bytes of it */
    int datagrams;        /* DTLS */
    int datagram;         /* the longest to send, in bytes of payload */
    int connection_id;    /* how long our own is; -1: none is negotiated */
};

extern struct options options;

/* A line on standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and the end: wrong use, or no such thing in this library. */
void refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void say_hex(const char *what, const unsigned char *bytes, size_t len);

/* The contents of a file, which are never freed. */
unsigned char *contents(const char *path, size_t *len);

/* Application data that has come. */
void deliver(const void *data, size_t len);

/* A socket that others can connect or send to. Says where. */
int listening(void);

/* The next connection, ours or that of the next peer at `listener`. A socket that blocks. */
int connected(int listener);

/* What a library does. `library_` functions are the library's, everything else is peer.c's. */

enum reading { READ_NOTHING = 0, READ_CLOSED = -1, READ_FAILED = -2 };

/* Its name and version. */
const char *library_version(void);

/* Once, with all options known. */
void library_setup(void);

/* A handshake, on a socket that blocks. Whether it succeeded; says why it did not, and what was agreed on. `again`: the
 * session of the connection before may be resumed. */
int library_handshake(int socket, int again);

/* Data from a socket that does not block: how many bytes, or why none. */
int library_read(void *buffer, size_t room);

/* In how many milliseconds it wants to send something again if nothing comes; -1: never. Asked for with datagrams alone,
 * and once the handshake is complete. */
int library_timeout(void);

/* That time is over. */
void library_timed_out(void);

/* Whether everything was sent. */
int library_write(const void *data, size_t len);

/* Sends close_notify. */
void library_close(void);

/* Replaces the sending key, and asks for the same. */
void library_update_keys(void);

/* The connection is over. Its session is kept. */
void library_end(void);

/* Waits until the socket can be read, or written. */
void wait_for_socket(int socket, int to_write);

#endif
