/* What becomes of a program's system calls that have to do with its memory. */
#include "heap.h"

#include "../region/copy.h"
#include "../region/mappings.h"
#include "../region/raw.h"
#include "../region/region.h"

#include <stdbool.h>

/* Registers as start.S saves them. */
struct frame {
    long a[8];
};

bool calls_serve(struct frame *frame);

/* A child with memory of its own, and the stack where it is: what is in the region is copied for it. */
static bool fork_with_copy(struct frame *frame)
{
    enum { CLONE_SAME_MEMORY = 0x100 };
    long copy;

    if ((frame->a[0] & CLONE_SAME_MEMORY) != 0 || frame->a[1] != 0 || !region_is_the_machines)
        return false;
    region_lock();
    copy = copy_take();
    frame->a[0] = raw_failed(copy) ? copy : raw_call(RAW_CLONE, frame->a);
    if (frame->a[0] == 0)
        copy_move_in(copy);
    else
        copy_drop(copy);
    region_unlock();
    return true;
}

/* Whether the call is done; what is declined is made unchanged. */
bool calls_serve(struct frame *frame)
{
    const long *a = frame->a;
    uint64_t at = (uint64_t)a[0];
    uint64_t bytes = (uint64_t)a[1];

    switch (a[7]) {
    case RAW_BRK:
        frame->a[0] = heap_break(at);
        return true;
    case RAW_MMAP:
        frame->a[0] = mappings_map(at, bytes, (int)a[2], (int)a[3], (int)a[4], a[5]);
        return true;
    case RAW_MUNMAP:
        frame->a[0] = mappings_unmap(at, bytes);
        return true;
    case RAW_MREMAP:
        frame->a[0] = mappings_move(at, bytes, (uint64_t)a[2], (int)a[3], (uint64_t)a[4]);
        return true;
    case RAW_MADVISE:
        frame->a[0] = mappings_advise(at, bytes, (int)a[2]);
        return true;
    case RAW_CLONE:
        return fork_with_copy(frame);
    default:
        return false;
    }
}
