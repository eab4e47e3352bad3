/* A client of TLS 1.3 with wolfSSL, for the size of its image. */
#include "../device.h"
#include <string.h>
#include <time.h>
#include <wolfssl/wolfcrypt/settings.h>
#include <wolfssl/ssl.h>

int device_seed(unsigned char *out, unsigned int len) {
    for (unsigned int i = 0; i < len; i++)
        out[i] = (unsigned char) ((volatile uint32_t *) 0x40001000)[1];
    return 0;
}

#ifndef PSK
time_t time(time_t *out) {
    if (out)
        *out = (time_t) seconds();
    return (time_t) seconds();
}
#endif

static int receive(WOLFSSL *ssl, char *to, int len, void *unused) {
    (void) ssl;
    (void) unused;
    int received = uart_receive((unsigned char *) to, (size_t) len);
    return received > 0 ? received : WOLFSSL_CBIO_ERR_WANT_READ;
}

static int send_(WOLFSSL *ssl, char *from, int len, void *unused) {
    (void) ssl;
    (void) unused;
    return uart_send((const unsigned char *) from, (size_t) len);
}

#ifdef PSK
static unsigned int psk(WOLFSSL *ssl, const char *hint, char *identity, unsigned int identity_len, unsigned char *key,
                        unsigned int key_len, const char **suite) {
    (void) ssl;
    (void) hint;
    const unsigned char *place = PAGE;
    size_t len;
    const unsigned char *bytes = item(&place, &len);
    if (len >= identity_len)
        return 0;
    memcpy(identity, bytes, len);
    identity[len] = 0;
    bytes = item(&place, &len);
    if (len > key_len)
        return 0;
    memcpy(key, bytes, len);
    *suite = "TLS13-AES128-CCM-SHA256";
    return (unsigned int) len;
}
#endif

int main(void) {
    wolfSSL_Init();
    WOLFSSL_CTX *config = wolfSSL_CTX_new(wolfTLSv1_3_client_method());
    if (!config)
        return 1;
    wolfSSL_CTX_SetIORecv(config, receive);
    wolfSSL_CTX_SetIOSend(config, send_);
#ifdef PSK
    wolfSSL_CTX_set_psk_client_tls13_callback(config, psk);
#else
    const unsigned char *place = PAGE, *bytes;
    size_t len;
    bytes = item(&place, &len);
    wolfSSL_CTX_load_verify_buffer(config, bytes, (long) len, WOLFSSL_FILETYPE_ASN1);
    bytes = item(&place, &len);
    wolfSSL_CTX_use_certificate_buffer(config, bytes, (long) len, WOLFSSL_FILETYPE_ASN1);
    bytes = item(&place, &len);
    wolfSSL_CTX_use_PrivateKey_buffer(config, bytes, (long) len, WOLFSSL_FILETYPE_ASN1);
    wolfSSL_CTX_set_verify(config, WOLFSSL_VERIFY_PEER, 0);
#endif
    WOLFSSL *ssl = wolfSSL_new(config);
    if (!ssl)
        return 1;
#ifndef PSK
    wolfSSL_check_domain_name(ssl, "broker.example");
    wolfSSL_UseSNI(ssl, WOLFSSL_SNI_HOST_NAME, "broker.example", 14);
#endif
    int result;
    while ((result = wolfSSL_connect(ssl)) != WOLFSSL_SUCCESS)
        if (wolfSSL_get_error(ssl, result) != WOLFSSL_ERROR_WANT_READ)
            return 1;
    char answer[6];
    if (wolfSSL_write(ssl, "22.5 C", 6) != 6)
        return 1;
    while ((result = wolfSSL_read(ssl, answer, sizeof answer)) <= 0)
        if (wolfSSL_get_error(ssl, result) != WOLFSSL_ERROR_WANT_READ)
            return 1;
    wolfSSL_shutdown(ssl);
    return 0;
}
