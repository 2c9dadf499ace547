/* The time that a page takes to come back from the paging data set, of which vos itself makes a copy in memory. */
#ifndef TIMESHARING_KERNEL_PAGING_H
#define TIMESHARING_KERNEL_PAGING_H

#include <stdint.h>

enum { PAGING_MOST_MICROSECONDS = 1 << 30 };

/* In the mean; 0 for no wait, as in vos. */
void paging_start(uint64_t microseconds);

#endif
