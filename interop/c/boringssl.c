/* BoringSSL: DTLS 1.2 and 1.3. What it does not have (early data over datagrams, cookies of its server, connection IDs,
 * the two extensions about the sizes of records) is refused. */

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "peer.h"

#define EXPORTED 32
#define LEAST_DATAGRAM 228 /* it takes no lower limit */
#define DATAGRAM 1472       /* in an Ethernet frame */

static SSL_CTX *context;
static SSL *connection;
static SSL_SESSION *session;
static unsigned char *peer_key; /* the only raw public key that is believed */
static size_t peer_key_len;

static void must(int result, const char *what) {
    if (result != 1) {
        refuse("%s: BoringSSL says %s", what, ERR_reason_error_string(ERR_peek_last_error()));
    }
}

static void set_versions(void) {
    must(SSL_CTX_set_min_proto_version(context, options.tls12 ? DTLS1_2_VERSION : DTLS1_3_VERSION), "version");
    must(SSL_CTX_set_max_proto_version(context, options.tls13 ? DTLS1_3_VERSION : DTLS1_2_VERSION), "version");
}

static void copy(uint16_t *to, const struct list *list) {
    for (int i = 0; i < list->count; i++) {
        to[i] = (uint16_t)list->values[i];
    }
}

/* Sets the suites: those of DTLS 1.3 by their code points, the others by name. */
static void set_suites(void) {
    char names[MOST * 50] = "";
    uint16_t suites[MOST];
    size_t count = 0;
    for (int i = 0; i < options.suites.count; i++) {
        const SSL_CIPHER *suite = SSL_get_cipher_by_value((uint16_t)options.suites.values[i]);
        if (suite == NULL) {
            refuse("no suite %x", options.suites.values[i]);
        } else if (options.suites.values[i] >> 8 == 0x13) {
            suites[count++] = (uint16_t)options.suites.values[i];
        } else {
            strcat(names, names[0] != 0 ? ":" : "");
            strcat(names, SSL_CIPHER_get_name(suite));
        }
    }
    if (count > 0) {
        must(SSL_CTX_set1_tls13_ciphers(context, suites, NULL, count), "suites");
    }
    if (names[0] != 0) {
        must(SSL_CTX_set_strict_cipher_list(context, names), names);
    }
}

static void set_schemes(void) {
    uint16_t schemes[MOST];
    size_t count = (size_t)options.schemes.count;
    copy(schemes, &options.schemes);
    must(SSL_CTX_set_verify_algorithm_prefs(context, schemes, count), "schemes");
    must(SSL_CTX_set_signing_algorithm_prefs(context, schemes, count), "schemes");
}

static int verify_mode(void) {
    if (options.server && options.asks == ASKS_NO) {
        return SSL_VERIFY_NONE;
    }
    return SSL_VERIFY_PEER | (options.server && options.asks == ASKS_REQUIRED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
}

static void set_certificates(void) {
    if (options.ca != NULL) {
        must(SSL_CTX_load_verify_locations(context, options.ca, NULL), options.ca);
    }
    if (options.chain != NULL) {
        must(SSL_CTX_use_certificate_chain_file(context, options.chain), options.chain);
    }
    if (options.key != NULL && options.raw_key == NULL) {
        must(SSL_CTX_use_PrivateKey_file(context, options.key, SSL_FILETYPE_PEM), options.key);
    }
    SSL_CTX_set_verify(context, verify_mode(), NULL);
}

/* Judges the raw public key of the peer (RFC 7250). */
static enum ssl_verify_result_t judge_raw_key(SSL *ssl, uint8_t *alert) {
    EVP_PKEY *key = SSL_get0_peer_rpk(ssl);
    uint8_t *bytes = NULL;
    int len = key == NULL ? -1 : i2d_PUBKEY(key, &bytes);
    int is_believed = len >= 0 && (size_t)len == peer_key_len && memcmp(bytes, peer_key, peer_key_len) == 0;
    OPENSSL_free(bytes);
    *alert = SSL_AD_BAD_CERTIFICATE;
    return is_believed ? ssl_verify_ok : ssl_verify_invalid;
}

static void set_raw_keys(void) {
    static const uint8_t raw[] = {TLSEXT_cert_type_rpk};
    if (options.raw_key != NULL) {
        BIO *file = BIO_new_file(options.key, "r");
        EVP_PKEY *key = file == NULL ? NULL : PEM_read_bio_PrivateKey(file, NULL, NULL, NULL);
        SSL_CREDENTIAL *credential = key == NULL ? NULL : SSL_CREDENTIAL_new_raw_public_key(key);
        must(credential != NULL && SSL_CTX_add1_credential(context, credential), options.key);
        SSL_CREDENTIAL_free(credential);
        EVP_PKEY_free(key);
        BIO_free(file);
    }
    if (options.peer_raw_key != NULL) {
        peer_key = contents(options.peer_raw_key, &peer_key_len);
        must(SSL_CTX_set1_accepted_peer_cert_types(context, raw, sizeof raw), "certificate types");
        SSL_CTX_set_custom_verify(context, verify_mode(), judge_raw_key);
    }
}

/* BoringSSL imports every pre-shared key (RFC 9258), here with an empty context. */
static void set_psk(void) {
    const uint8_t *identity = (const uint8_t *)options.identity;
    SSL_CREDENTIAL *credential = SSL_CREDENTIAL_new_pre_shared_key(options.psk, options.psk_len, identity,
                                                                   strlen(options.identity), EVP_sha256(), NULL, 0);
    must(credential != NULL && SSL_CTX_add1_credential(context, credential), "pre-shared key");
    SSL_CREDENTIAL_free(credential);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL); /* else a client takes certificates as well */
}

