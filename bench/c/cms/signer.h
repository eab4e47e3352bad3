/* One implementation of CMS (RFC 5652), as the benchmarks use it: it signs a voucher request (RFC 8366, 5.4).
 *
 * Each library has a file with one `struct signer`: `src/voucher/peer.rs` has the same structs in Rust, and so has
 * `voucher/src/lib.rs`, which is Terse as a library for C. What must always hold: all sign with ECDSA on P-256 and SHA-256, with the
 * attributes contentType, messageDigest and signingTime, over content of type id-ct-animaJSONVoucher; all certificates go into the
 * result. */

#ifndef SIGNER_H
#define SIGNER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most so many certificates, leaf first. */
#define MAX_CERTIFICATES 2

/* Bytes that stay where they are as long as the signer that was loaded from them. */
struct bytes {
    const unsigned char *start;
    size_t len;
};

/* What a pledge has, DER. */
struct credential {
    struct bytes key; /* PKCS #8 */
    struct bytes certificates[MAX_CERTIFICATES];
    size_t count;
};

struct signer {
    const char *(*version)(void);
    /* Parses the key and the certificates. Returns NULL if that fails. */
    void *(*load)(const struct credential *credential);
    /* Returns the DER of the ContentInfo, and its length, or NULL. */
    unsigned char *(*sign)(void *loaded, struct bytes content, size_t *len);
    /* Frees what `sign` returned. */
    void (*release)(unsigned char *signed_data, size_t len);
    void (*unload)(void *loaded);
    /* Why the last call failed. */
    const char *(*error)(void);
};

__attribute__((visibility("default"))) extern const struct signer signer;

/* id-ct-animaJSONVoucher (RFC 8366, 8.3), DER. */
#define VOUCHER_TYPE "\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x28"
#define VOUCHER_TYPE_LEN 13
#define VOUCHER_TYPE_TEXT "1.2.840.113549.1.9.16.1.40"

#endif
