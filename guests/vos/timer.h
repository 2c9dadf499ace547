/* The scheduler's tick, on harts that run a process; none on idle ones. */
#ifndef VOS_TIMER_H
#define VOS_TIMER_H

#include <stdint.h>

enum { DEFAULT_TICKS_PER_SECOND = 100 };

/* Before the first tick: up to 1000000; 0 for no tick at all. */
void timer_set_ticks(unsigned per_second);
/* "sstc" or "sbi". */
const char *timer_name(void);
/* On this hart: the next tick, and no tick at all. */
void timer_arm(void);
void timer_disarm(void);
/* Nanoseconds since the machine started. */
uint64_t timer_nanoseconds(void);

#endif
