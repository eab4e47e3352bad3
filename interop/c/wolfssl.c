/* wolfSSL, 5.5 and later: TLS 1.2 and 1.3, DTLS 1.2 and 1.3. What a build of the library lacks (DTLS 1.3, early data, raw
 * public keys) is refused. */

#ifdef WOLFSSL_USER_SETTINGS
#include <wolfssl/wolfcrypt/settings.h>
#else
#include <wolfssl/options.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <wolfssl/error-ssl.h>
#include <wolfssl/ssl.h>

#include "peer.h"

#define EXPORTED 32
#define EARLY_DATA 1024
#define LEAST_DATAGRAM 228    /* with less, wolfSSL gives up */
#define LEAST_OF_CLIENT13 320 /* its client sends its first ClientHello of DTLS 1.3 whole, or gives up */

static WOLFSSL_CTX *context;
static WOLFSSL *connection;
static WOLFSSL_SESSION *session;

/* As RFC 8446 and RFC 5246 number them, and wolfSSL names them. */
static const struct {
    unsigned scheme;
    const char *name;
} schemes[] = {
    {0x0401, "RSA+SHA256"},     {0x0501, "RSA+SHA384"},     {0x0601, "RSA+SHA512"}, {0x0403, "ECDSA+SHA256"},
    {0x0503, "ECDSA+SHA384"},   {0x0804, "RSA-PSS+SHA256"}, {0x0805, "RSA-PSS+SHA384"},
    {0x0806, "RSA-PSS+SHA512"}, {0x0807, "ED25519"},
};

static void must(int result, const char *what) {
    if (result != WOLFSSL_SUCCESS) {
        refuse("%s: wolfSSL answers %d", what, result);
    }
}

static WOLFSSL_METHOD *method(void) {
    if (options.datagrams && !options.tls13) {
        return options.server ? wolfDTLSv1_2_server_method() : wolfDTLSv1_2_client_method();
#ifdef WOLFSSL_DTLS13
    } else if (options.datagrams && !options.tls12) {
        return options.server ? wolfDTLSv1_3_server_method() : wolfDTLSv1_3_client_method();
    } else if (options.datagrams) {
        return options.server ? wolfDTLS_server_method() : wolfDTLS_client_method();
#endif
    } else if (options.tls12 && options.tls13) {
        return options.server ? wolfSSLv23_server_method() : wolfSSLv23_client_method();
    } else if (options.tls13) {
        return options.server ? wolfTLSv1_3_server_method() : wolfTLSv1_3_client_method();
    }
    return options.server ? wolfTLSv1_2_server_method() : wolfTLSv1_2_client_method();
}

static void set_suites(void) {
    unsigned char bytes[2 * MOST];
    for (int i = 0; i < options.suites.count; i++) {
        bytes[2 * i] = (unsigned char)(options.suites.values[i] >> 8);
        bytes[2 * i + 1] = (unsigned char)options.suites.values[i];
    }
    must(wolfSSL_CTX_set_cipher_list_bytes(context, bytes, 2 * options.suites.count), "suites");
}

static void set_groups(void) {
    int groups[MOST];
    for (int i = 0; i < options.groups.count; i++) {
        groups[i] = (int)options.groups.values[i];
        must(wolfSSL_CTX_UseSupportedCurve(context, (word16)groups[i]), "group");
    }
    if (options.tls13) {
        must(wolfSSL_CTX_set_groups(context, groups, options.groups.count), "groups");
    }
}

static void set_schemes(void) {
    char names[MOST * 20] = "";
    for (int i = 0; i < options.schemes.count; i++) {
        size_t known = 0;
        while (known < sizeof schemes / sizeof *schemes && schemes[known].scheme != options.schemes.values[i]) {
            known++;
        }
        if (known == sizeof schemes / sizeof *schemes) {
            refuse("no signature scheme %x", options.schemes.values[i]);
        }
        strcat(names, i > 0 ? ":" : "");
        strcat(names, schemes[known].name);
    }
    if (options.suites.count == 0) {
        /* Setting signature schemes alone makes 5.9 forget its suites. */
        must(wolfSSL_CTX_set_cipher_list(context, "DEFAULT"), "suites");
    }
    must(wolfSSL_CTX_set1_sigalgs_list(context, names), "schemes");
}

