/* These settings are common to both builds of wolfSSL: they enable the TLS or CMS that is measured, and no other. */

#define WOLFSSL_TLS13
#ifdef DATAGRAMS /* an object of its own: what has them takes more memory for TLS as well */
#define WOLFSSL_DTLS
#define WOLFSSL_DTLS_MTU
#define USER_TICKS /* wolfssl.c has the clock */
#endif
#ifdef DATAGRAMS_13 /* and again */
#define WOLFSSL_DTLS13
#define WOLFSSL_SEND_HRR_COOKIE
#endif
#ifdef SIGNS_IN_CMS /* CMS, with what `--enable-pkcs7` takes along; and no TLS */
#define HAVE_PKCS7
#define HAVE_AES_KEYWRAP
#define WOLFSSL_AES_DIRECT
#define HAVE_X963_KDF
#define WOLFCRYPT_ONLY
#endif
#define NO_OLD_TLS
#define HAVE_TLS_EXTENSIONS
#define HAVE_EXTENDED_MASTER
#define HAVE_SERVER_RENEGOTIATION_INFO
#define HAVE_SESSION_TICKET
#define WOLFSSL_TICKET_HAVE_ID
#define HAVE_SNI
#define HAVE_SUPPORTED_CURVES
#define HAVE_AESGCM
#define HAVE_HKDF
#define HAVE_ECC
#define ECC_TIMING_RESISTANT
#define WC_RSA_BLINDING
#define WC_RSA_PSS
#define TFM_TIMING_RESISTANT
#define HAVE_HASHDRBG
#define WOLFSSL_SP_MATH_ALL
#define SP_INT_BITS 4096
#ifdef __x86_64__
#define WOLFSSL_SP_X86_64
#endif
#define HAVE___UINT128_T 1
#define WOLFSSL_BASE64_ENCODE
#define NO_SHA
#define NO_MD4
#define NO_MD5
#define NO_DH
#define NO_DSA
#define NO_DES3
#define NO_RC4
#define NO_PKCS12
#define WOLFSSL_NO_SHAKE128
#define WOLFSSL_NO_SHAKE256
