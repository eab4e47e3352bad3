/* Mbed TLS 3, as `mbedtls/config.h` makes it. */

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_cache.h>
#include <mbedtls/ssl_cookie.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/version.h>
#include <psa/crypto.h>

#include "peer.h"

struct half {
    mbedtls_ssl_config config;
    mbedtls_x509_crt root;
    mbedtls_x509_crt chain;
    mbedtls_pk_context key;
};

struct world {
    struct half halves[2];
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_ssl_cache_context cache;
    mbedtls_ssl_ticket_context tickets;
    mbedtls_ssl_session session;
#ifdef MBEDTLS_SSL_PROTO_DTLS
    mbedtls_ssl_cookie_ctx cookies;
#endif
    int has_session;
    int resumes;
    char *name;
    size_t mtu;
    int64_t (*now)(void);
    uint16_t groups[2];
    uint16_t schemes[3];
    int suites[2];
};

struct connection {
    mbedtls_ssl_context ssl;
    struct world *world;
    struct pipe *in;
    struct pipe *out;
    int64_t intermediate; /* of the timer */
    int64_t final;
    int side;
    int resumed;
};

#define TICKET_LIFETIME 600

static int receive(void *made, unsigned char *buffer, size_t room) {
    struct connection *connection = made;
    size_t len = pipe_read(connection->in, buffer, room);
    return len > 0 ? (int)len : MBEDTLS_ERR_SSL_WANT_READ;
}

static int transmit(void *made, const unsigned char *data, size_t len) {
    struct connection *connection = made;
    return pipe_write(connection->out, data, len) > 0 ? (int)len : MBEDTLS_ERR_SSL_WANT_WRITE;
}

__attribute__((unused)) static void set_timer(void *made, uint32_t intermediate, uint32_t final) {
    struct connection *connection = made;
    int64_t now = connection->world->now();
    connection->intermediate = final == 0 ? NEVER : now + intermediate;
    connection->final = final == 0 ? NEVER : now + final;
}

__attribute__((unused)) static int timer(void *made) {
    struct connection *connection = made;
    int64_t now = connection->world->now();
    return connection->final == NEVER ? -1 : (now >= connection->intermediate) + (now >= connection->final);
}

#define PEM(text) (const unsigned char *)(text), strlen(text) + 1

static int use_certificates(struct world *world, const struct settings *settings, int side) {
    struct half *half = &world->halves[side];
    mbedtls_x509_crt_init(&half->root);
    mbedtls_x509_crt_init(&half->chain);
    mbedtls_pk_init(&half->key);
    int result = mbedtls_x509_crt_parse(&half->root, PEM(settings->root));
    if (result == 0) {
        result = mbedtls_x509_crt_parse(&half->chain, PEM(settings->chain[side]));
    }
    if (result == 0) {
        result = mbedtls_pk_parse_key(&half->key, PEM(settings->key[side]), NULL, 0, mbedtls_ctr_drbg_random,
                                      &world->random);
    }
    if (result == 0) {
        result = mbedtls_ssl_conf_own_cert(&half->config, &half->chain, &half->key);
    }
    mbedtls_ssl_conf_ca_chain(&half->config, &half->root, NULL);
    mbedtls_ssl_conf_authmode(&half->config, MBEDTLS_SSL_VERIFY_REQUIRED);
    return result;
}

static int set_resumption(struct world *world, const struct settings *settings, int side) {
    mbedtls_ssl_config *config = &world->halves[side].config;
    int by_ticket = settings->resumes && settings->tls13;
    if (side == CLIENT) {
        mbedtls_ssl_conf_session_tickets(config, by_ticket);
        return 0;
    }
    mbedtls_ssl_conf_new_session_tickets(config, (uint16_t)by_ticket);
    if (by_ticket) {
        mbedtls_ssl_conf_session_tickets_cb(config, mbedtls_ssl_ticket_write, mbedtls_ssl_ticket_parse,
                                            &world->tickets);
        return mbedtls_ssl_ticket_setup(&world->tickets, mbedtls_ctr_drbg_random, &world->random,
                                        MBEDTLS_CIPHER_AES_128_GCM, TICKET_LIFETIME);
    }
    if (settings->resumes) {
        mbedtls_ssl_conf_session_cache(config, &world->cache, mbedtls_ssl_cache_get, mbedtls_ssl_cache_set);
    }
    return 0;
}

