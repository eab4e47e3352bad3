#include "FreeRTOS.h"

typedef void *TaskHandle_t;

#define tskIDLE_PRIORITY ((UBaseType_t)0U)

TickType_t xTaskGetTickCount(void);
void vTaskDelay(TickType_t ticks);
TaskHandle_t xTaskCreateStatic(void (*code)(void *), const char *name, uint32_t stack_words, void *parameter,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *task);
