/* Sockets on loopback, over TCP and UDP. A UDP socket is connected to one peer at a time. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "peer.h"

static struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* The address at which we listen. */
static struct sockaddr_in own;

int listening(void) {
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, options.datagrams ? SOCK_DGRAM : SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, len) != 0 || (!options.datagrams && listen(listener, 4) != 0) ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0) {
        refuse("listening: %s", strerror(errno));
    }
    own = address;
    say("listening %d", ntohs(address.sin_port));
    return listener;
}

/* Waits for a ClientHello of a new client, without taking it. What is left of an earlier connection is thrown away. */
static int datagrams_from_a_client(int listener) {
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    struct sockaddr_in client;
    unsigned char start[14]; /* the header of the record, and the type of the message */
    const struct timeval for_ever = {0};
    fcntl(listener, F_SETFL, 0);
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever); /* a library may have left a limit */
    if (getpeername(listener, (struct sockaddr *)&client, &(socklen_t){sizeof client}) == 0) {
        connect(listener, &nobody, sizeof nobody); /* which gives up the port if it was picked by the system */
        if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 && errno != EINVAL) {
            refuse("listening: %s", strerror(errno));
        }
    }
    for (;;) {
        socklen_t len = sizeof client;
        ssize_t read = recvfrom(listener, start, sizeof start, MSG_PEEK, (struct sockaddr *)&client, &len);
        if (read == sizeof start && start[0] == 22 && start[13] == 1) {
            if (connect(listener, (struct sockaddr *)&client, len) != 0) {
                refuse("connecting: %s", strerror(errno));
            }
            return dup(listener);
        }
        if (read >= 0) {
            recv(listener, start, sizeof start, 0);
        }
    }
}

int connected(int listener) {
    struct sockaddr_in address = loopback(options.port);
    int one = 1;
    if (options.server && options.datagrams) {
        return datagrams_from_a_client(listener);
    }
    int stream = options.server ? accept(listener, NULL, NULL)
                                : socket(AF_INET, options.datagrams ? SOCK_DGRAM : SOCK_STREAM, 0);
    if (stream < 0 || (!options.server && connect(stream, (struct sockaddr *)&address, sizeof address) != 0)) {
        refuse("connecting: %s", strerror(errno));
    }
    if (!options.datagrams) {
        setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    return stream;
}
