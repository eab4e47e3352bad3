#ifndef TERSE_DECLARED_ZEPHYR_KERNEL_H
#define TERSE_DECLARED_ZEPHYR_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    int64_t ticks;
} k_timeout_t;

struct k_mutex {
    void *opaque[8];
};

#define K_FOREVER ((k_timeout_t){.ticks = -1})
#define K_MINUTES(minutes) ((k_timeout_t){.ticks = (int64_t)(minutes) * 600000})
#define K_MUTEX_DEFINE(name) struct k_mutex name
#define STRINGIFY(text) STRINGIFY_AS_IS(text)
#define STRINGIFY_AS_IS(text) #text

int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex *mutex);
int64_t k_uptime_get(void);
int32_t k_sleep(k_timeout_t timeout);
void printk(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
