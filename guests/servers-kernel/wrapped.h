/* Functions of vos that go through the kernel of servers. */
#ifndef SERVERS_KERNEL_WRAPPED_H
#define SERVERS_KERNEL_WRAPPED_H

#include "../common/wrapped.h"
#include "../vos/page_table.h"
#include "../vos/section.h"
#include "../vos/space.h"

#include <stdint.h>

struct process;

/* With the lock of memory maps held. */
WRAPPED(uint64_t, section_map, struct space *space, const struct section_request *request, uint64_t *bytes);
/* The same. */
WRAPPED(enum fault_result, space_fault, struct space *space, uint64_t virtual, enum access access);
/* Also counts the process. */
WRAPPED(void, sched_exit, unsigned status);
/* With the lock of memory maps held. Also counts the process. */
WRAPPED(void, process_destroy, struct process *process);
/* Also by the table of the last entry, where a section is mapped or unmapped: cursor.h. */
WRAPPED(bool, page_table_map, page_table table, uint64_t virtual, uint64_t physical, enum page_size size, unsigned flags);
WRAPPED(pte *, page_table_find, page_table table, uint64_t virtual, enum page_size *size);
WRAPPED(bool, page_table_link, page_table table, uint64_t virtual, page_table leaves);
WRAPPED(void, page_table_unlink, page_table table, uint64_t virtual);
/* Also waits for other harts to have destroyed their processes, and ends the phase. */
WRAPPED(_Noreturn void, shut_down, unsigned status);
/* Also has the calls of phases and of links. */
WRAPPED(void, syscall, struct process *process);

#endif
