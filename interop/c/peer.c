/* This file reads the command line, and moves data between a socket and the standard streams. */

#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct options options = {
    .connections = 1,
    .tls12 = 1,
    .tls13 = 1,
    .sends_name = 1,
    .tickets = 1,
    .session_ids = 1,
    .extended_master_secret = 1,
    .connection_id = -1,
};

/* How long a peer may take to send its close_notify, in milliseconds. */
#define FAREWELL 2000

static void say_list(const char *format, va_list arguments) {
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    fflush(stderr);
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
}

void refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_list(format, arguments);
    va_end(arguments);
    exit(2);
}

void say_hex(const char *what, const unsigned char *bytes, size_t len) {
    fprintf(stderr, "%s ", what);
    for (size_t i = 0; i < len; i++) {
        fprintf(stderr, "%02x", bytes[i]);
    }
    say("%s", "");
}

unsigned char *contents(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        refuse("%s: %s", path, strerror(errno));
    }
    long size = ftell(file);
    rewind(file);
    unsigned char *bytes = malloc((size_t)size + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        refuse("%s cannot be read", path);
    }
    fclose(file);
    bytes[size] = 0;
    *len = (size_t)size;
    return bytes;
}

void deliver(const void *data, size_t len) {
    fwrite(data, 1, len, stdout);
    fflush(stdout);
}

void wait_for_socket(int socket, int to_write) {
    struct pollfd wanted = {.fd = socket, .events = to_write ? POLLOUT : POLLIN};
    poll(&wanted, 1, -1);
}

/* Reads hexadecimal code points that are separated by commas, such as `1301,c02b`. */
static void parse_list(struct list *list, const char *text) {
    while (*text != 0) {
        char *end;
        if (list->count == MOST) {
            refuse("more than %d code points", MOST);
        }
        list->values[list->count++] = (unsigned)strtoul(text, &end, 16);
        text = end + (*end == ',');
    }
}

static void parse_psk(const char *text) {
    for (; text[0] != 0 && text[1] != 0 && options.psk_len < sizeof options.psk; text += 2) {
        char digits[3] = {text[0], text[1], 0};
        options.psk[options.psk_len++] = (unsigned char)strtoul(digits, NULL, 16);
    }
}

static void parse(char *word) {
    static const char *const asks[] = {"no", "optional", "required"};
    char *value = strchr(word, '=');
    if (value == NULL) {
        refuse("%s: no value", word);
    }
    *value++ = 0;
    int number = atoi(value);
#define WORD(text) (strcmp(word, text) == 0)
    if (WORD("port")) {
        options.port = number;
    } else if (WORD("connections")) {
        options.connections = number;
    } else if (WORD("ca")) {
        options.ca = value;
    } else if (WORD("chain")) {
        options.chain = value;
    } else if (WORD("key")) {
        options.key = value;
    } else if (WORD("raw-key")) {
        options.raw_key = value;
    } else if (WORD("peer-raw-key")) {
        options.peer_raw_key = value;
    } else if (WORD("asks")) {
        options.asks = ASKS_NO;
        while (options.asks < ASKS_REQUIRED && strcmp(value, asks[options.asks]) != 0) {
            options.asks++;
        }
    } else if (WORD("versions")) {
        options.tls12 = strstr(value, "1.2") != NULL;
        options.tls13 = strstr(value, "1.3") != NULL;
    } else if (WORD("suites")) {
        parse_list(&options.suites, value);
    } else if (WORD("groups")) {
        parse_list(&options.groups, value);
    } else if (WORD("schemes")) {
        parse_list(&options.schemes, value);
    } else if (WORD("name")) {
        options.name = value;
    } else if (WORD("sends-name")) {
        options.sends_name = number;
    } else if (WORD("protocols")) {
        options.protocols = value;
    } else if (WORD("fragment")) {
        options.fragment = number;
    } else if (WORD("tickets")) {
        options.tickets = number;
    } else if (WORD("session-ids")) {
        options.session_ids = number;
    } else if (WORD("extended-master-secret")) {
        options.extended_master_secret = number;
    } else if (WORD("identity")) {
        options.identity = value;
    } else if (WORD("psk")) {
        parse_psk(value);
    } else if (WORD("early-data")) {
        static char line[256];
        snprintf(line, sizeof line, "%s\n", value);
        options.early_data = line;
    } else if (WORD("cookie")) {
        options.cookie = number;
    } else if (WORD("datagrams")) {
        options.datagrams = number;
    } else if (WORD("datagram")) {
        options.datagram = number;
    } else if (WORD("connection-id")) {
        options.connection_id = number;
    } else if (WORD("exporter")) {
        options.exporter = value;
    } else {
        refuse("%s: not known", word);
    }
}

