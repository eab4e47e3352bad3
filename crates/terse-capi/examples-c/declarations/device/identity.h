#include <stdint.h>

static const uint8_t device_ca[] = {0}, device_chain[] = {0}, device_key[] = {0};
