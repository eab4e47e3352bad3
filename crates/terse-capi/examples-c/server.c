// A server: sends back what comes, to one client after the other.
//
//   server [-d] -c CHAIN (-k KEY | -S COMMAND) [-a CA] [-C] [-R] [-2] [-n COUNT] PORT
//
//   -d          DTLS over UDP, not TLS over TCP
//   -c, -k      files of the own chain and key
//   -S COMMAND  a command that signs, as for the client
//   -a CA       clients must have a certificate of one of the CAs in this file
//   -C          keep what was learned of clients: their next connection leaves the certificates out
//   -R          let clients resume sessions
//   -2          no version after 1.2
//   -n COUNT    end after so many clients
//
// It listens on 127.0.0.1. PORT 0 takes any port; the first line that it prints says which.
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "posix.h"

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static int listen_on(uint16_t port, bool is_datagram) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, is_datagram ? SOCK_DGRAM : SOCK_STREAM, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) != 0 ||
        (!is_datagram && listen(listener, 8) != 0) || getsockname(listener, (struct sockaddr *)&address, &len) != 0) {
        fail("cannot listen");
    }
    if (port == 0 && is_datagram) { // a port that the system has chosen is lost when a client goes
        close(listener);
        return listen_on(ntohs(address.sin_port), is_datagram);
    }
    printf("listening on %u\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

// Waits for a datagram that may begin a handshake, and makes the listener take datagrams of its sender only.
static void connect_to_next(int listener) {
    const unsigned char handshake = 22; // RFC 6347, 4.1: what is left of the client before is something else, most often
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_UNSPEC;
    if (connect(listener, (struct sockaddr *)&address, sizeof address) != 0) { // of the client before
        fail("connect");
    }
    socklen_t len = sizeof address;
    unsigned char first = 0;
    while (recvfrom(listener, &first, 1, MSG_PEEK, (struct sockaddr *)&address, &len) != 1 || first != handshake) {
        (void)recv(listener, &first, 1, 0);
        len = sizeof address;
    }
    if (connect(listener, (struct sockaddr *)&address, len) != 0) {
        fail("connect");
    }
}

// Returns a socket to the next client. Over datagrams it is the listener.
static int next_client(int listener, bool is_datagram) {
    if (is_datagram) {
        connect_to_next(listener);
        return listener;
    }
    int client = accept(listener, NULL, NULL);
    if (client < 0) {
        fail("accept");
    }
    return client;
}

static terse_result serve(struct link *link) {
    terse_result result = link_handshake(link);
    if (result != TERSE_OK) {
        return result;
    }
    link_report(link);
    while (result == TERSE_OK) {
        unsigned char data[1024];
        size_t len = 0;
        result = link_receive(link, data, sizeof data, &len);
        if (result != TERSE_OK || len == 0) {
            break;
        }
        result = link_send(link, data, len);
    }
    return result != TERSE_OK ? result : link_close(link);
}

int main(int argc, char **argv) {
    const char *ca = NULL, *chain = NULL, *key = NULL, *signer = NULL;
    bool is_datagram = false, is_1_2 = false;
    uint32_t uses = 0;
    long count = -1;
    for (int option; (option = getopt(argc, argv, "da:c:k:S:CR2n:")) != -1;) {
        switch (option) {
        case 'd': is_datagram = true; break;
        case 'a': ca = optarg; break;
        case 'c': chain = optarg; break;
        case 'k': key = optarg; break;
        case 'S': signer = optarg; break;
        case 'C': uses |= TERSE_USE_CACHE; break;
        case 'R': uses |= TERSE_USE_RESUMPTION; break;
        case '2': is_1_2 = true; break;
        case 'n': count = strtol(optarg, NULL, 10); break;
        default: return 2;
        }
    }
    if (argc - optind != 1) {
        fprintf(stderr, "usage: server [options] PORT\n");
        return 2;
    }

    terse_config_builder *builder = terse_config_builder_new();
    set_credentials(builder, ca, chain, key, signer);
    if (ca != NULL) {
        require(builder, terse_config_builder_client_authentication(builder, TERSE_CLIENT_AUTHENTICATION_REQUIRED));
    }
    if (is_datagram) {
        require(builder, terse_config_builder_datagrams(builder, 0, 0));
    }
    if (is_1_2) {
        require(builder, terse_config_builder_versions(builder, TERSE_VERSION_1_2, TERSE_VERSION_1_2));
    }
    if (uses != 0) {
        terse_server_store *store = NULL;
        require(builder, terse_server_store_new(64, &store));
        require(builder, terse_config_builder_server_store(builder, store, uses, 0));
        terse_server_store_free(store);
    }
    terse_server_config *config = NULL;
    require(builder, terse_config_builder_build_server(builder, &config));
    terse_config_builder_free(builder);

    int listener = listen_on((uint16_t)strtoul(argv[optind], NULL, 10), is_datagram);
    for (; count != 0; count -= count > 0) {
        struct link link;
        int client = next_client(listener, is_datagram);
        terse_connection *connection = NULL;
        terse_result result = terse_connection_new_server(config, NULL, &connection);
        link_begin(&link, connection, client, is_datagram);
        link.signer = signer;
        if (result == TERSE_OK) {
            result = serve(&link);
        }
        if (result != TERSE_OK) {
            link_explain(&link, result);
        }
        terse_connection_free(connection);
        if (!is_datagram) {
            close(client);
        }
    }
    terse_server_config_free(config);
    close(listener);
    return 0;
}
