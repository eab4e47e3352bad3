/* A client of TLS 1.3 with Mbed TLS, for the size of its image. */
#include "../device.h"
#include <mbedtls/psa_util.h>
#include <mbedtls/ssl.h>
#include <psa/crypto.h>
#include <string.h>
#include <time.h>

/* The generator of firmware/device/src/random.rs: it hashes a seed with a number. */
psa_status_t mbedtls_psa_external_get_random(mbedtls_psa_external_random_context_t *unused, uint8_t *out, size_t len,
                                             size_t *filled) {
    static unsigned char state[SEED_LEN + 8];
    static uint32_t block;
    unsigned char hash[PSA_HASH_LENGTH(PSA_ALG_SHA_256)];
    size_t hash_len;
    (void) unused;
    memcpy(state, device_known().seed, SEED_LEN);
    for (size_t done = 0, part; done < len; done += part) {
        block++;
        for (int byte = 0; byte < 4; byte++)
            state[SEED_LEN + 4 + byte] = (unsigned char) (block >> (24 - 8 * byte));
        psa_status_t status = psa_hash_compute(PSA_ALG_SHA_256, state, sizeof state, hash, sizeof hash, &hash_len);
        if (status != PSA_SUCCESS)
            return status;
        part = len - done < sizeof hash ? len - done : sizeof hash;
        memcpy(out + done, hash, part);
    }
    *filled = len;
    return PSA_SUCCESS;
}

static int receive(void *unused, unsigned char *to, size_t len) {
    (void) unused;
    int received = device_receive(to, len);
    return received > 0 ? received : MBEDTLS_ERR_SSL_WANT_READ;
}

static int send_(void *unused, const unsigned char *from, size_t len) {
    (void) unused;
    return device_send(from, len);
}

#ifndef PSK
time_t time(time_t *out) {
    time_t now = (time_t) device_time();
    if (out)
        *out = now;
    return now;
}

mbedtls_ms_time_t mbedtls_ms_time(void) {
    return device_milliseconds();
}

struct tm *mbedtls_platform_gmtime_r(const mbedtls_time_t *time, struct tm *out) {
    return gmtime_r(time, out);
}
#endif

int run(void) {
    static mbedtls_ssl_config config;
    static mbedtls_ssl_context ssl;
    struct known known = device_known();

    mbedtls_ssl_config_init(&config);
    mbedtls_ssl_init(&ssl);
    if (psa_crypto_init() != PSA_SUCCESS ||
        mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT))
        return 1;
    mbedtls_ssl_conf_rng(&config, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
#ifdef PSK
    if (mbedtls_ssl_conf_psk(&config, known.psk.start, known.psk.len, known.psk_identity.start, known.psk_identity.len))
        return 1;
#else
    static mbedtls_x509_crt ca, own;
    static mbedtls_pk_context key;
    mbedtls_x509_crt_init(&ca);
    mbedtls_x509_crt_init(&own);
    mbedtls_pk_init(&key);
    if (mbedtls_x509_crt_parse_der(&ca, known.ca.start, known.ca.len) ||
        mbedtls_x509_crt_parse_der(&own, known.chain[0].start, known.chain[0].len) ||
        mbedtls_x509_crt_parse_der(&own, known.chain[1].start, known.chain[1].len) ||
        mbedtls_pk_parse_key(&key, known.key.start, known.key.len, 0, 0, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE))
        return 1;
    mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(&config, &ca, 0);
    if (mbedtls_ssl_conf_own_cert(&config, &own, &key))
        return 1;
#endif
    if (mbedtls_ssl_setup(&ssl, &config))
        return 1;
#ifndef PSK
    if (mbedtls_ssl_set_hostname(&ssl, SERVER))
        return 1;
#endif
    mbedtls_ssl_set_bio(&ssl, 0, send_, receive, 0);
    int result;
    while ((result = mbedtls_ssl_handshake(&ssl)) == MBEDTLS_ERR_SSL_WANT_READ) {
    }
    if (result || mbedtls_ssl_write(&ssl, (const unsigned char *) REQUEST, REQUEST_LEN) != REQUEST_LEN)
        return 1;
    unsigned char answer[REQUEST_LEN];
    while ((result = mbedtls_ssl_read(&ssl, answer, sizeof answer)) == MBEDTLS_ERR_SSL_WANT_READ) {
    }
    mbedtls_ssl_close_notify(&ssl);
    return result == sizeof answer && memcmp(answer, REQUEST, sizeof answer) == 0 ? 0 : 1;
}
