/* Memory from the primary region of a Linux guest, for processes that have no preload library: see docs/segments.md.
 * On vos the heap itself lies in the region. */
#ifndef WORKLOADS_REGION_H
#define WORKLOADS_REGION_H

#include <stddef.h>

/* Zeroed memory, NULL when the machine has no region, another process has had it, or it is full. */
void *region_take(size_t bytes, size_t alignment);

#endif
