// A client: connects, sends a message, prints what comes back.
//
//   client [-d] [-a CA] [-c CHAIN (-k KEY | -S COMMAND)] [-s DIRECTORY [-r]] [-2] [-m MESSAGE] ADDRESS PORT NAME
//
//   -d            DTLS over UDP, not TLS over TCP
//   -a CA         file of CA certificates
//   -c, -k        files of the own chain and key
//   -S COMMAND    a command that signs: it gets the name of a file and prints the signature, such as
//                 "openssl dgst -sha256 -sign client.key"
//   -s DIRECTORY  keep there what was learned of servers: the next connection leaves the certificates out
//   -r            resume sessions instead
//   -2            no version after 1.2
//   -m MESSAGE    what is sent
#define _POSIX_C_SOURCE 200809L

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "posix.h"

// Returns a socket that is connected to the server.
static int connect_to(const char *address, const char *port, bool is_datagram) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = is_datagram ? SOCK_DGRAM : SOCK_STREAM};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(address, port, &hints, &found);
    if (result != 0) {
        fprintf(stderr, "%s: %s\n", address, gai_strerror(result));
        exit(2);
    }
    int server = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (server < 0 || connect(server, found->ai_addr, found->ai_addrlen) != 0) {
        perror(address);
        exit(2);
    }
    freeaddrinfo(found);
    return server;
}

static terse_result talk(struct link *link, const char *message) {
    terse_result result = link_handshake(link);
    if (result != TERSE_OK) {
        return result;
    }
    link_report(link);
    size_t wanted = strlen(message), got = 0;
    result = link_send(link, (const unsigned char *)message, wanted);
    while (result == TERSE_OK && got < wanted) {
        unsigned char answer[1024];
        size_t len = 0;
        result = link_receive(link, answer, sizeof answer, &len);
        if (result != TERSE_OK || len == 0) {
            break;
        }
        fwrite(answer, 1, len, stdout);
        got += len;
    }
    putchar('\n');
    return result != TERSE_OK ? result : link_close(link);
}

int main(int argc, char **argv) {
    const char *ca = NULL, *chain = NULL, *key = NULL, *signer = NULL, *directory = NULL, *message = "hello";
    bool is_datagram = false, resumes = false, is_1_2 = false;
    for (int option; (option = getopt(argc, argv, "da:c:k:S:s:r2m:")) != -1;) {
        switch (option) {
        case 'd': is_datagram = true; break;
        case 'a': ca = optarg; break;
        case 'c': chain = optarg; break;
        case 'k': key = optarg; break;
        case 'S': signer = optarg; break;
        case 's': directory = optarg; break;
        case 'r': resumes = true; break;
        case '2': is_1_2 = true; break;
        case 'm': message = optarg; break;
        default: return 2;
        }
    }
    if (argc - optind != 3) {
        fprintf(stderr, "usage: client [options] ADDRESS PORT NAME\n");
        return 2;
    }
    const char *address = argv[optind], *port = argv[optind + 1], *name = argv[optind + 2];

    terse_config_builder *builder = terse_config_builder_new();
    set_credentials(builder, ca, chain, key, signer);
    if (is_datagram) {
        require(builder, terse_config_builder_datagrams(builder, 0, 0));
    }
    if (is_1_2) {
        require(builder, terse_config_builder_versions(builder, TERSE_VERSION_1_2, TERSE_VERSION_1_2));
    }
    if (directory != NULL) {
        terse_store_callbacks callbacks = directory_store(directory);
        terse_client_store *store = NULL;
        require(builder, terse_client_store_new(8, &callbacks, &store));
        uint32_t uses = resumes ? TERSE_USE_RESUMPTION : TERSE_USE_CACHE;
        require(builder, terse_config_builder_client_store(builder, store, uses));
        terse_client_store_free(store);
    }
    terse_client_config *config = NULL;
    require(builder, terse_config_builder_build_client(builder, &config));
    terse_config_builder_free(builder);

    struct link link;
    int server = connect_to(address, port, is_datagram);
    terse_connection *connection = NULL;
    terse_result result =
        terse_connection_new_client(config, name, (uint16_t)strtoul(port, NULL, 10), NULL, &connection);
    terse_client_config_free(config);
    link_begin(&link, connection, server, is_datagram);
    link.signer = signer;
    if (result == TERSE_OK) {
        result = talk(&link, message);
    }
    if (result != TERSE_OK) {
        link_explain(&link, result);
    }
    terse_connection_free(connection);
    close(server);
    return result == TERSE_OK ? 0 : 1;
}
