/* wolfSSL for a client of TLS 1.3 with certificates on P-256 on both sides, or, with PSK, with a pre-shared key: AES-128-CCM, SHA-256,
   one curve, nothing that is not needed. */

#define WOLFSSL_TLS13
#define WOLFSSL_NO_TLS12
#define NO_OLD_TLS
#define NO_WOLFSSL_SERVER
#define HAVE_TLS_EXTENSIONS
#define HAVE_SUPPORTED_CURVES
#define HAVE_HKDF
#define WOLFSSL_USER_IO
#define WOLFSSL_NO_SOCK
#define SINGLE_THREADED
#define NO_FILESYSTEM
#define NO_WRITEV
#define NO_SESSION_CACHE
#define NO_ERROR_STRINGS
#define NO_SIG_WRAPPER
#define WOLFSSL_SMALL_STACK
#define WOLFSSL_GENERAL_ALIGNMENT 4
#define SIZEOF_LONG_LONG 8

#define HAVE_AESCCM
#define NO_AES_192
#define NO_AES_256
#define WOLFSSL_AES_SMALL_TABLES
#define USE_SLOW_SHA256
#define NO_SHA
#define NO_MD5
#define NO_MD4
#define NO_DES3
#define NO_RC4
#define NO_DSA
#define NO_DH
#define NO_RSA
#define NO_PWDBASED
#define WOLFSSL_NO_PEM
#define NO_PKCS8_PASSWORD
#define NO_PKCS12
#define WOLFSSL_AEAD_ONLY

#define CUSTOM_RAND_GENERATE_BLOCK device_random
int device_random(unsigned char *out, unsigned int len);

#ifdef PSK
#define NO_CERTS
#define NO_ASN
#define HAVE_CURVE25519
#define CURVE25519_SMALL
#define WOLFSSL_PSK_IDENTITY_ALERT
#else
#define NO_PSK
#define HAVE_ECC
#define ECC_USER_CURVES
#define HAVE_ECC256
#define ECC_TIMING_RESISTANT
#define WOLFSSL_HAVE_SP_ECC
#define WOLFSSL_SP_SMALL
#define WOLFSSL_SP_MATH
#define SP_WORD_SIZE 32
#define HAVE_SNI
#define NO_TIME_SIGNEDNESS_CHECK
#define IGNORE_NAME_CONSTRAINTS
#endif
