/* Where a section is mapped or unmapped, in order: the table of one entry has the next one too. vos itself goes through the table from its root for
 * each page, which other kernels do not. */
#ifndef SERVERS_KERNEL_CURSOR_H
#define SERVERS_KERNEL_CURSOR_H

#include "../vos/page_table.h"

/* The table above the leaf tables of the 1G around an address; NULL where there is none. */
pte *table_above_leaves(page_table table, uint64_t virtual);

/* Around what this hart does in order, with the lock of memory maps held. */
void cursor_begin(void);
void cursor_end(void);

#endif
