/* Functions of vos that go through the shell's kernel. */
#ifndef SHELL_KERNEL_WRAPPED_H
#define SHELL_KERNEL_WRAPPED_H

#include "../common/wrapped.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;

/* Also finds the keyboard's interrupt. */
WRAPPED(void, platform_read, uint64_t device_tree);
/* Also starts the keyboard. */
WRAPPED(void, disk_start, void);
/* Also what can wake a process: a key. */
WRAPPED(bool, disk_is_busy, void);
/* Also takes keys. */
WRAPPED(void, plic_interrupt, void);
/* Has a carriage return before each line feed, on a terminal. */
WRAPPED(size_t, sbi_console_write, const char *bytes, size_t length);
/* Keeps the status for the shell. The end of the shell is that of the machine. */
WRAPPED(void, sched_exit, unsigned status);
/* Also ends processes that are to be killed. */
WRAPPED(void, trap_from_user, void);
/* Also has the calls of shell/abi.h. */
WRAPPED(void, syscall, struct process *process);

#endif
