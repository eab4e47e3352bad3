/* GnuTLS 3.7, with its defaults except for the algorithms. */

#include <errno.h>
#include <gnutls/dtls.h>
#include <gnutls/gnutls.h>

#include "peer.h"

struct world {
    gnutls_certificate_credentials_t credentials[2];
    gnutls_priority_t priorities;
    gnutls_datum_t ticket_key;
    gnutls_datum_t cookie_key;
    gnutls_datum_t session; /* the client's */
    gnutls_datum_t id;      /* the server's only session, in TLS 1.2 */
    gnutls_datum_t kept;
    char *name;
    int resumes;
    int tls13;
    int datagrams;
};

struct connection {
    gnutls_session_t session;
    struct world *world;
    struct pipe *in;
    struct pipe *out;
    int side;
    int must_prove_address;
};

static int gnutls_failed(const char *what, int code) {
    return failed(what, code, gnutls_strerror(code));
}

static ssize_t pull(gnutls_transport_ptr_t made, void *buffer, size_t room) {
    struct connection *connection = made;
    size_t len = pipe_read(connection->in, buffer, room);
    if (len == 0) {
        gnutls_transport_set_errno(connection->session, EAGAIN);
        return -1;
    }
    return (ssize_t)len;
}

static int pull_timeout(gnutls_transport_ptr_t made, unsigned int milliseconds) {
    struct connection *connection = made;
    (void)milliseconds;
    return connection->in->end > connection->in->start;
}

static ssize_t push(gnutls_transport_ptr_t made, const void *data, size_t len) {
    struct connection *connection = made;
    if (pipe_write(connection->out, data, len) == 0) {
        gnutls_transport_set_errno(connection->session, EAGAIN);
        return -1;
    }
    return (ssize_t)len;
}

/* Sends the parts of one call as one datagram, as `sendmsg` does. */
static ssize_t push_datagram(gnutls_transport_ptr_t made, const giovec_t *parts, int count) {
    unsigned char datagram[MTU];
    size_t len = 0;
    for (int part = 0; part < count; part++) {
        if (parts[part].iov_len > sizeof datagram - len) {
            gnutls_transport_set_errno(((struct connection *)made)->session, EMSGSIZE);
            return -1;
        }
        memcpy(datagram + len, parts[part].iov_base, parts[part].iov_len);
        len += parts[part].iov_len;
    }
    return push(made, datagram, len);
}

