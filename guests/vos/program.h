/* Loader of the embedded program: a static ELF executable for RV64. */
#ifndef VOS_PROGRAM_H
#define VOS_PROGRAM_H

#include "space.h"

/* Adds an area for each loadable segment; its pages are filled at their first use. The result is the
 * entry point. Panics when the image is not such a program. */
uint64_t program_load(struct space *space);

#endif
