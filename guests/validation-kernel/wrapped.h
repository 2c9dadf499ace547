/* Functions of vos that go through the kernel of `pagewalk validate`. */
#ifndef VALIDATION_KERNEL_WRAPPED_H
#define VALIDATION_KERNEL_WRAPPED_H

#include "../common/wrapped.h"
#include "../vos/frames.h"
#include "../vos/options.h"

#include <stdint.h>

/* Also takes the seed off the command line. */
WRAPPED(void, options_parse, struct options *options, char *line);
/* Also makes the pool of scattered frames. */
WRAPPED(void, frames_start, enum clear_policy policy);
/* Takes frames of 4K from the pool. */
WRAPPED(uint64_t, frames_take, unsigned order);

#endif
