// What the example needs of a board.
#ifndef TERSE_EXAMPLE_BOARD_H
#define TERSE_EXAMPLE_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Fills out with random bytes of the hardware. Returns whether it could.
bool board_random(uint8_t *out, size_t len);

// The seconds since 1970, or 0 while the board does not know the time.
uint64_t board_unix_seconds(void);

// Prints a line.
void board_log(const char *text);

// Resets the board.
void board_reset(void);

// Begins the task that reports. main calls it before the scheduler.
void device_begin(void);

#endif
