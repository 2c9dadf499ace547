/* Round-robin scheduling of processes over harts. The kernel itself is not preempted: a hart changes
 * process only on its way back to user mode. */
#ifndef VOS_SCHED_H
#define VOS_SCHED_H

#include "process.h"

/* Makes a new process ready, and wakes an idle hart for it. */
void sched_add(struct process *process);
/* Gives this hart its next process, waiting for one if need be; to be followed by a return to the
 * user. The hart must have none. */
void sched_next(void);
/* Puts this hart's process behind the others that are ready. */
void sched_yield(void);
/* Ends this hart's process. The last one to end shuts the machine down, with the status of the first
 * that failed. When all others wait, the machine shuts down too: nothing can wake them. */
void sched_exit(unsigned status);

/* For code that makes processes wait: the lock guards what they wait for. */
void sched_lock(void);
void sched_unlock(void);
/* Takes this hart's process off it until sched_wake. With the lock held, which is given up. `wake`, if
 * not NULL, is a process that waits and goes on at once, on this hart. */
void sched_wait(struct process *wake);
/* Makes a waiting process ready, behind all others. With the lock held, which is given up. */
void sched_wake(struct process *process);

#endif
