#include <stddef.h>
#include <sys/types.h>

typedef size_t socklen_t;

struct sockaddr;

struct zsock_addrinfo {
    struct zsock_addrinfo *ai_next;
    int ai_flags, ai_family, ai_socktype, ai_protocol;
    socklen_t ai_addrlen;
    struct sockaddr *ai_addr;
    char *ai_canonname;
};

struct zsock_pollfd {
    int fd;
    short events, revents;
};

#define SOCK_DGRAM 2
#define ZSOCK_POLLIN 1

int zsock_getaddrinfo(const char *host, const char *service, const struct zsock_addrinfo *hints, struct zsock_addrinfo **found);
void zsock_freeaddrinfo(struct zsock_addrinfo *found);
int zsock_socket(int family, int type, int protocol);
int zsock_connect(int socket, const struct sockaddr *address, socklen_t len);
int zsock_poll(struct zsock_pollfd *sockets, int count, int timeout);
ssize_t zsock_send(int socket, const void *data, size_t len, int flags);
ssize_t zsock_recv(int socket, void *data, size_t capacity, int flags);
int zsock_close(int socket);
