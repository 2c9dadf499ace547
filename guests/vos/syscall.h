/* System calls: the few of Linux's that the workloads use, with Linux's numbers and results. */
#ifndef VOS_SYSCALL_H
#define VOS_SYSCALL_H

#include "process.h"

/* Serves the call in the frame's a7, a0 to a5. Another process may be current afterwards. */
void syscall(struct process *process);

#endif
