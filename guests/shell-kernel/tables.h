/* What is in the tables of an address space. */
#ifndef SHELL_KERNEL_TABLES_H
#define SHELL_KERNEL_TABLES_H

#include "../shell/abi.h"
#include "../vos/space.h"

/* Of the pages of one area, and of all. */
uint64_t tables_resident_of(const struct space *space, const struct area *area);
uint64_t tables_resident_bytes(const struct space *space);
/* Of the tables for the lower half, the root's page included. */
uint64_t tables_bytes(const struct space *space);
/* The entry for an address so many levels below the root; false where the walk has ended before. */
bool tables_step(const struct space *space, uint64_t virtual, unsigned below_root,
                 struct shell_step *step);

#endif
