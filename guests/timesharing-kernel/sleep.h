/* Processes that wait for a time. Each hart keeps those that went to sleep on it, and wakes them by its own timer. */
#ifndef TIMESHARING_KERNEL_SLEEP_H
#define TIMESHARING_KERNEL_SLEEP_H

#include <stdint.h>

/* Takes this hart's process off it until the platform's clock, in its own units, reads `time`. Another process may be current afterwards. */
void sleep_until(uint64_t time);
/* Nanoseconds in units of the platform's clock. */
uint64_t sleep_units(uint64_t nanoseconds);

#endif