static unsigned int give_psk(unsigned char *key, unsigned int room) {
    if (options.psk_len > room) {
        return 0;
    }
    memcpy(key, options.psk, options.psk_len);
    return (unsigned int)options.psk_len;
}

static unsigned int client_psk(WOLFSSL *ssl, const char *hint, char *identity, unsigned int identity_room,
                               unsigned char *key, unsigned int room) {
    (void)ssl;
    (void)hint;
    snprintf(identity, identity_room, "%s", options.identity);
    return give_psk(key, room);
}

static unsigned int server_psk(WOLFSSL *ssl, const char *identity, unsigned char *key, unsigned int room) {
    (void)ssl;
    say("identity %s", identity);
    return strcmp(identity, options.identity) == 0 ? give_psk(key, room) : 0;
}

/* A key goes with a hash, which wolfSSL takes from a suite. */
static const char *suite_of_psk(void) {
    switch (options.suites.count > 0 ? options.suites.values[0] : 0x1301) {
    case 0x1304:
        return "TLS13-AES128-CCM-SHA256";
    case 0x1305:
        return "TLS13-AES128-CCM-8-SHA256";
    case 0x1303:
        return "TLS13-CHACHA20-POLY1305-SHA256";
    default:
        return "TLS13-AES128-GCM-SHA256";
    }
}

static unsigned int client_psk13(WOLFSSL *ssl, const char *hint, char *identity, unsigned int identity_room,
                                 unsigned char *key, unsigned int room, const char **suite) {
    *suite = suite_of_psk();
    return client_psk(ssl, hint, identity, identity_room, key, room);
}

static unsigned int server_psk13(WOLFSSL *ssl, const char *identity, unsigned char *key, unsigned int room,
                                 const char **suite) {
    *suite = suite_of_psk();
    return server_psk(ssl, identity, key, room);
}

static void set_psk(void) {
    if (options.server) {
        must(wolfSSL_CTX_use_psk_identity_hint(context, ""), "hint");
        wolfSSL_CTX_set_psk_server_callback(context, server_psk);
        wolfSSL_CTX_set_psk_server_tls13_callback(context, server_psk13);
    } else {
        wolfSSL_CTX_set_psk_client_callback(context, client_psk);
        wolfSSL_CTX_set_psk_client_tls13_callback(context, client_psk13);
    }
}