/* Turns `names`, which are separated by commas, into a list of names with their lengths. */
static unsigned protocol_list(unsigned char *list, const char *names) {
    unsigned len = 0;
    while (*names != 0) {
        size_t name = strcspn(names, ",");
        list[len] = (unsigned char)name;
        memcpy(list + len + 1, names, name);
        len += 1 + (unsigned)name;
        names += name + (names[name] == ',');
    }
    return len;
}

/* Selects an application protocol: the server's preference decides. */
static int select_protocol(SSL *ssl, const uint8_t **out, uint8_t *out_len, const uint8_t *in, unsigned in_len,
                           void *unused) {
    static unsigned char list[256];
    unsigned len = protocol_list(list, options.protocols);
    (void)ssl;
    (void)unused;
    int result = SSL_select_next_proto((uint8_t **)out, out_len, list, len, in, in_len);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int session_came(SSL *ssl, SSL_SESSION *came) {
    (void)ssl;
    say("ticket");
    SSL_SESSION_free(session);
    session = came;
    return 1; /* it is ours now */
}

static void alert_passed(const SSL *ssl, int type, int value) {
    (void)ssl;
    if (value >> 8 == SSL3_AL_FATAL && (type == SSL_CB_READ_ALERT || type == SSL_CB_WRITE_ALERT)) {
        say("alert %s %d", type == SSL_CB_READ_ALERT ? "received" : "sent", value & 0xff);
    }
}

const char *library_version(void) {
    static char text[60];
    snprintf(text, sizeof text, "BoringSSL of %s", CRATE);
    return text;
}

void library_setup(void) {
    if (!options.datagrams || options.cookie || options.connection_id >= 0 || options.fragment != 0) {
        refuse("BoringSSL is asked for something that it does not have");
    }
    context = SSL_CTX_new(DTLS_method());
    must(context != NULL, "context");
    set_versions();
    set_certificates();
    if (options.raw_key != NULL || options.peer_raw_key != NULL) {
        set_raw_keys();
    }
    if (options.identity != NULL) {
        set_psk();
    }
    if (options.suites.count > 0) {
        set_suites();
    }
    if (options.groups.count > 0) {
        uint16_t groups[MOST];
        copy(groups, &options.groups);
        must(SSL_CTX_set1_group_ids(context, groups, (size_t)options.groups.count), "groups");
    }
    if (options.schemes.count > 0) {
        set_schemes();
    }
    if (!options.tickets) {
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    }
    if (options.protocols != NULL && options.server) {
        SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    }
    if (!options.server) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT);
        SSL_CTX_sess_set_new_cb(context, session_came);
    } else {
        must(SSL_CTX_set_session_id_context(context, (const uint8_t *)"peer", 4), "sessions");
    }
    SSL_CTX_set_info_callback(context, alert_passed);
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU);
}

static void say_why(int result) {
    int error = SSL_get_error(connection, result);
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    say("failed %d: %s", error, reason == NULL ? "" : reason);
    ERR_clear_error();
}

