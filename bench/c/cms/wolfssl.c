/* wolfSSL 5.9: its PKCS #7 functions, in whichever build `user_settings.h` describes.
 *
 * Its structure holds what it needs of the signer's certificate, and the key as it was given: each signature parses and checks the
 * key anew. What must always hold: certificates are added again before the next signature, since each takes them out. */

#include <wolfssl/wolfcrypt/settings.h>

#include <wolfssl/version.h>
#include <wolfssl/wolfcrypt/error-crypt.h>
#include <wolfssl/wolfcrypt/pkcs7.h>
#include <wolfssl/wolfcrypt/random.h>

#include "signer.h"

/* What is more than content and certificates: headers, issuer and serial number, attributes, signature. It fits names of some
 * hundred bytes; if it did not, signing would fail. */
#define OVERHEAD 512

struct loaded {
    wc_PKCS7 *pkcs7;
    WC_RNG rng;
    struct credential credential;
    int has_signed;
};

static char error_text[256];

static const char *last_error(void) {
    return error_text;
}

static void *failed(const char *what, int code) {
    snprintf(error_text, sizeof error_text, "%s: %d %s", what, code, wc_GetErrorString(code));
    return NULL;
}

static void unload(void *made) {
    struct loaded *loaded = made;
    wc_PKCS7_Free(loaded->pkcs7);
    wc_FreeRng(&loaded->rng);
    free(loaded);
}

/* The parameter is not const, but it only reads. */
static int add(struct loaded *loaded, size_t i, int (*how)(wc_PKCS7 *, byte *, word32)) {
    struct bytes certificate = loaded->credential.certificates[i];
    return how(loaded->pkcs7, (byte *)certificate.start, (word32)certificate.len);
}

static int set_up(struct loaded *loaded) {
    wc_PKCS7 *pkcs7 = loaded->pkcs7;
    int code = pkcs7 == NULL ? MEMORY_E : add(loaded, 0, wc_PKCS7_InitWithCert);
    for (size_t i = 1; code == 0 && i < loaded->credential.count; i++) {
        code = add(loaded, i, wc_PKCS7_AddCertificate);
    }
    if (code != 0) {
        return code;
    }
    pkcs7->rng = &loaded->rng;
    pkcs7->privateKey = (byte *)loaded->credential.key.start;
    pkcs7->privateKeySz = (word32)loaded->credential.key.len;
    pkcs7->encryptOID = ECDSAk;
    pkcs7->hashOID = SHA256h;
    return wc_PKCS7_SetContentType(pkcs7, (byte *)VOUCHER_TYPE, VOUCHER_TYPE_LEN);
}

static void *load(const struct credential *credential) {
    struct loaded *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL) {
        return failed("memory", MEMORY_E);
    }
    loaded->credential = *credential;
    int code = wc_InitRng(&loaded->rng);
    if (code != 0) {
        free(loaded);
        return failed("random numbers", code);
    }
    loaded->pkcs7 = wc_PKCS7_New(NULL, INVALID_DEVID);
    code = set_up(loaded);
    if (code != 0) {
        unload(loaded);
        return failed("credential", code);
    }
    return loaded;
}

static int encode(struct loaded *loaded, struct bytes content, unsigned char *out, size_t room) {
    for (size_t i = 0; loaded->has_signed && i < loaded->credential.count; i++) {
        int code = add(loaded, i, wc_PKCS7_AddCertificate);
        if (code != 0) {
            return code;
        }
    }
    loaded->has_signed = 1;
    loaded->pkcs7->content = (byte *)content.start;
    loaded->pkcs7->contentSz = (word32)content.len;
    return wc_PKCS7_EncodeSignedData(loaded->pkcs7, out, (word32)room);
}

static unsigned char *sign(void *made, struct bytes content, size_t *len) {
    struct loaded *loaded = made;
    size_t room = content.len + OVERHEAD;
    for (size_t i = 0; i < loaded->credential.count; i++) {
        room += loaded->credential.certificates[i].len;
    }
    unsigned char *out = malloc(room);
    if (out == NULL) {
        return failed("memory", MEMORY_E);
    }
    int encoded = encode(loaded, content, out, room);
    if (encoded <= 0) {
        free(out);
        return failed("signature", encoded);
    }
    *len = (size_t)encoded;
    return out;
}

static void release(unsigned char *signed_data, size_t len) {
    (void)len;
    free(signed_data);
}

static const char *version(void) {
    return "wolfSSL " LIBWOLFSSL_VERSION_STRING;
}

const struct signer signer = {
    .version = version,
    .load = load,
    .sign = sign,
    .release = release,
    .unload = unload,
    .error = last_error,
};
