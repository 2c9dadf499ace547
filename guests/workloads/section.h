/* Sections: memory that machines share, by name. vos maps them itself; on Linux they are found in the device tree and mapped from
 * /dev/mem. */
#ifndef WORKLOADS_SECTION_H
#define WORKLOADS_SECTION_H

#include <stdbool.h>
#include <stdint.h>

/* The section `name`. `bytes` is how much of it to map, 0 for all, and then its length. Ends the program when it cannot be had. */
void *section_take(const char *name, bool write, uint64_t *bytes);

#endif
