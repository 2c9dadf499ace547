#include "region.h"

#include "../common/bytes.h"
#include "console.h"
#include "hart.h"
#include "layout.h"
#include "memory.h"
#include "sbi.h"
#include "spinlock.h"

enum { MOST_REGIONS = 64 };

/* Regions of equal length, one after the other. */
static struct {
    bool taken;
    /* So many bytes may not be zero. */
    uint64_t used;
} regions[MOST_REGIONS];
static unsigned count;
static uint64_t region_bytes;
static struct spinlock lock;

/* What each hart has in its registers, by its number at the SBI. */
static struct {
    uint64_t begin;
    uint64_t end;
    uint64_t target;
} loaded[PLATFORM_HARTS];
static bool refused;

void region_start(bool wanted, unsigned processes, uint64_t page_bytes)
{
    uint64_t bytes = platform.region.end - platform.region.begin;

    if (!wanted || bytes == 0)
        return;
    count = processes < MOST_REGIONS ? processes : MOST_REGIONS;
    region_bytes = round_down(bytes / count, page_bytes);
    if (region_bytes == 0)
        count = 0;
}

struct range region_take(void)
{
    struct range region = {0, 0};
    uint64_t used = 0;

    spinlock_lock(&lock);
    for (unsigned i = 0; i < count; i++)
        if (!regions[i].taken) {
            regions[i].taken = true;
            used = regions[i].used;
            regions[i].used = 0;
            region.begin = platform.region.begin + i * region_bytes;
            region.end = region.begin + region_bytes;
            break;
        }
    spinlock_unlock(&lock);
    memset(linear(region.begin), 0, used);
    return region;
}

void region_give(struct range region, uint64_t used)
{
    uint64_t bytes = region.end - region.begin;
    unsigned number;

    if (bytes == 0)
        return;
    number = (unsigned)((region.begin - platform.region.begin) / region_bytes);
    spinlock_lock(&lock);
    regions[number].taken = false;
    regions[number].used = used < bytes ? used : bytes;
    spinlock_unlock(&lock);
}

bool region_load(uint64_t begin, uint64_t end, uint64_t target)
{
    uint64_t hart = hart_this()->id;
    int64_t error;

    if (count == 0 || hart >= PLATFORM_HARTS)
        return true;
    if (begin == end)
        begin = end = target = 0;
    if (loaded[hart].begin == begin && loaded[hart].end == end && loaded[hart].target == target)
        return true;
    error = sbi_set_segment(begin, end, target);
    loaded[hart].begin = error == 0 ? begin : 0;
    loaded[hart].end = error == 0 ? end : 0;
    loaded[hart].target = error == 0 ? target : 0;
    if (error != 0 && !refused) {
        refused = true;
        console_print("vos: segment %lx to %lx refused: SBI error -%lu\n", begin, end,
                      (uint64_t)-error);
    }
    return error == 0;
}

void region_ask_for_trouble(void)
{
    const uint64_t at = platform.region.begin;
    const uint64_t end = platform.region.end;
    const struct {
        const char *name;
        uint64_t begin;
        uint64_t end;
        uint64_t target;
    } wishes[] = {
        {"kernel memory", USER_HEAP_BASE, USER_HEAP_BASE + PAGE_BYTES, IMAGE_BASE},
        {"kernel addresses", LINEAR_BASE + at, LINEAR_BASE + at + PAGE_BYTES, at},
        {"across the middle", USER_END - PAGE_BYTES, USER_END + PAGE_BYTES, at},
        {"backwards", USER_HEAP_BASE + PAGE_BYTES, USER_HEAP_BASE, at},
        {"wraps", USER_HEAP_BASE, USER_HEAP_BASE + 2 * PAGE_BYTES, -(uint64_t)PAGE_BYTES},
        {"too long", USER_HEAP_BASE, USER_HEAP_BASE + (end - at) + PAGE_BYTES, at},
        {"before the region", USER_HEAP_BASE, USER_HEAP_BASE + PAGE_BYTES, at - PAGE_BYTES},
        {"behind the region", USER_HEAP_BASE, USER_HEAP_BASE + PAGE_BYTES, end},
        {"half a page", USER_HEAP_BASE, USER_HEAP_BASE + PAGE_BYTES / 2, at},
    };

    for (unsigned i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        int64_t error = sbi_set_segment(wishes[i].begin, wishes[i].end, wishes[i].target);

        console_print("vos: segment: %s: %s%lu\n", wishes[i].name, error < 0 ? "refused, -" : "taken, ",
                      (uint64_t)(error < 0 ? -error : error));
    }
}
