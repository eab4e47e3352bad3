/* OpenSSL 3: its CMS functions, as `openssl cms -sign` calls them. */

#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/x509.h>

#include "signer.h"

/* Binary content inside of the structure, and no smimeCapabilities, which are for mail. */
#define FLAGS (CMS_PARTIAL | CMS_BINARY | CMS_NOSMIMECAP)

struct loaded {
    EVP_PKEY *key;
    X509 *certificates[MAX_CERTIFICATES];
    size_t count;
};

static char error_text[256];

static const char *last_error(void) {
    return error_text;
}

static void *failed(const char *what) {
    const char *reason = ERR_reason_error_string(ERR_get_error());
    snprintf(error_text, sizeof error_text, "%s: %s", what, reason == NULL ? "" : reason);
    return NULL;
}

static void unload(void *made) {
    struct loaded *loaded = made;
    for (size_t i = 0; i < loaded->count; i++) {
        X509_free(loaded->certificates[i]);
    }
    EVP_PKEY_free(loaded->key);
    free(loaded);
}

static void *load(const struct credential *credential) {
    struct loaded *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL) {
        return failed("memory");
    }
    const unsigned char *at = credential->key.start;
    loaded->key = d2i_AutoPrivateKey(NULL, &at, (long)credential->key.len);
    if (loaded->key == NULL || credential->count > MAX_CERTIFICATES) {
        unload(loaded);
        return failed("key");
    }
    for (size_t i = 0; i < credential->count; i++) {
        at = credential->certificates[i].start;
        loaded->certificates[i] = d2i_X509(NULL, &at, (long)credential->certificates[i].len);
        loaded->count = i + 1; /* freeing NULL does nothing */
        if (loaded->certificates[i] == NULL) {
            unload(loaded);
            return failed("certificate");
        }
    }
    return loaded;
}

static int make(struct loaded *loaded, CMS_ContentInfo *cms, BIO *content) {
    ASN1_OBJECT *type = OBJ_txt2obj(VOUCHER_TYPE_TEXT, 1);
    int well = type != NULL && CMS_add1_signer(cms, loaded->certificates[0], loaded->key, EVP_sha256(), FLAGS) != NULL &&
               CMS_set1_eContentType(cms, type);
    ASN1_OBJECT_free(type);
    for (size_t i = 1; well && i < loaded->count; i++) {
        well = CMS_add1_cert(cms, loaded->certificates[i]);
    }
    return well && CMS_final(cms, content, NULL, FLAGS);
}

static unsigned char *sign(void *made, struct bytes content, size_t *len) {
    unsigned char *out = NULL;
    BIO *bio = BIO_new_mem_buf(content.start, (int)content.len);
    CMS_ContentInfo *cms = CMS_sign(NULL, NULL, NULL, NULL, FLAGS);
    if (bio != NULL && cms != NULL && make(made, cms, bio)) {
        int encoded = i2d_CMS_ContentInfo(cms, &out);
        *len = encoded > 0 ? (size_t)encoded : 0;
    }
    CMS_ContentInfo_free(cms);
    BIO_free(bio);
    return out == NULL ? failed("signature") : out;
}

static void release(unsigned char *signed_data, size_t len) {
    (void)len;
    OPENSSL_free(signed_data);
}

static const char *version(void) {
    return OpenSSL_version(OPENSSL_VERSION);
}

const struct signer signer = {
    .version = version,
    .load = load,
    .sign = sign,
    .release = release,
    .unload = unload,
    .error = last_error,
};