/* Standard input that was read and not yet sent: whole lines, or as much as there is room for. */
static char input[0x8000];
static size_t input_len;
static int input_ended;

enum going { GOES_ON, CLOSED_BY_US, FAILED };

/* Sends the lines that were read, and does what they order. */
static enum going obey(void) {
    enum going going = GOES_ON;
    char *start = input;
    char *end = input + input_len;
    while (going == GOES_ON && start < end) {
        /* Data ends where an order begins; the last line waits for its end. */
        char *line = start;
        char *line_end;
        while (line < end && *line != '!' && (line_end = memchr(line, '\n', (size_t)(end - line))) != NULL) {
            line = line_end + 1;
        }
        if (start == input && end == input + sizeof input && line == start && *start != '!') {
            line = end;
        }
        if (line > start) {
            going = library_write(start, (size_t)(line - start)) ? GOES_ON : FAILED;
            start = line;
        } else if (*start == '!' && (line_end = memchr(start, '\n', (size_t)(end - start))) != NULL) {
            if (strncmp(start, "!close\n", 7) == 0) {
                going = CLOSED_BY_US;
            } else if (strncmp(start, "!keys\n", 6) == 0) {
                library_update_keys();
            }
            start = line_end + 1;
        } else {
            break;
        }
    }
    input_len = (size_t)(end - start);
    memmove(input, start, input_len);
    return going;
}

static enum going take_input(void) {
    ssize_t more = read(STDIN_FILENO, input + input_len, sizeof input - input_len);
    if (more <= 0) {
        input_ended = 1;
        return CLOSED_BY_US;
    }
    input_len += (size_t)more;
    return obey();
}

/* Whether the peer has closed. */
static int peer_closed;

/* Delivers what has come. */
static enum going take_data(void) {
    static char buffer[0x4000];
    for (;;) {
        int len = library_read(buffer, sizeof buffer);
        if (len == READ_CLOSED) {
            say("closed by the peer");
            peer_closed = 1;
            return CLOSED_BY_US;
        } else if (len == READ_FAILED) {
            return FAILED;
        } else if (len == READ_NOTHING) {
            return GOES_ON;
        }
        deliver(buffer, (size_t)len);
    }
}

/* Closes in the proper order: sends close_notify and the end of the stream, and waits for the peer's. */
static void farewell(int stream) {
    char ignored[0x1000];
    struct pollfd wanted = {.fd = stream, .events = POLLIN};
    library_close();
    if (options.datagrams) { /* which have no end */
        while (!peer_closed && poll(&wanted, 1, FAREWELL) > 0) {
            int len = library_read(ignored, sizeof ignored);
            peer_closed = len == READ_CLOSED || len == READ_FAILED;
        }
        return;
    }
    shutdown(stream, SHUT_WR);
    while (poll(&wanted, 1, FAREWELL) > 0) {
        ssize_t len = read(stream, ignored, sizeof ignored);
        if (len == 0 || (len < 0 && errno != EAGAIN)) {
            break;
        }
    }
}

/* Runs one connection. Returns whether it went well. */
static int converse(int stream, int again) {
    peer_closed = 0;
    if (!library_handshake(stream, again)) {
        shutdown(stream, SHUT_WR);
        return 0;
    }
    fcntl(stream, F_SETFL, O_NONBLOCK);
    enum going going = take_data(); /* what came together with the last flight */
    if (going == GOES_ON) {
        going = obey(); /* what was read while the connection before was ending */
    }
    while (going == GOES_ON) {
        struct pollfd wanted[2] = {{.fd = stream, .events = POLLIN},
                                   {.fd = input_ended ? -1 : STDIN_FILENO, .events = POLLIN}};
        if (poll(wanted, 2, options.datagrams ? library_timeout() : -1) == 0) {
            library_timed_out();
        }
        if (wanted[0].revents != 0) {
            going = take_data();
        }
        if (going == GOES_ON && wanted[1].revents != 0) {
            going = take_input();
        }
    }
    if (going == CLOSED_BY_US) {
        farewell(stream);
    }
    return going == CLOSED_BY_US;
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    if (count < 2) {
        refuse("usage: %s server|client|version [WORD=VALUE]...", words[0]);
    }
    if (strcmp(words[1], "version") == 0) {
        puts(library_version());
        return 0;
    }
    options.server = strcmp(words[1], "server") == 0;
    for (int i = 2; i < count; i++) {
        parse(words[i]);
    }
    library_setup();
    int listener = options.server ? listening() : -1;
    int well = 1;
    for (int i = 0; i < options.connections; i++) {
        int stream = connected(listener);
        well = converse(stream, i > 0) && well;
        library_end();
        close(stream);
        say("over");
    }
    return well ? 0 : 1;
}
