/* Anonymous memory by the system calls that ask for it: from the region as far as it goes, and else from the kernel. Arguments and results are the
 * system calls'. */
#ifndef REGION_MAPPINGS_H
#define REGION_MAPPINGS_H

#include <stdint.h>

long mappings_map(uint64_t at, uint64_t bytes, int protection, int flags, int file, int64_t offset);
long mappings_unmap(uint64_t at, uint64_t bytes);
long mappings_move(uint64_t at, uint64_t length, uint64_t bytes, int flags, uint64_t to);
long mappings_advise(uint64_t at, uint64_t bytes, int advice);

#endif
