#include <sys/time.h>

#define LWIP_ERRNO_STDINCLUDE 1
