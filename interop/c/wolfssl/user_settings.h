/* What the current wolfSSL is compiled with, from the sources in the crate wolfssl-sys: all of its TLS that a test can
 * use, in portable C. `wolfssl.c` sees the same. */

#ifndef USER_SETTINGS_H
#define USER_SETTINGS_H

/* Protocols */
#define WOLFSSL_TLS13
#define NO_OLD_TLS
#define WOLFSSL_DTLS
#define WOLFSSL_DTLS13
#define WOLFSSL_DTLS_CID
#define WOLFSSL_DTLS_CH_FRAG
#define WOLFSSL_DTLS_MTU

/* Extensions, and what else handshakes can do */
#define HAVE_TLS_EXTENSIONS
#define HAVE_ALPN
#define HAVE_EXTENDED_MASTER
#define HAVE_KEYING_MATERIAL
#define HAVE_MAX_FRAGMENT
#define HAVE_RPK
#define HAVE_SERVER_RENEGOTIATION_INFO
#define HAVE_SESSION_TICKET
#define HAVE_SNI
#define HAVE_SUPPORTED_CURVES
#define WOLFSSL_ALWAYS_KEEP_SNI
#define WOLFSSL_EARLY_DATA
#define WOLFSSL_EXTRA_ALERTS
#define WOLFSSL_SEND_HRR_COOKIE
#define WOLFSSL_STATIC_PSK

/* Cryptography */
#define HAVE_AESGCM
#define HAVE_AESCCM
#define WOLFSSL_AES_DIRECT
#define WOLFSSL_AES_COUNTER
#define HAVE_CHACHA
#define HAVE_POLY1305
#define HAVE_ONE_TIME_AUTH
#define HAVE_HKDF
#define HAVE_ECC
#define HAVE_ECC384
#define ECC_SHAMIR
#define ECC_TIMING_RESISTANT
#define HAVE_CURVE25519
#define HAVE_ED25519
#define WOLFSSL_ED25519_STREAMING_VERIFY
#define WC_RSA_BLINDING
#define WC_RSA_PSS
#define WOLFSSL_PSS_LONG_SALT
#define WOLFSSL_SHA224
#define WOLFSSL_SHA384
#define WOLFSSL_SHA512
#define WOLFSSL_SHA3
#define WOLFSSL_SHAKE128
#define WOLFSSL_SHAKE256
#define WOLFSSL_HAVE_MLKEM
#define WOLFSSL_PQC_HYBRIDS
#define WOLFSSL_SP_MATH_ALL
#define SP_INT_BITS 4096
#define TFM_TIMING_RESISTANT
#define HAVE_HASHDRBG
#define NO_DH
#define NO_DSA
#define NO_DES3
#define NO_MD4
#define NO_PKCS12
#define NO_RC4

/* The library */
#define OPENSSL_EXTRA
#define KEEP_PEER_CERT
#define SESSION_CERTS
#define SINGLE_THREADED
#define WOLFSSL_ALT_NAMES
#define WOLFSSL_BASE64_ENCODE

#endif
