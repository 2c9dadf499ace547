/* Functions of vos that go through the kernel of servers. */
#ifndef SERVERS_KERNEL_WRAPPED_H
#define SERVERS_KERNEL_WRAPPED_H

#include "../common/wrapped.h"
#include "../vos/options.h"
#include "../vos/section.h"
#include "../vos/space.h"

#include <stdint.h>

struct process;

/* With the lock of memory maps held. */
WRAPPED(uint64_t, section_map, struct space *space, const struct section_request *request, uint64_t *bytes);
/* The same. */
WRAPPED(enum fault_result, space_fault, struct space *space, uint64_t virtual, enum access access);
/* Also counts the process. */
WRAPPED(struct process *, process_create, const struct options *options);
/* With the lock of memory maps held. Also counts the process. */
WRAPPED(void, process_destroy, struct process *process);
/* Also waits for other harts to have destroyed their processes, and ends the phase. */
WRAPPED(_Noreturn void, shut_down, unsigned status);
/* Also has the call of phases. */
WRAPPED(void, syscall, struct process *process);

#endif
