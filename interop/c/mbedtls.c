/* Mbed TLS 2.28: TLS 1.2 and DTLS 1.2. Of signature schemes it knows only the hashes, and of RSA only PKCS #1. */

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_cache.h>
#include <mbedtls/ssl_cookie.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/timing.h>
#include <mbedtls/version.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "peer.h"

#define EXPORTED 32
#define TICKET_LIFETIME 3600

static mbedtls_entropy_context entropy;
static mbedtls_ctr_drbg_context random_bytes;
static mbedtls_ssl_config config;
static mbedtls_x509_crt ca, chain;
static mbedtls_pk_context key;
static mbedtls_ssl_cache_context sessions;
static mbedtls_ssl_ticket_context tickets;
static mbedtls_ssl_context connection;
static mbedtls_ssl_session session;
static mbedtls_net_context stream;
static mbedtls_ssl_cookie_ctx cookies;
static mbedtls_timing_delay_context timer;
static unsigned char exported[EXPORTED];

static void must(int result, const char *what) {
    if (result != 0) {
        char text[200];
        mbedtls_strerror(result, text, sizeof text);
        refuse("%s: %s", what, text);
    }
}

static void set_certificates(void) {
    static const int modes[] = {MBEDTLS_SSL_VERIFY_NONE, MBEDTLS_SSL_VERIFY_OPTIONAL, MBEDTLS_SSL_VERIFY_REQUIRED};
    if (options.ca != NULL) {
        must(mbedtls_x509_crt_parse_file(&ca, options.ca), options.ca);
        mbedtls_ssl_conf_ca_chain(&config, &ca, NULL);
    }
    if (options.chain != NULL) {
        must(mbedtls_x509_crt_parse_file(&chain, options.chain), options.chain);
        must(mbedtls_pk_parse_keyfile(&key, options.key, NULL), options.key);
        must(mbedtls_ssl_conf_own_cert(&config, &chain, &key), "own certificate");
    }
    mbedtls_ssl_conf_authmode(&config, modes[options.server ? options.asks : ASKS_REQUIRED]);
}

static void set_suites(void) {
    static int suites[MOST + 1];
    for (int i = 0; i < options.suites.count; i++) {
        suites[i] = (int)options.suites.values[i];
    }
    mbedtls_ssl_conf_ciphersuites(&config, suites);
}

static void set_groups(void) {
    static mbedtls_ecp_group_id groups[MOST + 1];
    for (int i = 0; i < options.groups.count; i++) {
        const mbedtls_ecp_curve_info *curve = mbedtls_ecp_curve_info_from_tls_id((uint16_t)options.groups.values[i]);
        if (curve == NULL) {
            refuse("no group %x", options.groups.values[i]);
        }
        groups[i] = curve->grp_id;
    }
    mbedtls_ssl_conf_curves(&config, groups);
}

/* The hashes are numbered as in RFC 5246, 7.4.1.4.1. */
static void set_schemes(void) {
    static const int known[] = {
        [4] = MBEDTLS_MD_SHA256,
        [5] = MBEDTLS_MD_SHA384,
        [6] = MBEDTLS_MD_SHA512,
    };
    static int hashes[MOST + 1];
    int count = 0;
    for (int i = 0; i < options.schemes.count; i++) {
        unsigned hash = options.schemes.values[i] >> 8;
        if (hash < 4 || hash > 6) {
            refuse("no signature scheme %x", options.schemes.values[i]);
        }
        hashes[count++] = known[hash];
    }
    mbedtls_ssl_conf_sig_hashes(&config, hashes);
}

static void set_protocols(void) {
    static const char *names[MOST + 1];
    int count = 0;
    for (char *name = strtok(strdup(options.protocols), ","); name != NULL; name = strtok(NULL, ",")) {
        names[count++] = name;
    }
    must(mbedtls_ssl_conf_alpn_protocols(&config, names), "ALPN");
}

static void set_resumption(void) {
    if (options.server) {
        if (options.session_ids) {
            mbedtls_ssl_conf_session_cache(&config, &sessions, mbedtls_ssl_cache_get, mbedtls_ssl_cache_set);
        }
        if (options.tickets) {
            must(mbedtls_ssl_ticket_setup(&tickets, mbedtls_ctr_drbg_random, &random_bytes, MBEDTLS_CIPHER_AES_256_GCM,
                                          TICKET_LIFETIME),
                 "tickets");
            mbedtls_ssl_conf_session_tickets_cb(&config, mbedtls_ssl_ticket_write, mbedtls_ssl_ticket_parse, &tickets);
        }
    } else {
        mbedtls_ssl_conf_session_tickets(&config, options.tickets);
    }
}

static int name_came(void *unused, mbedtls_ssl_context *ssl, const unsigned char *name, size_t len) {
    (void)unused;
    (void)ssl;
    say("server name %.*s", (int)len, name);
    return 0;
}

