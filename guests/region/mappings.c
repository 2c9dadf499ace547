#include "mappings.h"

#include "../common/bytes.h"
#include "raw.h"
#include "region.h"

#include <linux/errno.h>
#include <linux/mman.h>

long mappings_map(uint64_t at, uint64_t bytes, int protection, int flags, int file, int64_t offset)
{
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_SHARED | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_HUGETLB |
                     MAP_STACK | MAP_GROWSDOWN;
    const int plain = PROT_READ | PROT_WRITE;
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    void *memory = NULL;

    if (at == 0 && (flags & kind) == anonymous && protection == plain)
        memory = region_serve(bytes, 0, REGION_MAPPING);
    if (memory != NULL)
        return (long)memory;
    if ((flags & MAP_FIXED) == 0 || !region_holds((void *)at))
        return raw_map(at, bytes, protection, flags, file, offset);
    /* The segment leads to the region whatever is mapped there: fresh memory is what is there, cleared, and all else is refused. */
    if ((flags & anonymous) != anonymous || !region_holds((char *)at + bytes - 1))
        return -ENOMEM;
    memset((void *)at, 0, bytes);
    return (long)at;
}

long mappings_unmap(uint64_t at, uint64_t bytes)
{
    if (!region_holds((void *)at))
        return RAW(RAW_MUNMAP, (long)at, (long)bytes);
    region_give((void *)at, bytes);
    return 0;
}

long mappings_move(uint64_t at, uint64_t length, uint64_t bytes, int flags, uint64_t to)
{
    long other;

    if (!region_holds((void *)at))
        return RAW(RAW_MREMAP, (long)at, (long)length, (long)bytes, flags, (long)to);
    if (to == 0 && region_grow((void *)at, length, bytes))
        return (long)at;
    if ((flags & MREMAP_MAYMOVE) == 0 || to != 0)
        return -ENOMEM;
    other = mappings_map(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw_failed(other))
        return -ENOMEM;
    memcpy((void *)other, (void *)at, length < bytes ? length : bytes);
    region_give((void *)at, length);
    return other;
}

long mappings_advise(uint64_t at, uint64_t bytes, int advice)
{
    if (!region_holds((void *)at))
        return RAW(RAW_MADVISE, (long)at, (long)bytes, advice);
    /* The one piece of advice that changes what a program reads. */
    if (advice == MADV_DONTNEED)
        memset((void *)at, 0, bytes);
    return 0;
}
