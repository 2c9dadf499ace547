/* The kernel's own mappings: the upper half of every address space. */
#ifndef VOS_KERNEL_MAP_H
#define VOS_KERNEL_MAP_H

#include "page_table.h"

/* Maps all memory and devices into the linear map with pages of at most `largest`, and turns paging
 * in the mode of page_table_mode() on. Panics when the processor has no such mode. */
void kernel_map_start(enum page_size largest);
page_table kernel_map_root(void);
/* Called on each hart but the first. */
void kernel_map_enter(void);

#endif
