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

/* Writes a line to standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a line to standard error and ends the program: it was used wrongly, or this library lacks what was asked for. */
void refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void say_hex(const char *what, const unsigned char *bytes, size_t len);

/* Returns the contents of a file, which are never freed. */
unsigned char *contents(const char *path, size_t *len);

/* Writes application data that has arrived to standard output. */
void deliver(const void *data, size_t len);

/* Returns a socket that others can connect or send to, and prints its port. */
int listening(void);

/* Returns the blocking socket of the next connection, ours or that of the next peer at `listener`. */
int connected(int listener);

/* Each library implements the functions whose names begin with `library_`; peer.c has all others. */

enum reading { READ_NOTHING = 0, READ_CLOSED = -1, READ_FAILED = -2 };

/* Returns the library's name and version. */
const char *library_version(void);

/* Sets the library up. It is called once, when all options are known. */
void library_setup(void);

/* Makes a handshake on a blocking socket. Returns whether it succeeded, and prints what was agreed on or why it failed. With
 * `again`, the session of the connection before may be resumed. */
int library_handshake(int socket, int again);

/* Reads data from a socket that does not block. Returns how many bytes, or why there are none. */
int library_read(void *buffer, size_t room);

/* Returns in how many milliseconds the library wants to send something again if nothing comes, or -1 for never. It is called
 * with datagrams alone, and once the handshake is complete. */
int library_timeout(void);

/* Tells the library that this time is over. */
void library_timed_out(void);

/* Sends application data. Returns whether everything was sent. */
int library_write(const void *data, size_t len);

/* Sends close_notify. */
void library_close(void);

/* Replaces the sending key, and asks the peer to replace its own. */
void library_update_keys(void);

/* Ends a connection that is over, and keeps its session. */
void library_end(void);

/* Waits until the socket can be read, or written. */
void wait_for_socket(int socket, int to_write);

#endif
