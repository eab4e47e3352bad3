/* BoringSSL, for DTLS 1.3, with a BIO of our own on the pipes. It makes no cookies, and offers all three suites of TLS 1.3. */

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/time.h>
#include <time.h>

#include "peer.h"

struct world {
    SSL_CTX *contexts[2];
    SSL_SESSION *session;
    char *name;
    size_t mtu;
    int resumes;
};

struct connection {
    SSL *ssl;
    struct world *world;
    struct pipe *in;
    struct pipe *out;
    int side;
};

/* The clock serves all worlds: BoringSSL's callback for the time says only which connection asks. */
static int64_t (*now)(void);

/* The time at which that clock began. */
static time_t beginning;

static int boringssl_failed(const char *what) {
    uint32_t code = ERR_get_error();
    const char *reason = ERR_reason_error_string(code);
    return failed(what, ERR_GET_REASON(code), reason == NULL ? "" : reason);
}

static void current_time(const SSL *ssl, struct timeval *time) {
    int64_t milliseconds = now();
    (void)ssl;
    time->tv_sec = beginning + milliseconds / 1000;
    time->tv_usec = milliseconds % 1000 * 1000;
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

static int use_certificates(SSL_CTX *context, const char *root, const char *chain, const char *key) {
    BIO *roots = BIO_new_mem_buf(root, -1), *chains = BIO_new_mem_buf(chain, -1), *keys = BIO_new_mem_buf(key, -1);
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

/* Keeps the last ticket of each connection. */
static int keep_session(SSL *ssl, SSL_SESSION *session) {
    struct connection *connection = BIO_get_data(SSL_get_rbio(ssl));
    SSL_SESSION_free(connection->world->session);
    connection->world->session = session;
    return 1;
}

static SSL_CTX *make_context(const struct settings *settings, int side) {
    SSL_CTX *context = SSL_CTX_new(DTLS_method());
    uint16_t scheme = settings->rsa ? SSL_SIGN_RSA_PSS_RSAE_SHA256 : SSL_SIGN_ECDSA_SECP256R1_SHA256;
    uint16_t schemes[] = {scheme, SSL_SIGN_RSA_PKCS1_SHA256}; /* the second one is of certificates */
    if (context == NULL || !SSL_CTX_set_min_proto_version(context, DTLS1_3_VERSION) ||
        !SSL_CTX_set_max_proto_version(context, DTLS1_3_VERSION) || !SSL_CTX_set1_groups_list(context, "P-256") ||
        !SSL_CTX_set_verify_algorithm_prefs(context, schemes, settings->rsa ? 2 : 1) ||
        !use_certificates(context, settings->root, settings->chain[side], settings->key[side]) ||
        !SSL_CTX_set_session_id_context(context, (const unsigned char *)"bench", 5)) {
        boringssl_failed("configuration");
        return NULL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (side == SERVER ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | (settings->resumes ? 0 : SSL_OP_NO_TICKET));
    SSL_CTX_set_session_cache_mode(context, settings->resumes && side == CLIENT ? SSL_SESS_CACHE_CLIENT
                                                                                : SSL_SESS_CACHE_OFF);
    SSL_CTX_sess_set_new_cb(context, keep_session);
    SSL_CTX_set_current_time_cb(context, current_time);
    return context;
}

static void *make_world(const struct settings *settings) {
    struct world *world = calloc(1, sizeof *world);
    now = settings->now;
    beginning = time(NULL) - now() / 1000;
    for (int side = CLIENT; world != NULL && side <= SERVER; side++) {
        world->contexts[side] = make_context(settings, side);
        if (world->contexts[side] == NULL) {
            return NULL;
        }
    }
    world->name = strdup(settings->name);
    world->mtu = settings->mtu;
    world->resumes = settings->resumes;
    return world;
}

/* The first timeout that others have by default, in milliseconds. BoringSSL's own is 400. */
#define INITIAL_TIMEOUT 1000

/* The smallest MTU that BoringSSL accepts. */
#define MIN_MTU (256 - 28)

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
    DTLSv1_set_initial_timeout_duration(connection->ssl, INITIAL_TIMEOUT);
    int well = SSL_set_mtu(connection->ssl, (unsigned)(world->mtu < MIN_MTU ? MIN_MTU : world->mtu));
    if (side == SERVER) {
        SSL_set_accept_state(connection->ssl);
    } else {
        SSL_set_connect_state(connection->ssl);
        well = well && SSL_set_tlsext_host_name(connection->ssl, world->name) &&
               SSL_set1_host(connection->ssl, world->name) &&
               (world->session == NULL || SSL_set_session(connection->ssl, world->session));
    }
    if (!well) {
        boringssl_failed("connection");
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
    return must_wait(connection, result) ? WAITS : boringssl_failed("handshake");
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
    return must_wait(connection, result) ? 0 : boringssl_failed("read");
}

static int write_data(void *made, struct pipe *in, struct pipe *out, const void *data, size_t len) {
    struct connection *connection = on(made, in, out);
    return SSL_write(connection->ssl, data, (int)len) == (int)len ? DONE : boringssl_failed("write");
}

static int64_t deadline(void *connection) {
    struct timeval left;
    if (!DTLSv1_get_timeout(((struct connection *)connection)->ssl, &left)) {
        return NEVER;
    }
    return now() + (int64_t)left.tv_sec * 1000 + (left.tv_usec + 999) / 1000;
}

static int expire(void *made, struct pipe *in, struct pipe *out) {
    struct connection *connection = on(made, in, out);
    return DTLSv1_handle_timeout(connection->ssl) < 0 ? boringssl_failed("timeout") : WAITS;
}

static void end(void *made) {
    struct connection *connection = made;
    SSL_free(connection->ssl);
    free(connection);
}

static const char *version(void) {
    return "BoringSSL of " CRATE;
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
