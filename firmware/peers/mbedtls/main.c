/* A client of TLS 1.3 with Mbed TLS, for the size of its image. */
#include "../device.h"
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/ssl.h>
#include <psa/crypto.h>
#include <string.h>
#include <time.h>

int mbedtls_hardware_poll(void *unused, unsigned char *out, size_t len, size_t *filled) {
    (void) unused;
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char) ((volatile uint32_t *) 0x40001000)[1];
    *filled = len;
    return 0;
}

static int receive(void *unused, unsigned char *to, size_t len) {
    (void) unused;
    int received = uart_receive(to, len);
    return received > 0 ? received : MBEDTLS_ERR_SSL_WANT_READ;
}

static int send_(void *unused, const unsigned char *from, size_t len) {
    (void) unused;
    return uart_send(from, len);
}

#ifndef PSK
mbedtls_time_t mbedtls_platform_time_now(mbedtls_time_t *out) {
    if (out)
        *out = seconds();
    return seconds();
}

mbedtls_ms_time_t mbedtls_ms_time(void) {
    return (mbedtls_ms_time_t) seconds() * 1000;
}

struct tm *mbedtls_platform_gmtime_r(const mbedtls_time_t *time, struct tm *out) {
    return gmtime_r(time, out);
}
#endif

int main(void) {
    static mbedtls_entropy_context entropy;
    static mbedtls_ctr_drbg_context random;
    static mbedtls_ssl_config config;
    static mbedtls_ssl_context ssl;
    const unsigned char *place = PAGE, *bytes;
    size_t len;

    mbedtls_entropy_init(&entropy);
    mbedtls_ctr_drbg_init(&random);
    mbedtls_ssl_config_init(&config);
    mbedtls_ssl_init(&ssl);
    if (psa_crypto_init() != PSA_SUCCESS || mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, 0, 0) ||
        mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT))
        return 1;
    mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random);
#ifdef PSK
    const unsigned char *identity = item(&place, &len);
    size_t key_len;
    bytes = item(&place, &key_len);
    mbedtls_ssl_conf_psk(&config, bytes, key_len, identity, len);
#else
    static mbedtls_x509_crt ca, own;
    static mbedtls_pk_context key;
    mbedtls_x509_crt_init(&ca);
    mbedtls_x509_crt_init(&own);
    mbedtls_pk_init(&key);
    bytes = item(&place, &len);
    mbedtls_x509_crt_parse_der(&ca, bytes, len);
    bytes = item(&place, &len);
    mbedtls_x509_crt_parse_der(&own, bytes, len);
    bytes = item(&place, &len);
    mbedtls_pk_parse_key(&key, bytes, len, 0, 0, mbedtls_ctr_drbg_random, &random);
    mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(&config, &ca, 0);
    mbedtls_ssl_conf_own_cert(&config, &own, &key);
#endif
    if (mbedtls_ssl_setup(&ssl, &config))
        return 1;
#ifndef PSK
    if (mbedtls_ssl_set_hostname(&ssl, "broker.example"))
        return 1;
#endif
    mbedtls_ssl_set_bio(&ssl, 0, send_, receive, 0);
    int result;
    while ((result = mbedtls_ssl_handshake(&ssl)) == MBEDTLS_ERR_SSL_WANT_READ) {
    }
    if (result || mbedtls_ssl_write(&ssl, (const unsigned char *) "22.5 C", 6) != 6)
        return 1;
    unsigned char answer[6];
    while ((result = mbedtls_ssl_read(&ssl, answer, sizeof answer)) == MBEDTLS_ERR_SSL_WANT_READ) {
    }
    mbedtls_ssl_close_notify(&ssl);
    return result == 6 ? 0 : 1;
}