/* Exports keying material without a context (RFC 5705, 4). */
static int keys_came(void *unused, const unsigned char *master_secret, const unsigned char *key_block, size_t mac_len,
                     size_t key_len, size_t iv_len, const unsigned char client_random[32],
                     const unsigned char server_random[32], mbedtls_tls_prf_types prf) {
    unsigned char seed[64];
    (void)unused;
    (void)key_block;
    (void)mac_len;
    (void)key_len;
    (void)iv_len;
    memcpy(seed, client_random, 32);
    memcpy(seed + 32, server_random, 32);
    return mbedtls_ssl_tls_prf(prf, master_secret, 48, options.exporter, seed, sizeof seed, exported, sizeof exported);
}

/* A server without cookies answers the first ClientHello. */
static void set_datagrams(void) {
    if (!options.server) {
        return;
    } else if (options.cookie) {
        mbedtls_ssl_cookie_init(&cookies);
        must(mbedtls_ssl_cookie_setup(&cookies, mbedtls_ctr_drbg_random, &random_bytes), "cookies");
        mbedtls_ssl_conf_dtls_cookies(&config, mbedtls_ssl_cookie_write, mbedtls_ssl_cookie_check, &cookies);
    } else {
        mbedtls_ssl_conf_dtls_cookies(&config, NULL, NULL, NULL);
    }
}

/* Waits for a datagram during the handshake, and takes what there is after it. */
static int receive(void *unused, unsigned char *buffer, size_t room, uint32_t timeout) {
    (void)unused;
    if (connection.state != MBEDTLS_SSL_HANDSHAKE_OVER) {
        struct pollfd wanted = {.fd = stream.fd, .events = POLLIN};
        if (poll(&wanted, 1, timeout == 0 ? -1 : (int)timeout) == 0) {
            return MBEDTLS_ERR_SSL_TIMEOUT;
        }
    }
    ssize_t len = recv(stream.fd, buffer, room, MSG_DONTWAIT);
    return len >= 0 ? (int)len : MBEDTLS_ERR_SSL_WANT_READ;
}

const char *library_version(void) {
    static char text[40];
    mbedtls_version_get_string_full(text);
    return text;
}

