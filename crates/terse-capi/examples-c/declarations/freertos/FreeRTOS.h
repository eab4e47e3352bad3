#ifndef TERSE_DECLARED_FREERTOS_H
#define TERSE_DECLARED_FREERTOS_H

#include <stdint.h>

typedef uint32_t TickType_t;
typedef uint32_t StackType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef struct {
    void *opaque[20];
} StaticSemaphore_t;
typedef struct {
    void *opaque[40];
} StaticTask_t;

#define portMAX_DELAY ((TickType_t)0xffffffffUL)
#define portTICK_PERIOD_MS ((TickType_t)1)
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))

#endif
