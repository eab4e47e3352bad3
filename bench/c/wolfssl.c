/* wolfSSL 5.9, in whichever build `user_settings.h` describes. */

#include <wolfssl/wolfcrypt/settings.h>

#include <wolfssl/error-ssl.h>
#include <wolfssl/ssl.h>

#include "peer.h"

struct world {
    WOLFSSL_CTX *contexts[2];
    WOLFSSL_SESSION *session;
    char *name;
    size_t mtu;
    int resumes;
    int tls13;
    int cookie;
};

struct connection {
    WOLFSSL *ssl;
    struct world *world;
    struct pipe *in;
    struct pipe *out;
    int64_t waits_since;
    int side;
    int sends_hello;
    int is_connected;
};

#ifdef WOLFSSL_DTLS
static int64_t (*now)(void);

word32 LowResTimer(void) {
    return (word32)(now() / 1000);
}

sword64 TimeNowInMilliseconds(void) {
    return now();
}
#endif

static int wolfssl_failed(const char *what, int code) {
    char text[WOLFSSL_MAX_ERROR_SZ];
    return failed(what, code, wolfSSL_ERR_error_string((unsigned long)code, text));
}

/* In DTLS 1.2 wolfSSL cuts no hello, and keeps at most 21 records of a flight: so many bytes are enough for both, with three RSA
 * certificates, and fill three packets of 127. */
#define LEAST_MTU_12 208

/* In DTLS 1.3 wolfSSL's servers accept no fragments of a ClientHello, and give fragments of a HelloRetryRequest a type that does
 * not exist (6, for 2). */
static void choose_mtu(struct connection *connection) {
#ifdef WOLFSSL_DTLS
    size_t least = connection->world->tls13 ? 0 : LEAST_MTU_12, mtu = connection->world->mtu;
    if (wolfSSL_dtls(connection->ssl)) {
        wolfSSL_dtls_set_mtu(connection->ssl, (word16)(connection->sends_hello ? MTU : mtu < least ? least : mtu));
    }
#else
    (void)connection;
#endif
}

/* Whether a datagram begins with one of the first messages of a handshake: ClientHello, ServerHello, HelloVerifyRequest. */
static int is_hello(const void *data, size_t len) {
    const unsigned char *datagram = data;
    return len > 13 && datagram[0] == 22 && datagram[3] == 0 && datagram[4] == 0 && datagram[13] <= 3;
}

static int receive(WOLFSSL *ssl, char *buffer, int room, void *made) {
    struct connection *connection = made;
    (void)ssl;
    size_t len = pipe_read(connection->in, buffer, (size_t)room);
    int is_answered = connection->side == CLIENT && len > 0 && !is_hello(buffer, len);
    if (is_answered || (connection->side == SERVER && is_hello(buffer, len))) {
        connection->sends_hello = connection->side == SERVER;
        choose_mtu(connection);
    }
    return len > 0 ? (int)len : WOLFSSL_CBIO_ERR_WANT_READ;
}

static int transmit(WOLFSSL *ssl, char *data, int len, void *made) {
    struct connection *connection = made;
    (void)ssl;
    if (connection->side == SERVER && is_hello(data, (size_t)len)) {
        connection->sends_hello = 0;
        choose_mtu(connection);
    }
    return pipe_write(connection->out, data, (size_t)len) > 0 ? len : WOLFSSL_CBIO_ERR_WANT_WRITE;
}