static void set_certificates(void) {
    int mode = WOLFSSL_VERIFY_PEER;
    if (options.ca != NULL) {
        must(wolfSSL_CTX_load_verify_locations(context, options.ca, NULL), options.ca);
    }
    if (options.chain != NULL) {
        must(wolfSSL_CTX_use_certificate_chain_file(context, options.chain), options.chain);
    }
    if (options.key != NULL) {
        must(wolfSSL_CTX_use_PrivateKey_file(context, options.key, WOLFSSL_FILETYPE_PEM), options.key);
    }
    if (options.server && options.asks == ASKS_NO) {
        mode = WOLFSSL_VERIFY_NONE;
    } else if (options.server && options.asks == ASKS_REQUIRED) {
        mode |= WOLFSSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    wolfSSL_CTX_set_verify(context, mode, NULL);
}

/* RFC 7250: raw keys for the sides that have one, certificates for the others. */
static void set_raw_keys(void) {
#ifdef HAVE_RPK
    static const char raw[] = {WOLFSSL_CERT_TYPE_RPK}, x509[] = {WOLFSSL_CERT_TYPE_X509};
    const char *own = options.raw_key != NULL ? raw : x509;
    const char *peers = options.peer_raw_key != NULL ? raw : x509;
    size_t len;
    if (options.raw_key != NULL) {
        unsigned char *key = contents(options.raw_key, &len);
        must(wolfSSL_CTX_use_certificate_buffer(context, key, (long)len, WOLFSSL_FILETYPE_ASN1), options.raw_key);
    }
    if (options.peer_raw_key != NULL) {
        unsigned char *key = contents(options.peer_raw_key, &len);
        must(wolfSSL_CTX_set_expected_rpk(context, key, (unsigned)len), options.peer_raw_key);
    }
    must(wolfSSL_CTX_set_client_cert_type(context, options.server ? peers : own, 1), "client certificate type");
    must(wolfSSL_CTX_set_server_cert_type(context, options.server ? own : peers, 1), "server certificate type");
#else
    refuse("this wolfSSL has no raw public keys");
#endif
}

static void set_resumption(void) {
    if (!options.tickets) {
        must(wolfSSL_CTX_NoTicketTLSv12(context), "no tickets");
        wolfSSL_CTX_no_ticket_TLSv13(context);
    } else if (!options.server) {
        must(wolfSSL_CTX_UseSessionTicket(context), "tickets");
    }
    if (!options.session_ids) {
        wolfSSL_CTX_set_session_cache_mode(context, WOLFSSL_SESS_CACHE_OFF);
    }
    if (options.early_data != NULL) {
#ifdef WOLFSSL_EARLY_DATA
        if (options.server) {
            wolfSSL_CTX_set_max_early_data(context, EARLY_DATA);
        }
#else
        refuse("this wolfSSL has no early data");
#endif
    }
}

const char *library_version(void) {
    static char text[40];
    snprintf(text, sizeof text, "wolfSSL %s", wolfSSL_lib_version());
    return text;
}

void library_setup(void) {
    wolfSSL_Init();
    context = wolfSSL_CTX_new(method());
    if (context == NULL) {
        refuse("wolfSSL has no such versions");
    }
    if (options.datagrams && options.tls12) {
        must(wolfSSL_CTX_SetMinVersion(context, WOLFSSL_DTLSV1_2), "version");
    } else if (!options.datagrams) {
        must(wolfSSL_CTX_SetMinVersion(context, options.tls12 ? WOLFSSL_TLSV1_2 : WOLFSSL_TLSV1_3), "version");
    }
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
        set_groups();
    }
    if (options.schemes.count > 0) {
        set_schemes();
    }
    set_resumption();
    if (!options.extended_master_secret) {
        must(wolfSSL_CTX_DisableExtendedMasterSecret(context), "no extended master secret");
    }
}

/* Says which alert ended a connection, and what wolfSSL thinks of it. */
static void say_why(void) {
    WOLFSSL_ALERT_HISTORY alerts;
    int error = wolfSSL_get_error(connection, 0);
    wolfSSL_get_alert_history(connection, &alerts);
    if (alerts.last_rx.code >= 0) {
        say("alert received %d", alerts.last_rx.code);
    }
    if (alerts.last_tx.code >= 0) {
        say("alert sent %d", alerts.last_tx.code);
    }
    say("failed %d: %s", error, wolfSSL_ERR_reason_error_string((unsigned long)error));
}

static int ticket_came(WOLFSSL *ssl, const unsigned char *ticket, int len, void *unused) {
    (void)ssl;
    (void)ticket;
    (void)unused;
    say("ticket of %d bytes", len);
    return 0;
}

/* Asks for connection IDs (RFC 9146). */
static void set_connection_id(void) {
#ifdef WOLFSSL_DTLS_CID
    static unsigned char id[] = "connection-id-of-the-peer";
    must(wolfSSL_dtls_cid_use(connection), "connection IDs");
    must(wolfSSL_dtls_cid_set(connection, options.connection_id == 0 ? NULL : id, (unsigned)options.connection_id),
         "connection ID");
#else
    refuse("this wolfSSL has no connection IDs");
#endif
}

static void set_datagrams(int socket) {
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    if (getpeername(socket, (struct sockaddr *)&peer, &len) != 0) {
        refuse("no peer");
    }
    must(wolfSSL_dtls_set_peer(connection, &peer, len), "peer");
    if (options.server && options.tls12) {
        must(wolfSSL_DTLS_SetCookieSecret(connection, NULL, 0) == 0 ? WOLFSSL_SUCCESS : 0, "cookies");
    }
#ifdef WOLFSSL_DTLS13
    if (options.server && options.tls13 && !options.cookie) {
        must(wolfSSL_disable_hrr_cookie(connection), "no cookies"); /* with them, it takes no ClientHello that is cut */
        must(wolfSSL_dtls13_allow_ch_frag(connection, 1), "fragments");
    }
#endif
#ifdef WOLFSSL_DTLS_MTU /* without it, what is sent fits into an Ethernet frame */
    if (options.datagram != 0) {
        int least = options.tls13 && !options.server ? LEAST_OF_CLIENT13 : LEAST_DATAGRAM;
        int datagram = options.datagram < least ? least : options.datagram;
        must(wolfSSL_dtls_set_mtu(connection, (unsigned short)datagram), "MTU");
    }
#endif
    if (options.connection_id >= 0) {
        set_connection_id();
    }
}