void library_setup(void) {
    mbedtls_entropy_init(&entropy);
    mbedtls_ctr_drbg_init(&random_bytes);
    mbedtls_ssl_config_init(&config);
    mbedtls_x509_crt_init(&ca);
    mbedtls_x509_crt_init(&chain);
    mbedtls_pk_init(&key);
    mbedtls_ssl_cache_init(&sessions);
    mbedtls_ssl_ticket_init(&tickets);
    mbedtls_ssl_session_init(&session);
    must(mbedtls_ctr_drbg_seed(&random_bytes, mbedtls_entropy_func, &entropy, NULL, 0), "random bytes");
    must(mbedtls_ssl_config_defaults(&config, options.server ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
                                     options.datagrams ? MBEDTLS_SSL_TRANSPORT_DATAGRAM : MBEDTLS_SSL_TRANSPORT_STREAM,
                                     MBEDTLS_SSL_PRESET_DEFAULT),
         "defaults");
    mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random_bytes);
    if (!options.tls12 || options.raw_key != NULL || options.peer_raw_key != NULL || options.early_data != NULL ||
        (options.cookie && !options.datagrams) || options.connection_id >= 0) {
        refuse("Mbed TLS 2.28 has neither TLS 1.3 nor raw public keys, and Debian's no connection IDs");
    }
    if (options.datagrams) {
        set_datagrams();
    }
    mbedtls_ssl_conf_min_version(&config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    set_certificates();
    if (options.identity != NULL) {
        must(mbedtls_ssl_conf_psk(&config, options.psk, options.psk_len, (const unsigned char *)options.identity,
                                  strlen(options.identity)),
             "PSK");
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
    if (options.protocols != NULL) {
        set_protocols();
    }
    if (options.fragment != 0) {
        must(mbedtls_ssl_conf_max_frag_len(&config, (unsigned char)options.fragment), "max_fragment_length");
    }
    set_resumption();
    mbedtls_ssl_conf_extended_master_secret(&config, options.extended_master_secret);
    if (options.server) {
        mbedtls_ssl_conf_sni(&config, name_came, NULL);
    }
    if (options.exporter != NULL) {
        mbedtls_ssl_conf_export_keys_ext_cb(&config, keys_came, NULL);
    }
}

/* Says what ended a connection. */
static void say_why(int error) {
    char text[200];
    mbedtls_strerror(error, text, sizeof text);
    if (error == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        say("alert received %d", connection.in_msg[1]);
    }
    say("failed %d: %s", error, text);
}

/* Judges the peer's certificate where Mbed TLS leaves that to its user. */
static int is_believed(void) {
    const mbedtls_x509_crt *peer = mbedtls_ssl_get_peer_cert(&connection);
    uint32_t flags = peer == NULL ? 0 : mbedtls_ssl_get_verify_result(&connection);
    if (peer != NULL && flags == 0 && !options.server && !options.sends_name) {
        mbedtls_x509_crt_verify((mbedtls_x509_crt *)peer, &ca, NULL, options.name, &flags, NULL, NULL);
    }
    if (flags != 0) {
        mbedtls_ssl_send_alert_message(&connection, MBEDTLS_SSL_ALERT_LEVEL_FATAL, MBEDTLS_SSL_ALERT_MSG_BAD_CERT);
        say("failed: the certificate, %x", (unsigned)flags);
    }
    return flags == 0;
}

static void say_what_was_agreed_on(int resumed) {
    const char *protocol = mbedtls_ssl_get_alpn_protocol(&connection);
    say("version 1.2");
    say("suite %04x", (unsigned)mbedtls_ssl_get_ciphersuite_id(mbedtls_ssl_get_ciphersuite(&connection)));
    say("resumed %s", resumed ? "yes" : "no");
    if (protocol != NULL) {
        say("protocol %s", protocol);
    }
    if (options.exporter != NULL) {
        say_hex("keying material", exported, sizeof exported);
    }
    say("connected");
}

/* Sets what a cookie is bound to. */
static void set_transport_id(int socket) {
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    if (options.datagrams && options.server) {
        if (getpeername(socket, (struct sockaddr *)&peer, &len) != 0) {
            refuse("no peer");
        }
        must(mbedtls_ssl_set_client_transport_id(&connection, (const unsigned char *)&peer, len), "address");
    }
}

int library_handshake(int socket, int again) {
    int resumed = 1;
    stream.fd = socket;
    mbedtls_ssl_init(&connection);
    must(mbedtls_ssl_setup(&connection, &config), "connection");
    if (options.datagrams) {
        mbedtls_ssl_set_bio(&connection, &stream, mbedtls_net_send, NULL, receive);
        mbedtls_ssl_set_timer_cb(&connection, &timer, mbedtls_timing_set_delay, mbedtls_timing_get_delay);
        if (options.datagram != 0) {
            mbedtls_ssl_set_mtu(&connection, (uint16_t)options.datagram);
        }
    } else {
        mbedtls_ssl_set_bio(&connection, &stream, mbedtls_net_send, mbedtls_net_recv, NULL);
    }
    if (options.name != NULL && !options.server && options.sends_name) {
        must(mbedtls_ssl_set_hostname(&connection, options.name), "name");
    }
    if (again && !options.server) {
        must(mbedtls_ssl_set_session(&connection, &session), "session");
    }
    set_transport_id(socket);
    while (connection.state != MBEDTLS_SSL_HANDSHAKE_OVER) {
        int result = mbedtls_ssl_handshake_step(&connection);
        if (result == MBEDTLS_ERR_SSL_HELLO_VERIFY_REQUIRED) {
            must(mbedtls_ssl_session_reset(&connection), "another beginning");
            set_transport_id(socket);
        } else if (result == MBEDTLS_ERR_SSL_WANT_READ && options.datagrams) {
            continue; /* it has sent its flight again */
        } else if (result != 0) {
            say_why(result);
            return 0;
        }
        /* A resumed session is one without a key exchange. */
        resumed = resumed && connection.state != MBEDTLS_SSL_CLIENT_KEY_EXCHANGE;
    }
    if (!is_believed()) {
        return 0;
    }
    say_what_was_agreed_on(resumed);
    return 1;
}

int library_read(void *buffer, size_t room) {
    int len = mbedtls_ssl_read(&connection, buffer, room);
    if (len > 0) {
        return len;
    } else if (len == MBEDTLS_ERR_SSL_WANT_READ || len == MBEDTLS_ERR_SSL_WANT_WRITE) {
        return READ_NOTHING;
    } else if (len == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
        return READ_CLOSED;
    } else if (len == 0) {
        say("failed: the end without close_notify");
    } else {
        say_why(len);
    }
    return READ_FAILED;
}

int library_write(const void *data, size_t len) {
    const unsigned char *bytes = data;
    while (len > 0) {
        int sent = mbedtls_ssl_write(&connection, bytes, len);
        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        } else if (sent == MBEDTLS_ERR_SSL_WANT_READ || sent == MBEDTLS_ERR_SSL_WANT_WRITE) {
            wait_for_socket(stream.fd, sent == MBEDTLS_ERR_SSL_WANT_WRITE);
        } else {
            say_why(sent);
            return 0;
        }
    }
    return 1;
}

int library_timeout(void) {
    return -1;
}

void library_timed_out(void) {
}

void library_close(void) {
    mbedtls_ssl_close_notify(&connection);
}

void library_update_keys(void) {
    say("TLS 1.2 has no such thing");
}

void library_end(void) {
    if (!options.server && connection.state == MBEDTLS_SSL_HANDSHAKE_OVER) {
        mbedtls_ssl_session_free(&session);
        mbedtls_ssl_session_init(&session);
        must(mbedtls_ssl_get_session(&connection, &session), "session");
    }
    mbedtls_ssl_free(&connection);
}
