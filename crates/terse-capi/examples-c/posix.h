// What the example client and server have in common: a connection on a socket of POSIX, files, a store in a directory, and a signer that is
// another program.
#ifndef TERSE_EXAMPLE_POSIX_H
#define TERSE_EXAMPLE_POSIX_H

#include <stdbool.h>
#include <stddef.h>

#include "terse.h"

// A connection on a socket.
struct link {
    terse_connection *connection;
    int socket;
    bool is_datagram;
    bool is_connected;
    bool peer_closed;
    // What was received and not taken yet: input[begin..end].
    size_t begin, end;
    unsigned char input[16 * 1024];
    // The command that signs, for keys outside of the program, or NULL.
    const char *signer;
};

// Prepares a link. The connection and the socket stay the caller's.
void link_begin(struct link *link, terse_connection *connection, int socket, bool is_datagram);

// Completes the handshake, or gives up after a minute. Like the functions below it returns 0 or a value of enum terse_error, or -1 if the socket has failed.
terse_result link_handshake(struct link *link);

// Waits for data. No data means that the peer has closed.
terse_result link_receive(struct link *link, unsigned char *out, size_t capacity, size_t *len);

// Sends all of the data.
terse_result link_send(struct link *link, const unsigned char *data, size_t len);

// Tells the peer that no more data follows.
terse_result link_close(struct link *link);

// Prints why a link has failed.
void link_explain(const struct link *link, terse_result result);

// Prints what the handshake took, in one line.
void link_report(const struct link *link);

// Reads a file whole; exits if it cannot. The caller frees it.
unsigned char *read_file(const char *path, size_t *len);

// Exits with the builder's reason unless the result is 0.
void require(terse_config_builder *builder, terse_result result);

// Gives the builder a CA file, and a chain with its key, or with the command that signs. Each file may be NULL.
void set_credentials(terse_config_builder *builder, const char *ca, const char *chain, const char *key, const char *signer);

// Returns callbacks that keep values in files of a directory, which must exist.
terse_store_callbacks directory_store(const char *directory);

#endif
