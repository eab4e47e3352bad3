/* wolfSSL 5.9, in whichever build `user_settings.h` describes. */

#include <wolfssl/wolfcrypt/settings.h>

#include <wolfssl/error-ssl.h>
#include <wolfssl/ssl.h>

#include "peer.h"

struct world {
    WOLFSSL_CTX *contexts[2];
    WOLFSSL_SESSION *session;
    char *name;
    int resumes;
    int tls13;
};

struct connection {
    WOLFSSL *ssl;
    struct world *world;
    struct pipe *in;
    struct pipe *out;
    int side;
};

static int wolfssl_failed(const char *what, int code) {
    char text[WOLFSSL_MAX_ERROR_SZ];
    return failed(what, code, wolfSSL_ERR_error_string((unsigned long)code, text));
}

static int receive(WOLFSSL *ssl, char *buffer, int room, void *made) {
    struct connection *connection = made;
    (void)ssl;
    size_t len = pipe_read(connection->in, buffer, (size_t)room);
    return len > 0 ? (int)len : WOLFSSL_CBIO_ERR_WANT_READ;
}

static int transmit(WOLFSSL *ssl, char *data, int len, void *made) {
    struct connection *connection = made;
    (void)ssl;
    return pipe_write(connection->out, data, (size_t)len) > 0 ? len : WOLFSSL_CBIO_ERR_WANT_WRITE;
}

static WOLFSSL_METHOD *method(const struct settings *settings, int side) {
#ifdef WOLFSSL_DTLS
    if (settings->datagrams) {
        return side == SERVER ? wolfDTLSv1_2_server_method() : wolfDTLSv1_2_client_method();
    }
#endif
    if (settings->tls13) {
        return side == SERVER ? wolfTLSv1_3_server_method() : wolfTLSv1_3_client_method();
    }
    return side == SERVER ? wolfTLSv1_2_server_method() : wolfTLSv1_2_client_method();
}

static const char *suite(const struct settings *settings) {
    if (settings->tls13) {
        return "TLS13-AES128-GCM-SHA256";
    }
    return settings->rsa ? "ECDHE-RSA-AES128-GCM-SHA256" : "ECDHE-ECDSA-AES128-GCM-SHA256";
}

#define BYTES(text) (const unsigned char *)(text), (long)strlen(text)

