/* OpenSSL 3, with a BIO of our own on the pipes and its defaults otherwise. */

#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "peer.h"

struct world {
    SSL_CTX *contexts[2];
    SSL_SESSION *session;
    char *name;
    int resumes;
};

struct connection {
    SSL *ssl;
    struct world *world;
    struct pipe *in;
    struct pipe *out;
    int side;
};

static int openssl_failed(const char *what) {
    unsigned long code = ERR_get_error();
    const char *reason = ERR_reason_error_string(code);
    return failed(what, (long)ERR_GET_REASON(code), reason == NULL ? "" : reason);
}

static int bio_read(BIO *bio, char *buffer, int room) {
    struct connection *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    size_t len = pipe_read(connection->in, buffer, (size_t)room);
    if (len == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    return (int)len;
}

static int bio_write(BIO *bio, const char *data, int len) {
    struct connection *connection = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    return pipe_write(connection->out, data, (size_t)len) > 0 ? len : -1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method(void) {
    static BIO_METHOD *made;
    if (made == NULL) {
        made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pipe");
        BIO_meth_set_read(made, bio_read);
        BIO_meth_set_write(made, bio_write);
        BIO_meth_set_ctrl(made, bio_control);
    }
    return made;
}

static BIO *memory(const char *text) {
    return BIO_new_mem_buf(text, -1);
}

static int use_certificates(SSL_CTX *context, const char *root, const char *chain, const char *key) {
    BIO *roots = memory(root), *chains = memory(chain), *keys = memory(key);
    X509 *certificate = PEM_read_bio_X509(roots, NULL, NULL, NULL);
    int well = certificate != NULL && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate);
    X509_free(certificate);
    certificate = PEM_read_bio_X509(chains, NULL, NULL, NULL);
    well = well && certificate != NULL && SSL_CTX_use_certificate(context, certificate);
    X509_free(certificate);
    while (well && (certificate = PEM_read_bio_X509(chains, NULL, NULL, NULL)) != NULL) {
        well = SSL_CTX_add0_chain_cert(context, certificate);
    }
    ERR_clear_error(); /* of the end of the file */
    EVP_PKEY *private = PEM_read_bio_PrivateKey(keys, NULL, NULL, NULL);
    well = well && private != NULL && SSL_CTX_use_PrivateKey(context, private);
    EVP_PKEY_free(private);
    BIO_free(roots);
    BIO_free(chains);
    BIO_free(keys);
    return well;
}

/* Does what `openssl s_server` does. */
static int make_cookie(SSL *ssl, unsigned char *cookie, unsigned *len) {
    (void)ssl;
    return HMAC(EVP_sha1(), cookie_secret, sizeof cookie_secret, client_address, sizeof client_address, cookie, len) !=
           NULL;
}

static int verify_cookie(SSL *ssl, const unsigned char *cookie, unsigned len) {
    unsigned char expected[EVP_MAX_MD_SIZE];
    unsigned expected_len;
    return make_cookie(ssl, expected, &expected_len) && len == expected_len &&
           CRYPTO_memcmp(cookie, expected, len) == 0;
}

/* Nothing is lost in memory, however slow the machine. */
static unsigned no_timeout(SSL *ssl, unsigned microseconds) {
    (void)ssl;
    (void)microseconds;
    return 600000000;
}

static const SSL_METHOD *protocol(const struct settings *settings, int side) {
    if (settings->datagrams) {
        return side == SERVER ? DTLS_server_method() : DTLS_client_method();
    }
    return side == SERVER ? TLS_server_method() : TLS_client_method();
}

static SSL_CTX *make_context(const struct settings *settings, int side) {
    SSL_CTX *context = SSL_CTX_new(protocol(settings, side));
    int version = settings->datagrams ? DTLS1_2_VERSION : settings->tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
    const char *suite12 = settings->rsa ? "ECDHE-RSA-AES128-GCM-SHA256" : "ECDHE-ECDSA-AES128-GCM-SHA256";
    const char *schemes = settings->rsa ? "rsa_pss_rsae_sha256:RSA+SHA256" : "ECDSA+SHA256";
    if (context == NULL || !SSL_CTX_set_min_proto_version(context, version) ||
        !SSL_CTX_set_max_proto_version(context, version) || !SSL_CTX_set_cipher_list(context, suite12) ||
        !SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") || !SSL_CTX_set1_groups_list(context, "P-256") ||
        !SSL_CTX_set1_sigalgs_list(context, schemes) ||
        !use_certificates(context, settings->root, settings->chain[side], settings->key[side])) {
        openssl_failed("configuration");
        return NULL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (side == SERVER ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
    SSL_CTX_set_session_id_context(context, (const unsigned char *)"bench", 5);
    if (settings->datagrams) {
        SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | (side == SERVER ? SSL_OP_COOKIE_EXCHANGE : 0));
        SSL_CTX_set_cookie_generate_cb(context, make_cookie);
        SSL_CTX_set_cookie_verify_cb(context, verify_cookie);
    }
    if (!settings->tls13 || !settings->resumes) {
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    }
    if (!settings->resumes) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(context, 0);
    }
    return context;
}

static void *make_world(const struct settings *settings) {
    struct world *world = calloc(1, sizeof *world);
    for (int side = CLIENT; world != NULL && side <= SERVER; side++) {
        world->contexts[side] = make_context(settings, side);
        if (world->contexts[side] == NULL) {
            return NULL;
        }
    }
    world->name = strdup(settings->name);
    world->resumes = settings->resumes;
    return world;
}

static void *make_connection(void *made, int side) {
    struct world *world = made;
    struct connection *connection = calloc(1, sizeof *connection);
    connection->world = world;
    connection->side = side;
    connection->ssl = SSL_new(world->contexts[side]);
    BIO *bio = BIO_new(method());
    BIO_set_data(bio, connection);
    BIO_set_init(bio, 1);
    SSL_set_bio(connection->ssl, bio, bio);
    if (SSL_is_dtls(connection->ssl)) {
        SSL_set_mtu(connection->ssl, MTU);
        DTLS_set_timer_cb(connection->ssl, no_timeout);
    }
    if (side == SERVER) {
        SSL_set_accept_state(connection->ssl);
        return connection;
    }
    SSL_set_connect_state(connection->ssl);
    if (!SSL_set_tlsext_host_name(connection->ssl, world->name) || !SSL_set1_host(connection->ssl, world->name) ||
        (world->session != NULL && !SSL_set_session(connection->ssl, world->session))) {
        openssl_failed("connection");
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

static int must_wait(struct connection *connection, int result) {
    return SSL_get_error(connection->ssl, result) == SSL_ERROR_WANT_READ;
}

static int handshake(void *made, struct pipe *in, struct pipe *out) {
    struct connection *connection = on(made, in, out);
    int result = SSL_do_handshake(connection->ssl);
    if (result == 1) {
        return DONE;
    }
    return must_wait(connection, result) ? WAITS : openssl_failed("handshake");
}

static int resumed(void *connection) {
    return SSL_session_reused(((struct connection *)connection)->ssl);
}

static long read_data(void *made, struct pipe *in, struct pipe *out, void *buffer, size_t room) {
    struct connection *connection = on(made, in, out);
    int result = SSL_read(connection->ssl, buffer, (int)room);
    if (result > 0) {
        return result;
    }
    return must_wait(connection, result) ? 0 : openssl_failed("read");
}

static int write_data(void *made, struct pipe *in, struct pipe *out, const void *data, size_t len) {
    struct connection *connection = on(made, in, out);
    return SSL_write(connection->ssl, data, (int)len) == (int)len ? DONE : openssl_failed("write");
}

static void end(void *made) {
    struct connection *connection = made;
    struct world *world = connection->world;
    SSL_set_shutdown(connection->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* or the session is forgotten */
    if (world->resumes && connection->side == CLIENT) {
        SSL_SESSION_free(world->session);
        world->session = SSL_get1_session(connection->ssl);
    }
    SSL_free(connection->ssl);
    free(connection);
}

static const char *version(void) {
    return OpenSSL_version(OPENSSL_VERSION);
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