static WOLFSSL_METHOD *method(const struct settings *settings, int side) {
#ifdef WOLFSSL_DTLS13
    if (settings->datagrams && settings->tls13) {
        return side == SERVER ? wolfDTLSv1_3_server_method() : wolfDTLSv1_3_client_method();
    }
#endif
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
#ifdef WOLFSSL_DTLS
    now = settings->now;
#endif
    wolfSSL_Init();
    for (int side = CLIENT; world != NULL && side <= SERVER; side++) {
        world->contexts[side] = wolfSSL_CTX_new(method(settings, side));
        if (world->contexts[side] == NULL || !set_up(world->contexts[side], settings, side)) {
            failed("configuration", side, "");
            return NULL;
        }
    }
    world->name = strdup(settings->name);
    world->mtu = settings->mtu;
    world->resumes = settings->resumes;
    world->tls13 = settings->tls13;
    world->cookie = settings->cookie;
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

/* In TLS 1.3 the client keeps its first session for ever: wolfSSL numbers the tickets of a chain of sessions, and ends the
 * chain after 255. */
static void keep_session(struct connection *connection) {
    struct world *world = connection->world;
    if (world->session == NULL || !world->tls13) {
        wolfSSL_SESSION_free(world->session);
        world->session = wolfSSL_get1_session(connection->ssl);
    }
}
#endif

#ifdef WOLFSSL_DTLS
static int set_up_datagrams(WOLFSSL *ssl, int side, int cookie) {
    wolfSSL_dtls_set_using_nonblock(ssl, 1);
#ifdef WOLFSSL_DTLS13
    if (side == SERVER && !cookie && wolfSSL_disable_hrr_cookie(ssl) != WOLFSSL_SUCCESS) {
        return 0;
    }
#else
    (void)cookie;
#endif
    return wolfSSL_dtls_set_peer(ssl, (void *)(uintptr_t)client_address, sizeof client_address) == WOLFSSL_SUCCESS &&
           (side == CLIENT || wolfSSL_DTLS_SetCookieSecret(ssl, cookie_secret, sizeof cookie_secret) == 0);
}
#else
static int set_up_datagrams(WOLFSSL *ssl, int side, int cookie) {
    (void)ssl;
    (void)side;
    (void)cookie;
    return 1;
}
#endif

static void *make_connection(void *made, int side) {
    struct world *world = made;
    struct connection *connection = calloc(1, sizeof *connection);
    connection->world = world;
    connection->side = side;
    connection->sends_hello = side == CLIENT;
    connection->ssl = wolfSSL_new(world->contexts[side]);
    choose_mtu(connection);
    wolfSSL_SetIOReadCtx(connection->ssl, connection);
    wolfSSL_SetIOWriteCtx(connection->ssl, connection);
    if (wolfSSL_dtls(connection->ssl) && !set_up_datagrams(connection->ssl, side, world->cookie)) {
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

/* The timer is the application's. It runs from when the application begins to wait, as wolfSSL's own timer does. */
static void begin_to_wait(struct connection *connection) {
#ifdef WOLFSSL_DTLS
    connection->waits_since = now();
#else
    (void)connection;
#endif
}

static int handshake(void *made, struct pipe *in, struct pipe *out) {
    struct connection *connection = on(made, in, out);
    int result = connection->side == SERVER ? wolfSSL_accept(connection->ssl) : wolfSSL_connect(connection->ssl);
    begin_to_wait(connection);
    if (result == WOLFSSL_SUCCESS) {
        connection->is_connected = 1;
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
    begin_to_wait(connection);
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

#ifdef WOLFSSL_DTLS
/* Whether something may have to be sent again: a server keeps nothing until it has the cookie, a client of DTLS 1.3 waits
 * for an ACK of its last flight. */
static int64_t deadline(void *made) {
    struct connection *connection = made;
    WOLFSSL *ssl = connection->ssl;
    int64_t timeout = (int64_t)wolfSSL_dtls_get_current_timeout(ssl) * 1000;
    int waits = connection->side == SERVER ? wolfSSL_is_stateful(ssl) && !connection->is_connected
                                           : connection->world->tls13 || !connection->is_connected;
#ifdef WOLFSSL_DTLS13
    if (wolfSSL_dtls13_use_quick_timeout(ssl)) {
        timeout /= 4;
        waits = 1;
    }
#endif
    return waits ? connection->waits_since + timeout : NEVER;
}

static int expire(void *made, struct pipe *in, struct pipe *out) {
    struct connection *connection = on(made, in, out);
    wolfSSL_dtls_set_mtu(connection->ssl, MTU); /* what goes out again was cut before */
    int result = wolfSSL_dtls_got_timeout(connection->ssl);
    choose_mtu(connection);
    begin_to_wait(connection);
    int error = wolfSSL_get_error(connection->ssl, result);
    if (result == WOLFSSL_SUCCESS || error == WOLFSSL_ERROR_WANT_READ || error == WOLFSSL_ERROR_WANT_WRITE) {
        return WAITS;
    }
    return wolfssl_failed("timeout", error);
}
#endif

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
#ifdef WOLFSSL_DTLS
    .deadline = deadline,
    .expire = expire,
#endif
    .end = end,
    .error = last_error,
};