/* Sets what can only be set on a connection. */
static void prepare(int again) {
    wolfSSL_KeepArrays(connection); /* for exporters of TLS 1.2 */
    if (options.protocols != NULL) {
        char names[256];
        snprintf(names, sizeof names, "%s", options.protocols);
        must(wolfSSL_UseALPN(connection, names, (unsigned)strlen(names), WOLFSSL_ALPN_FAILED_ON_MISMATCH), "ALPN");
    }
    if (options.server) {
        if (options.cookie && !options.datagrams) { /* where it always sends one */
            must(wolfSSL_send_hrr_cookie(connection, NULL, 0), "cookie");
        }
        return;
    }
    if (options.name != NULL && options.ca != NULL) {
        must(wolfSSL_check_domain_name(connection, options.name), options.name);
    }
    if (options.name != NULL && options.sends_name) {
        must(wolfSSL_UseSNI(connection, WOLFSSL_SNI_HOST_NAME, options.name, (word16)strlen(options.name)), "SNI");
    }
    if (options.fragment != 0) {
        must(wolfSSL_UseMaxFragment(connection, (unsigned char)options.fragment), "max_fragment_length");
    }
    wolfSSL_set_SessionTicket_cb(connection, ticket_came, NULL);
    if (again && session != NULL && wolfSSL_set_session(connection, session) != WOLFSSL_SUCCESS) {
        say("nothing to resume");
    }
}

/* Handles data in the first flight. Returns false if the connection has failed. */
static int exchange_early_data(int again) {
#ifdef WOLFSSL_EARLY_DATA
    int len = 0;
    if (options.early_data != NULL && !options.server && again) {
        int result = wolfSSL_write_early_data(connection, options.early_data, (int)strlen(options.early_data), &len);
        return result >= 0 || wolfSSL_get_error(connection, result) == WOLFSSL_ERROR_NONE;
    } else if (options.early_data != NULL && options.server) {
        char buffer[EARLY_DATA];
        int result;
        while ((result = wolfSSL_read_early_data(connection, buffer, sizeof buffer, &len)) > 0) {
            say("early data of %d bytes", len);
            deliver(buffer, (size_t)len);
        }
        return result == 0;
    }
#else
    (void)again;
#endif
    return 1;
}

static void say_what_was_agreed_on(void) {
    char *protocol = NULL;
    unsigned short protocol_len = 0;
    void *name = NULL;
    say("version %s", strstr(wolfSSL_get_version(connection), "TLSv1.3") != NULL ? "1.3" : "1.2");
    say("suite %04x", (unsigned)wolfSSL_get_current_cipher_suite(connection));
    say("resumed %s", wolfSSL_session_reused(connection) ? "yes" : "no");
    if (options.protocols != NULL && wolfSSL_ALPN_GetProtocol(connection, &protocol, &protocol_len) == WOLFSSL_SUCCESS) {
        say("protocol %.*s", (int)protocol_len, protocol);
    }
    if (options.server && wolfSSL_SNI_GetRequest(connection, WOLFSSL_SNI_HOST_NAME, &name) > 0) {
        say("server name %s", (char *)name);
    }
#ifdef WOLFSSL_EARLY_DATA
    if (options.tls13 && !options.server && options.early_data != NULL) {
        int accepted = wolfSSL_get_early_data_status(connection) == WOLFSSL_EARLY_DATA_ACCEPTED;
        say("early data %s", accepted ? "accepted" : "not accepted");
    }
#endif
    if (options.exporter != NULL) {
        unsigned char exported[EXPORTED];
        must(wolfSSL_export_keying_material(connection, exported, sizeof exported, options.exporter,
                                            strlen(options.exporter), NULL, 0, 0),
             "exporter");
        say_hex("keying material", exported, sizeof exported);
    }
    say("connected");
}