/* Sets what can only be set on a connection. */
static void prepare(int again) {
    int datagram = options.datagram == 0 ? DATAGRAM : options.datagram;
    must(SSL_set_mtu(connection, (unsigned)(datagram < LEAST_DATAGRAM ? LEAST_DATAGRAM : datagram)), "MTU");
    if (options.server) {
        SSL_set_accept_state(connection);
        return;
    }
    SSL_set_connect_state(connection);
    if (options.name != NULL && options.ca != NULL) {
        must(X509_VERIFY_PARAM_set1_host(SSL_get0_param(connection), options.name, strlen(options.name)), "name");
    }
    if (options.name != NULL && options.sends_name) {
        must(SSL_set_tlsext_host_name(connection, options.name), "SNI");
    }
    if (options.groups.count > 0 && options.tls13) {
        uint16_t first = (uint16_t)options.groups.values[0];
        must(SSL_set1_client_key_shares(connection, &first, 1), "key share");
    }
    if (options.protocols != NULL) {
        unsigned char list[256];
        must(SSL_set_alpn_protos(connection, list, protocol_list(list, options.protocols)) == 0, "ALPN");
    }
    if (again && session == NULL) {
        say("nothing to resume");
    } else if (again) {
        must(SSL_set_session(connection, session), "session");
    }
}

static void say_what_was_agreed_on(void) {
    const uint8_t *protocol;
    unsigned protocol_len;
    const char *name = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
    say("version %s", SSL_version(connection) == DTLS1_3_VERSION ? "1.3" : "1.2");
    say("suite %04x", (unsigned)SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(connection)));
    say("resumed %s", SSL_session_reused(connection) ? "yes" : "no");
    SSL_get0_alpn_selected(connection, &protocol, &protocol_len);
    if (protocol_len > 0) {
        say("protocol %.*s", (int)protocol_len, (const char *)protocol);
    }
    if (options.server && name != NULL) {
        say("server name %s", name);
    }
    if (options.exporter != NULL) {
        unsigned char exported[EXPORTED];
        must(SSL_export_keying_material(connection, exported, sizeof exported, options.exporter,
                                        strlen(options.exporter), NULL, 0, 0),
             "exporter");
        say_hex("keying material", exported, sizeof exported);
    }
    say("connected");
}

int library_handshake(int socket, int again) {
    int result;
    connection = SSL_new(context);
    must(connection != NULL, "connection");
    must(SSL_set_fd(connection, socket), "socket");
    prepare(again);
    fcntl(socket, F_SETFL, O_NONBLOCK);
    while ((result = SSL_do_handshake(connection)) != 1) {
        struct pollfd wanted = {.fd = socket, .events = POLLIN};
        if (SSL_get_error(connection, result) != SSL_ERROR_WANT_READ) {
            say_why(result);
            return 0;
        }
        if (poll(&wanted, 1, library_timeout()) == 0) {
            library_timed_out();
        }
    }
    say_what_was_agreed_on();
    return 1;
}

int library_timeout(void) {
    struct timeval left;
    return DTLSv1_get_timeout(connection, &left) ? (int)(left.tv_sec * 1000 + left.tv_usec / 1000) + 1 : -1;
}

void library_timed_out(void) {
    if (DTLSv1_handle_timeout(connection) < 0) {
        say_why(-1);
    }
}

int library_read(void *buffer, size_t room) {
    int len = SSL_read(connection, buffer, (int)room);
    if (len > 0) {
        return len;
    }
    switch (SSL_get_error(connection, len)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return READ_NOTHING;
    case SSL_ERROR_ZERO_RETURN:
        return READ_CLOSED;
    default:
        say_why(len);
        return READ_FAILED;
    }
}

int library_write(const void *data, size_t len) {
    int sent = SSL_write(connection, data, (int)len);
    if (sent != (int)len) {
        say_why(sent);
    }
    return sent == (int)len;
}

void library_close(void) {
    SSL_shutdown(connection);
}

void library_update_keys(void) {
    must(SSL_key_update(connection, SSL_KEY_UPDATE_REQUESTED), "keys");
    SSL_write(connection, "", 0); /* which sends it */
    say("keys updated");
}

void library_end(void) {
    SSL_free(connection);
    connection = NULL;
}