static int set_up(struct world *world, const struct settings *settings, int side) {
    mbedtls_ssl_config *config = &world->halves[side].config;
    mbedtls_ssl_protocol_version version = settings->tls13 ? MBEDTLS_SSL_VERSION_TLS1_3 : MBEDTLS_SSL_VERSION_TLS1_2;
    mbedtls_ssl_config_init(config);
    int result = mbedtls_ssl_config_defaults(config, side == SERVER ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
                                             settings->datagrams ? MBEDTLS_SSL_TRANSPORT_DATAGRAM
                                                                 : MBEDTLS_SSL_TRANSPORT_STREAM,
                                             MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_rng(config, mbedtls_ctr_drbg_random, &world->random);
    mbedtls_ssl_conf_min_tls_version(config, version);
    mbedtls_ssl_conf_max_tls_version(config, version);
    mbedtls_ssl_conf_ciphersuites(config, world->suites);
    mbedtls_ssl_conf_groups(config, world->groups);
    mbedtls_ssl_conf_sig_algs(config, world->schemes);
    if (result == 0) {
        result = use_certificates(world, settings, side);
    }
#ifdef MBEDTLS_SSL_PROTO_DTLS
    if (result == 0 && side == SERVER) {
        mbedtls_ssl_cookie_init(&world->cookies);
        mbedtls_ssl_conf_dtls_cookies(config, mbedtls_ssl_cookie_write, mbedtls_ssl_cookie_check, &world->cookies);
        result = mbedtls_ssl_cookie_setup(&world->cookies, mbedtls_ctr_drbg_random, &world->random);
    }
#endif
    return result != 0 ? result : set_resumption(world, settings, side);
}

static void choose(struct world *world, const struct settings *settings) {
    world->groups[0] = MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1;
    if (settings->rsa) {
        world->schemes[0] = MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256;
        world->schemes[1] = MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256;
    } else {
        world->schemes[0] = MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256;
    }
    if (settings->tls13) {
        world->suites[0] = MBEDTLS_TLS1_3_AES_128_GCM_SHA256;
    } else if (settings->rsa) {
        world->suites[0] = MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
    } else {
        world->suites[0] = MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
    }
}

static void *make_world(const struct settings *settings) {
    struct world *world = calloc(1, sizeof *world);
    mbedtls_entropy_init(&world->entropy);
    mbedtls_ctr_drbg_init(&world->random);
    mbedtls_ssl_cache_init(&world->cache);
    mbedtls_ssl_ticket_init(&world->tickets);
    mbedtls_ssl_session_init(&world->session);
    world->resumes = settings->resumes;
    world->name = strdup(settings->name);
    world->mtu = settings->mtu;
    world->now = settings->now;
    choose(world, settings);
    int result = psa_crypto_init() == PSA_SUCCESS
                     ? mbedtls_ctr_drbg_seed(&world->random, mbedtls_entropy_func, &world->entropy, NULL, 0)
                     : FAILED;
    for (int side = CLIENT; result == 0 && side <= SERVER; side++) {
        result = set_up(world, settings, side);
    }
    if (result != 0) {
        failed("configuration", result, "");
        return NULL;
    }
    return world;
}

#ifdef MBEDTLS_SSL_PROTO_DTLS
static int set_up_datagrams(struct connection *connection) {
    mbedtls_ssl_set_timer_cb(&connection->ssl, connection, set_timer, timer);
    if (connection->side == CLIENT) {
        return 0;
    }
    return mbedtls_ssl_set_client_transport_id(&connection->ssl, client_address, sizeof client_address);
}

/* Mbed TLS's servers accept no fragments of a ClientHello. */
static void choose_mtu(struct connection *connection) {
    int is_hello = connection->side == CLIENT && connection->ssl.MBEDTLS_PRIVATE(state) <= MBEDTLS_SSL_SERVER_HELLO;
    mbedtls_ssl_set_mtu(&connection->ssl, is_hello ? MTU : (uint16_t)connection->world->mtu);
}

/* Starts the handshake anew, for the next ClientHello of a client that has its cookie by now. */
static int begin_anew(struct connection *connection) {
    int result = mbedtls_ssl_session_reset(&connection->ssl);
    return result != 0 ? result : set_up_datagrams(connection);
}
#else
static int set_up_datagrams(struct connection *connection) {
    (void)connection;
    return 0;
}

static void choose_mtu(struct connection *connection) {
    (void)connection;
}

static int begin_anew(struct connection *connection) {
    (void)connection;
    return FAILED;
}
#endif

static void *make_connection(void *made, int side) {
    struct world *world = made;
    struct connection *connection = calloc(1, sizeof *connection);
    connection->world = world;
    connection->side = side;
    connection->resumed = 1;
    mbedtls_ssl_init(&connection->ssl);
    int result = mbedtls_ssl_setup(&connection->ssl, &world->halves[side].config);
    mbedtls_ssl_set_bio(&connection->ssl, connection, transmit, receive, NULL);
    if (result == 0) {
        result = set_up_datagrams(connection);
    }
    if (result == 0 && side == CLIENT) {
        result = mbedtls_ssl_set_hostname(&connection->ssl, world->name);
        if (result == 0 && world->has_session) {
            result = mbedtls_ssl_set_session(&connection->ssl, &world->session);
        }
    }
    if (result != 0) {
        failed("connection", result, "");
        return NULL;
    }
    return connection;
}

static struct connection *on(void *connection, struct pipe *in, struct pipe *out) {
    struct connection *here = connection;
    here->in = in;
    here->out = out;
    return here;
}

static int handshake(void *made, struct pipe *in, struct pipe *out) {
    struct connection *connection = on(made, in, out);
    while (!mbedtls_ssl_is_handshake_over(&connection->ssl)) {
        choose_mtu(connection);
        int result = mbedtls_ssl_handshake_step(&connection->ssl);
        if (result == MBEDTLS_ERR_SSL_HELLO_VERIFY_REQUIRED) {
            result = begin_anew(connection);
        }
        /* A resumed session is one without certificates. */
        int state = connection->ssl.MBEDTLS_PRIVATE(state);
        connection->resumed = connection->resumed && state != MBEDTLS_SSL_CERTIFICATE_REQUEST;
        if (result == MBEDTLS_ERR_SSL_WANT_READ) {
            return WAITS;
        } else if (result != 0) {
            return failed("handshake", result, "");
        }
    }
    return DONE;
}

static int resumed(void *connection) {
    return ((struct connection *)connection)->resumed;
}

static int keep_session(struct connection *connection) {
    struct world *world = connection->world;
    mbedtls_ssl_session_free(&world->session);
    mbedtls_ssl_session_init(&world->session);
    world->has_session = mbedtls_ssl_get_session(&connection->ssl, &world->session) == 0;
    return world->has_session;
}

static long read_data(void *made, struct pipe *in, struct pipe *out, void *buffer, size_t room) {
    struct connection *connection = on(made, in, out);
    int result;
    do {
        result = mbedtls_ssl_read(&connection->ssl, buffer, room);
        if (result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) {
            result = keep_session(connection) ? MBEDTLS_ERR_SSL_WANT_READ : FAILED;
        }
    } while (result == MBEDTLS_ERR_SSL_WANT_READ && in->start < in->end); /* it was no application data */
    return result == MBEDTLS_ERR_SSL_WANT_READ ? 0 : result >= 0 ? result : failed("read", result, "");
}

static int write_data(void *made, struct pipe *in, struct pipe *out, const void *data, size_t len) {
    struct connection *connection = on(made, in, out);
    for (size_t sent = 0; sent < len;) {
        int result = mbedtls_ssl_write(&connection->ssl, (const unsigned char *)data + sent, len - sent);
        if (result <= 0) {
            return failed("write", result, "");
        }
        sent += (size_t)result;
    }
    return DONE;
}

static int64_t deadline(void *connection) {
    return ((struct connection *)connection)->final;
}

/* Mbed TLS looks at its timer whenever it is called. Once connected, it sets none. */
static int expire(void *made, struct pipe *in, struct pipe *out) {
    return handshake(made, in, out);
}

static void end(void *made) {
    struct connection *connection = made;
    if (connection->world->resumes && connection->side == CLIENT &&
        mbedtls_ssl_get_version_number(&connection->ssl) == MBEDTLS_SSL_VERSION_TLS1_2) {
        keep_session(connection);
    }
    mbedtls_ssl_free(&connection->ssl);
    free(connection);
}

static const char *version(void) {
    static char text[40];
    mbedtls_version_get_string_full(text);
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
    .deadline = deadline,
    .expire = expire,
    .end = end,
    .error = last_error,
};
