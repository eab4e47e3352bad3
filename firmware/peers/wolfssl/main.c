/* A client of TLS 1.3 with wolfSSL, for the size of its image. */
#include "../device.h"
#include <string.h>
#include <time.h>
#include <wolfssl/wolfcrypt/settings.h>
#include <wolfssl/ssl.h>
#include <wolfssl/wolfcrypt/sha256.h>

/* The generator of firmware/device/src/random.rs: it hashes a seed with a number. */
int device_random(unsigned char *out, unsigned int len) {
    static unsigned char state[SEED_LEN + 8];
    static uint32_t block;
    unsigned char hash[WC_SHA256_DIGEST_SIZE];
    wc_Sha256 sha256;
    memcpy(state, device_known().seed, SEED_LEN);
    for (unsigned int done = 0, part; done < len; done += part) {
        block++;
        for (int byte = 0; byte < 4; byte++)
            state[SEED_LEN + 4 + byte] = (unsigned char) (block >> (24 - 8 * byte));
        if (wc_InitSha256(&sha256) || wc_Sha256Update(&sha256, state, sizeof state) || wc_Sha256Final(&sha256, hash))
            return 1;
        part = len - done < sizeof hash ? len - done : sizeof hash;
        memcpy(out + done, hash, part);
    }
    return 0;
}

#ifndef PSK
time_t time(time_t *out) {
    time_t now = (time_t) device_time();
    if (out)
        *out = now;
    return now;
}
#endif

static int receive(WOLFSSL *ssl, char *to, int len, void *unused) {
    (void) ssl;
    (void) unused;
    int received = device_receive((unsigned char *) to, (size_t) len);
    return received > 0 ? received : WOLFSSL_CBIO_ERR_WANT_READ;
}

static int send_(WOLFSSL *ssl, char *from, int len, void *unused) {
    (void) ssl;
    (void) unused;
    return device_send((const unsigned char *) from, (size_t) len);
}

#ifdef PSK
static unsigned int psk(WOLFSSL *ssl, const char *hint, char *identity, unsigned int identity_len, unsigned char *key,
                        unsigned int key_len, const char **suite) {
    (void) ssl;
    (void) hint;
    struct known known = device_known();
    if (known.psk_identity.len >= identity_len || known.psk.len > key_len)
        return 0;
    memcpy(identity, known.psk_identity.start, known.psk_identity.len);
    identity[known.psk_identity.len] = 0;
    memcpy(key, known.psk.start, known.psk.len);
    *suite = "TLS13-AES128-CCM-SHA256";
    return (unsigned int) known.psk.len;
}
#endif

int run(void) {
    wolfSSL_Init();
    WOLFSSL_CTX *config = wolfSSL_CTX_new(wolfTLSv1_3_client_method());
    if (!config)
        return 1;
    wolfSSL_CTX_SetIORecv(config, receive);
    wolfSSL_CTX_SetIOSend(config, send_);
#ifdef PSK
    wolfSSL_CTX_set_psk_client_tls13_callback(config, psk);
#else
    struct known known = device_known();
    const struct bytes *ca = &known.ca, *chain = known.chain, *key = &known.key;
    static unsigned char joined[2048];
    if (chain[0].len + chain[1].len > sizeof joined)
        return 1;
    memcpy(joined, chain[0].start, chain[0].len);
    memcpy(joined + chain[0].len, chain[1].start, chain[1].len);
    long joined_len = (long) (chain[0].len + chain[1].len);
    if (wolfSSL_CTX_load_verify_buffer(config, ca->start, (long) ca->len, WOLFSSL_FILETYPE_ASN1) != WOLFSSL_SUCCESS ||
        wolfSSL_CTX_use_certificate_chain_buffer_format(config, joined, joined_len, WOLFSSL_FILETYPE_ASN1) !=
            WOLFSSL_SUCCESS ||
        wolfSSL_CTX_use_PrivateKey_buffer(config, key->start, (long) key->len, WOLFSSL_FILETYPE_ASN1) != WOLFSSL_SUCCESS)
        return 1;
    wolfSSL_CTX_set_verify(config, WOLFSSL_VERIFY_PEER, 0);
#endif
    WOLFSSL *ssl = wolfSSL_new(config);
    if (!ssl)
        return 1;
#ifndef PSK
    if (wolfSSL_check_domain_name(ssl, SERVER) != WOLFSSL_SUCCESS ||
        wolfSSL_UseSNI(ssl, WOLFSSL_SNI_HOST_NAME, SERVER, sizeof SERVER - 1) != WOLFSSL_SUCCESS)
        return 1;
#endif
    int result;
    while ((result = wolfSSL_connect(ssl)) != WOLFSSL_SUCCESS)
        if (wolfSSL_get_error(ssl, result) != WOLFSSL_ERROR_WANT_READ)
            return 1;
    char answer[REQUEST_LEN];
    if (wolfSSL_write(ssl, REQUEST, REQUEST_LEN) != REQUEST_LEN)
        return 1;
    while ((result = wolfSSL_read(ssl, answer, sizeof answer)) <= 0)
        if (wolfSSL_get_error(ssl, result) != WOLFSSL_ERROR_WANT_READ)
            return 1;
    wolfSSL_shutdown(ssl);
    return result == sizeof answer && memcmp(answer, REQUEST, sizeof answer) == 0 ? 0 : 1;
}