static gnutls_datum_t datum(const char *text) {
    return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

static gnutls_datum_t copy(gnutls_datum_t from) {
    gnutls_datum_t to = {.data = gnutls_malloc(from.size), .size = from.size};
    memcpy(to.data, from.data, from.size);
    return to;
}

static int store(void *made, gnutls_datum_t id, gnutls_datum_t data) {
    struct world *world = made;
    gnutls_free(world->id.data);
    gnutls_free(world->kept.data);
    world->id = copy(id);
    world->kept = copy(data);
    return 0;
}

static gnutls_datum_t find(void *made, gnutls_datum_t id) {
    struct world *world = made;
    int is_it = world->id.size == id.size && memcmp(world->id.data, id.data, id.size) == 0;
    return is_it ? copy(world->kept) : (gnutls_datum_t){0};
}

static int forget(void *made, gnutls_datum_t id) {
    (void)made;
    (void)id;
    return 0;
}

static int use_certificates(struct world *world, const struct settings *settings, int side) {
    gnutls_datum_t root = datum(settings->root), chain = datum(settings->chain[side]), key = datum(settings->key[side]);
    gnutls_certificate_credentials_t *credentials = &world->credentials[side];
    int result = gnutls_certificate_allocate_credentials(credentials);
    if (result >= 0) {
        result = gnutls_certificate_set_x509_trust_mem(*credentials, &root, GNUTLS_X509_FMT_PEM);
    }
    if (result >= 0) {
        result = gnutls_certificate_set_x509_key_mem(*credentials, &chain, &key, GNUTLS_X509_FMT_PEM);
    }
    return result;
}

static void *make_world(const struct settings *settings) {
    struct world *world = calloc(1, sizeof *world);
    char priorities[200];
    snprintf(priorities, sizeof priorities,
             "NONE:+AES-128-GCM:+AEAD:+SHA256:+COMP-NULL:+CTYPE-X509:+GROUP-SECP256R1:+VERS-%sTLS%s:+ECDHE-%s:%s",
             settings->datagrams ? "D" : "", settings->tls13 ? "1.3" : "1.2", settings->rsa ? "RSA" : "ECDSA",
             settings->rsa ? "+SIGN-RSA-PSS-RSAE-SHA256:+SIGN-RSA-SHA256" : "+SIGN-ECDSA-SECP256R1-SHA256:+SIGN-ECDSA-SHA256");
    world->name = strdup(settings->name);
    world->resumes = settings->resumes;
    world->tls13 = settings->tls13;
    world->datagrams = settings->datagrams;
    int result = gnutls_priority_init2(&world->priorities, priorities, NULL, 0);
    if (result >= 0) {
        result = gnutls_session_ticket_key_generate(&world->ticket_key);
    }
    if (result >= 0) {
        result = gnutls_key_generate(&world->cookie_key, GNUTLS_COOKIE_KEY_SIZE);
    }
    for (int side = CLIENT; result >= 0 && side <= SERVER; side++) {
        result = use_certificates(world, settings, side);
    }
    if (result < 0) {
        gnutls_failed("configuration", result);
        return NULL;
    }
    return world;
}

static int prepare_client(struct connection *connection) {
    struct world *world = connection->world;
    gnutls_session_set_verify_cert(connection->session, world->name, 0);
    int result = gnutls_server_name_set(connection->session, GNUTLS_NAME_DNS, world->name, strlen(world->name));
    if (result >= 0 && world->session.data != NULL) {
        result = gnutls_session_set_data(connection->session, world->session.data, world->session.size);
    }
    return result;
}

static int prepare_server(struct connection *connection) {
    struct world *world = connection->world;
    gnutls_session_set_verify_cert(connection->session, NULL, 0);
    gnutls_certificate_server_set_request(connection->session, GNUTLS_CERT_REQUIRE);
    if (world->resumes && world->tls13) {
        return gnutls_session_ticket_enable_server(connection->session, &world->ticket_key);
    } else if (world->resumes) {
        gnutls_db_set_ptr(connection->session, world);
        gnutls_db_set_store_function(connection->session, store);
        gnutls_db_set_retrieve_function(connection->session, find);
        gnutls_db_set_remove_function(connection->session, forget);
    }
    return 0;
}

static void *make_connection(void *made, int side) {
    struct world *world = made;
    struct connection *connection = calloc(1, sizeof *connection);
    unsigned flags = GNUTLS_NONBLOCK | (unsigned)(side == SERVER ? GNUTLS_SERVER : GNUTLS_CLIENT);
    connection->world = world;
    connection->side = side;
    connection->must_prove_address = world->datagrams && side == SERVER;
    flags |= world->datagrams ? GNUTLS_DATAGRAM : 0;
    int result = gnutls_init(&connection->session, world->resumes && world->tls13 ? flags : flags | GNUTLS_NO_TICKETS);
    if (result >= 0) {
        result = gnutls_priority_set(connection->session, world->priorities);
    }
    if (result >= 0) {
        result = gnutls_credentials_set(connection->session, GNUTLS_CRD_CERTIFICATE, world->credentials[side]);
    }
    if (result >= 0) {
        result = side == SERVER ? prepare_server(connection) : prepare_client(connection);
    }
    if (result < 0) {
        gnutls_failed("connection", result);
        return NULL;
    }
    gnutls_transport_set_ptr(connection->session, connection);
    gnutls_transport_set_pull_function(connection->session, pull);
    gnutls_transport_set_pull_timeout_function(connection->session, pull_timeout);
    gnutls_transport_set_push_function(connection->session, push);
    if (world->datagrams) {
        gnutls_transport_set_vec_push_function(connection->session, push_datagram);
        gnutls_dtls_set_mtu(connection->session, MTU);
        gnutls_dtls_set_timeouts(connection->session, 600000, 600000); /* nothing is lost in memory */
    }
    return connection;
}

static struct connection *on(void *connection, struct pipe *in, struct pipe *out) {
    struct connection *here = connection;
    here->in = in;
    here->out = out;
    return here;
}

/* Takes the client's first ClientHello, and leaves the one with a cookie for the handshake. */
static int prove_address(struct connection *connection) {
    gnutls_datum_t *key = &connection->world->cookie_key;
    gnutls_dtls_prestate_st state = {0};
    unsigned char address[sizeof client_address], datagram[MTU];
    size_t len;
    memcpy(address, client_address, sizeof address);
    unsigned char *hello = pipe_peek(connection->in, &len);
    if (len == 0) {
        return GNUTLS_E_AGAIN;
    }
    if (gnutls_dtls_cookie_verify(key, address, sizeof address, hello, len, &state) >= 0) {
        gnutls_dtls_prestate_set(connection->session, &state);
        connection->must_prove_address = 0;
        return 0;
    }
    pipe_read(connection->in, datagram, sizeof datagram);
    int result = gnutls_dtls_cookie_send(key, address, sizeof address, &state, connection, push);
    return result < 0 ? result : GNUTLS_E_AGAIN;
}

static int handshake(void *made, struct pipe *in, struct pipe *out) {
    struct connection *connection = on(made, in, out);
    if (connection->must_prove_address) {
        int result = prove_address(connection);
        if (result != 0) {
            return result == GNUTLS_E_AGAIN ? WAITS : gnutls_failed("cookie", result);
        }
    }
    int result = gnutls_handshake(connection->session);
    if (result == GNUTLS_E_SUCCESS) {
        return DONE;
    }
    return result == GNUTLS_E_AGAIN ? WAITS : gnutls_failed("handshake", result);
}

static int resumed(void *connection) {
    return gnutls_session_is_resumed(((struct connection *)connection)->session);
}

static long read_data(void *made, struct pipe *in, struct pipe *out, void *buffer, size_t room) {
    ssize_t result;
    do {
        result = gnutls_record_recv(on(made, in, out)->session, buffer, room);
    } while (result == GNUTLS_E_AGAIN && in->start < in->end); /* it was no application data */
    if (result >= 0) {
        return result;
    }
    return result == GNUTLS_E_AGAIN ? 0 : gnutls_failed("read", (int)result);
}

static int write_data(void *made, struct pipe *in, struct pipe *out, const void *data, size_t len) {
    ssize_t result = gnutls_record_send(on(made, in, out)->session, data, len);
    return result == (ssize_t)len ? DONE : gnutls_failed("write", (int)result);
}

static void end(void *made) {
    struct connection *connection = made;
    struct world *world = connection->world;
    if (world->resumes && connection->side == CLIENT) {
        gnutls_free(world->session.data);
        world->session = (gnutls_datum_t){0};
        gnutls_session_get_data2(connection->session, &world->session);
    }
    gnutls_deinit(connection->session);
    free(connection);
}

static const char *version(void) {
    static char text[40];
    snprintf(text, sizeof text, "GnuTLS %s", gnutls_check_version(NULL));
    return text;
}

const struct peer peer = {
    .version = version,
    .world = make_world,
    .connect = make_connection,
    .handshake = handshake,
    .resumed = resumed,
    .read = read_data,
    .write = write_data,
    .end = end,
    .error = last_error,
};