/* Makes the handshake. Returns whether it succeeded. */
static int shake_hands(void) {
    if (!options.server) {
        int result;
        /* Over datagrams the answer to early data comes before the server has acknowledged the last flight. */
        while ((result = wolfSSL_connect(connection)) != WOLFSSL_SUCCESS &&
               wolfSSL_get_error(connection, result) == APP_DATA_READY) {
            char buffer[1024];
            int len = wolfSSL_read(connection, buffer, sizeof buffer);
            if (len <= 0) {
                return 0;
            }
            deliver(buffer, (size_t)len);
        }
        return result == WOLFSSL_SUCCESS;
    }
#ifdef WOLFSSL_DTLS13
    if (options.datagrams && !options.tls12) { /* the other call asks for a cookie, whatever was set */
        return wolfSSL_accept_TLSv13(connection) == WOLFSSL_SUCCESS;
    }
#endif
    return wolfSSL_accept(connection) == WOLFSSL_SUCCESS;
}

int library_handshake(int socket, int again) {
    connection = wolfSSL_new(context);
    if (connection == NULL) {
        refuse("no connection");
    }
    must(options.datagrams ? wolfSSL_set_dtls_fd_connected(connection, socket) : wolfSSL_set_fd(connection, socket),
         "socket");
    if (options.datagrams) {
        set_datagrams(socket);
    }
    prepare(again);
    if (!exchange_early_data(again) || !shake_hands()) {
        say_why();
        return 0;
    }
    if (options.datagrams) {
        wolfSSL_dtls_set_using_nonblock(connection, 1);
    }
    say_what_was_agreed_on();
    return 1;
}

int library_read(void *buffer, size_t room) {
    int len = wolfSSL_read(connection, buffer, (int)room);
    if (len > 0) {
        return len;
    }
    switch (wolfSSL_get_error(connection, len)) {
    case WOLFSSL_ERROR_WANT_READ:
    case WOLFSSL_ERROR_WANT_WRITE:
        return READ_NOTHING;
    case WOLFSSL_ERROR_ZERO_RETURN:
        return READ_CLOSED;
    default:
        say_why();
        return READ_FAILED;
    }
}

/* wolfSSL sends only acknowledgements when the short time is over. */
int library_timeout(void) {
#ifdef WOLFSSL_DTLS13
    if (options.tls13 && (wolfSSL_dtls13_has_pending_msg(connection) || wolfSSL_dtls13_use_quick_timeout(connection))) {
        int seconds = wolfSSL_dtls_get_current_timeout(connection);
        return wolfSSL_dtls13_use_quick_timeout(connection) ? seconds * 1000 / 4 : seconds * 1000;
    }
#endif
    return -1;
}

void library_timed_out(void) {
    if (wolfSSL_dtls_got_timeout(connection) != WOLFSSL_SUCCESS) {
        say_why();
    }
}

int library_write(const void *data, size_t len) {
    for (;;) {
        int sent = wolfSSL_write(connection, data, (int)len);
        if (sent == (int)len) {
            return 1;
        }
        int error = wolfSSL_get_error(connection, sent);
        if (error != WOLFSSL_ERROR_WANT_WRITE && error != WOLFSSL_ERROR_WANT_READ) {
            say_why();
            return 0;
        }
        wait_for_socket(wolfSSL_get_fd(connection), error == WOLFSSL_ERROR_WANT_WRITE);
    }
}

void library_close(void) {
    wolfSSL_shutdown(connection);
}

void library_update_keys(void) {
    int result = wolfSSL_update_keys(connection);
    if (result != WOLFSSL_SUCCESS && result != WOLFSSL_ERROR_WANT_WRITE) {
        say("keys: wolfSSL answers %d", result);
    }
    say("keys updated");
}

void library_end(void) {
    if (!options.server) {
        wolfSSL_SESSION_free(session);
        session = wolfSSL_get1_session(connection);
    }
    wolfSSL_free(connection);
    connection = NULL;
}
