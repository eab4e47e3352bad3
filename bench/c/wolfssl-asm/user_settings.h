/* wolfSSL with its assembly for x86-64, as `--enable-intelasm --enable-sp=yes,asm` makes it. */

#ifndef USER_SETTINGS_H
#define USER_SETTINGS_H

#include "../wolfssl-common.h"

#define WOLFSSL_X86_64_BUILD
#define USE_INTEL_SPEEDUP
#define WOLFSSL_AESNI
#define WOLFSSL_HAVE_SP_ECC
#define WOLFSSL_HAVE_SP_RSA
#define WOLFSSL_SP_X86_64_ASM
#define ECC_SHAMIR

#endif
