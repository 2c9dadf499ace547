/* The heap of a static program, the memory below its break, in the region. */
#ifndef STATIC_HEAP_H
#define STATIC_HEAP_H

#include <stdint.h>

/* Begins it behind the first `below` bytes of the region, which are the program's own. */
void heap_start(uint64_t below);
/* The system call brk. */
long heap_break(uint64_t to);

#endif
