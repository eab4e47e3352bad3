/* wolfSSL for small devices, as `--enable-lowresource --enable-singlethreaded` makes it. */

#ifndef USER_SETTINGS_H
#define USER_SETTINGS_H

#include "../wolfssl-common.h"

#define SINGLE_THREADED
#define NO_SESSION_CACHE
#define ALT_ECC_SIZE
#define RSA_LOW_MEM
#define CURVE25519_SMALL
#define ED25519_SMALL
#define WOLFSSL_SMALL_CERT_VERIFY
#define WOLFSSL_NO_ASYNC_IO
#define USE_SLOW_SHA
#define USE_SLOW_SHA256
#define USE_SLOW_SHA512
#define GCM_SMALL
#define WOLFSSL_AES_NO_UNROLL
#define WOLFSSL_AES_SMALL_TABLES

#endif