static int set_up(WOLFSSL_CTX *context, const struct settings *settings, int side) {
    int group = WOLFSSL_ECC_SECP256R1;
    if (wolfSSL_CTX_load_verify_buffer(context, BYTES(settings->root), WOLFSSL_FILETYPE_PEM) != WOLFSSL_SUCCESS ||
        wolfSSL_CTX_use_certificate_chain_buffer(context, BYTES(settings->chain[side])) != WOLFSSL_SUCCESS ||
        wolfSSL_CTX_use_PrivateKey_buffer(context, BYTES(settings->key[side]), WOLFSSL_FILETYPE_PEM) !=
            WOLFSSL_SUCCESS ||
        wolfSSL_CTX_set_cipher_list(context, suite(settings)) != WOLFSSL_SUCCESS ||
        wolfSSL_CTX_UseSupportedCurve(context, (word16)group) != WOLFSSL_SUCCESS ||
        (settings->tls13 && wolfSSL_CTX_set_groups(context, &group, 1) != WOLFSSL_SUCCESS)) {
        return 0;
    }
    wolfSSL_CTX_set_verify(context, WOLFSSL_VERIFY_PEER | WOLFSSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    wolfSSL_CTX_SetIORecv(context, receive);
    wolfSSL_CTX_SetIOSend(context, transmit);
#ifndef NO_SESSION_CACHE
    if (!settings->resumes) {
        wolfSSL_CTX_set_session_cache_mode(context, WOLFSSL_SESS_CACHE_OFF);
    }
#endif
    if (side == SERVER && !(settings->tls13 && settings->resumes)) {
        wolfSSL_CTX_NoTicketTLSv12(context);
        wolfSSL_CTX_no_ticket_TLSv13(context);
    }
    return 1;
}

static void *make_world(const struct settings *settings) {
    struct world *world = calloc(1, sizeof *world);
    wolfSSL_Init();
    for (int side = CLIENT; world != NULL && side <= SERVER; side++) {
        world->contexts[side] = wolfSSL_CTX_new(method(settings, side));
        if (world->contexts[side] == NULL || !set_up(world->contexts[side], settings, side)) {
            failed("configuration", side, "");
            return NULL;
        }
    }
    world->name = strdup(settings->name);
    world->resumes = settings->resumes;
    world->tls13 = settings->tls13;
    return world;
}

#ifdef NO_SESSION_CACHE /* then clients have no sessions either */
static int offer_session(struct connection *connection) {
    return !connection->world->resumes;
}

static void keep_session(struct connection *connection) {
    (void)connection;
}
#else
static int offer_session(struct connection *connection) {
    WOLFSSL_SESSION *session = connection->world->session;
    return session == NULL || wolfSSL_set_session(connection->ssl, session) == WOLFSSL_SUCCESS;
}

/* In TLS 1.3 the first one, for ever: wolfSSL numbers the tickets of a chain of sessions, and ends it after 255. */
static void keep_session(struct connection *connection) {
    struct world *world = connection->world;
    if (world->session == NULL || !world->tls13) {
        wolfSSL_SESSION_free(world->session);
        world->session = wolfSSL_get1_session(connection->ssl);
    }
}
#endif

#ifdef WOLFSSL_DTLS
static int set_up_datagrams(WOLFSSL *ssl, int side) {
    wolfSSL_dtls_set_using_nonblock(ssl, 1);
    return wolfSSL_dtls_set_mtu(ssl, MTU) == WOLFSSL_SUCCESS &&
           wolfSSL_dtls_set_peer(ssl, (void *)(uintptr_t)client_address, sizeof client_address) == WOLFSSL_SUCCESS &&
           (side == CLIENT || wolfSSL_DTLS_SetCookieSecret(ssl, cookie_secret, sizeof cookie_secret) == 0);
}
#else
static int set_up_datagrams(WOLFSSL *ssl, int side) {
    (void)ssl;
    (void)side;
    return 1;
}
#endif

static void *make_connection(void *made, int side) {
    struct world *world = made;
    struct connection *connection = calloc(1, sizeof *connection);
    connection->world = world;
    connection->side = side;
    connection->ssl = wolfSSL_new(world->contexts[side]);
    wolfSSL_SetIOReadCtx(connection->ssl, connection);
    wolfSSL_SetIOWriteCtx(connection->ssl, connection);
    if (wolfSSL_dtls(connection->ssl) && !set_up_datagrams(connection->ssl, side)) {
        failed("connection", side, "over datagrams");
        return NULL;
    }
    if (side == CLIENT) {
        size_t len = strlen(world->name);
        if (wolfSSL_UseSNI(connection->ssl, WOLFSSL_SNI_HOST_NAME, world->name, (word16)len) != WOLFSSL_SUCCESS ||
            wolfSSL_check_domain_name(connection->ssl, world->name) != WOLFSSL_SUCCESS ||
            !offer_session(connection)) {
            failed("connection", 0, "");
            return NULL;
        }
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
    int result = connection->side == SERVER ? wolfSSL_accept(connection->ssl) : wolfSSL_connect(connection->ssl);
    if (result == WOLFSSL_SUCCESS) {
        return DONE;
    }
    int error = wolfSSL_get_error(connection->ssl, result);
    return error == WOLFSSL_ERROR_WANT_READ ? WAITS : wolfssl_failed("handshake", error);
}

static int resumed(void *connection) {
    return wolfSSL_session_reused(((struct connection *)connection)->ssl);
}

static long read_data(void *made, struct pipe *in, struct pipe *out, void *buffer, size_t room) {
    struct connection *connection = on(made, in, out);
    int result = wolfSSL_read(connection->ssl, buffer, (int)room);
    if (result > 0) {
        return result;
    }
    int error = wolfSSL_get_error(connection->ssl, result);
    return error == WOLFSSL_ERROR_WANT_READ ? 0 : wolfssl_failed("read", error);
}

static int write_data(void *made, struct pipe *in, struct pipe *out, const void *data, size_t len) {
    struct connection *connection = on(made, in, out);
    int result = wolfSSL_write(connection->ssl, data, (int)len);
    return result == (int)len ? DONE : wolfssl_failed("write", wolfSSL_get_error(connection->ssl, result));
}

static void end(void *made) {
    struct connection *connection = made;
    if (connection->world->resumes && connection->side == CLIENT) {
        keep_session(connection);
    }
    wolfSSL_free(connection->ssl);
    free(connection);
}

static const char *version(void) {
    static char text[40];
    snprintf(text, sizeof text, "wolfSSL %s", wolfSSL_lib_version());
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
