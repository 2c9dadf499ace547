/* Functions of vos that the linker has go through this kernel (`--wrap`). vos.elf has the same objects, and none of this. */
#ifndef VALIDATION_KERNEL_WRAPPED_H
#define VALIDATION_KERNEL_WRAPPED_H

#include "../vos/frames.h"
#include "../vos/options.h"

#include <stdint.h>

#define WRAPPED(result, name, ...)                                                                 \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __real_##name(__VA_ARGS__)

/* Also takes the seed off the command line. */
WRAPPED(void, options_parse, struct options *options, char *line);
/* Also makes the pool of scattered frames. */
WRAPPED(void, frames_start, enum clear_policy policy);
/* Takes frames of 4K from the pool. */
WRAPPED(uint64_t, frames_take, unsigned order);

#endif
