/* The system calls of time sharing. Linux has the first two. */
#ifndef TIMESHARING_CALLS_H
#define TIMESHARING_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Until the clock of linux_nanoseconds reads so many. */
void sleep_to(uint64_t nanoseconds);
/* Gives back memory that linux_map returned; on vos the last that it returned. False when the kernel refuses. */
bool give_back(void *memory, size_t bytes);
/* Ends the program. Where the kernel is vos, it keeps the process's memory. */
_Noreturn void log_off(int status);
/* The system calls of this process that the kernel has recorded; 0 where it keeps no accounts. */
uint64_t recorded_calls(void);
/* The calls that this process has made of those above, this one's included. */
uint64_t made_calls(void);

#endif
