#include "map_lock.h"

#include "../vos/csr.h"
#include "../vos/spinlock.h"
#include "cursor.h"
#include "links.h"
#include "phases.h"
#include "wrapped.h"

static struct spinlock lock;
/* Guarded by the lock. */
static struct map_lock_counts counts;
static uint64_t taken_at;

static void take(void)
{
    uint64_t before = read_time();
    bool waited = !spinlock_try(&lock);

    if (waited)
        spinlock_lock(&lock);
    taken_at = read_time();
    counts.takes++;
    counts.waits += waited;
    counts.time_waited += taken_at - before;
}

static void release(void)
{
    counts.time_held += read_time() - taken_at;
    spinlock_unlock(&lock);
}

struct map_lock_counts map_lock_counts(void)
{
    struct map_lock_counts result;

    spinlock_lock(&lock);
    result = counts;
    spinlock_unlock(&lock);
    return result;
}

uint64_t __wrap_section_map(struct space *space, const struct section_request *request, uint64_t *bytes)
{
    uint64_t address;

    take();
    cursor_begin();
    address = request->write && request->bytes == 0 ? links_copy(space, bytes) : 0;
    if (address == 0) {
        address = __real_section_map(space, request, bytes);
        if (address != 0 && request->write && request->bytes == 0)
            links_note(space, address, *bytes);
    }
    cursor_end();
    release();
    return address;
}

enum fault_result __wrap_space_fault(struct space *space, uint64_t virtual, enum access access)
{
    enum fault_result result;

    take();
    result = __real_space_fault(space, virtual, access);
    release();
    return result;
}

void __wrap_process_destroy(struct process *process)
{
    take();
    cursor_begin();
    __real_process_destroy(process);
    cursor_end();
    release();
    phases_count_destroyed();
}
