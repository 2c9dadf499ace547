/* The processes that the shell has started. Every function takes the scheduler's lock, unless it says otherwise. */
#ifndef SHELL_KERNEL_CHILDREN_H
#define SHELL_KERNEL_CHILDREN_H

#include "../shell/abi.h"
#include "../vos/page_table.h"

#include <stdbool.h>

struct process;

/* The process whose program is the shell: the first one. */
enum { SHELL_PROCESS_ID = 1 };

/* A child with these words as its arguments, as if `vos` had been started with them. Its number, 0 when there are too many words, children or too
 * little memory. */
uint64_t children_start(const struct process *shell, const char line[SHELL_LINE_BYTES],
                        enum page_size page);
/* Answers the shell, which is this hart's process, with a child's status in a0, or with an error when there is no such child. Another process may
 * be current afterwards. */
void children_wait(struct process *shell, uint64_t id);
/* False when no such child runs. */
bool children_kill(uint64_t id);
/* Kills the child that the shell waits for; false when it waits for none. With the scheduler's lock held. */
bool children_interrupt(void);
/* The child at this index. */
void children_describe(unsigned index, struct shell_process *child);

#endif
