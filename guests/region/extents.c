#include "extents.h"

static uint64_t align(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

static void insert(struct extents *extents, size_t at, struct extent extent)
{
    for (size_t i = extents->count; i > at; i--)
        extents->taken[i] = extents->taken[i - 1];
    extents->taken[at] = extent;
    extents->count++;
}

static void erase(struct extents *extents, size_t at)
{
    extents->count--;
    for (size_t i = at; i < extents->count; i++)
        extents->taken[i] = extents->taken[i + 1];
}

/* The first extent that ends behind `address`. */
static size_t first_behind(const struct extents *extents, uint64_t address)
{
    size_t low = 0;
    size_t high = extents->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (extents->taken[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t extents_take(struct extents *extents, uint64_t bytes, uint64_t alignment, bool object)
{
    uint64_t from = extents->begin;

    if (extents->count == EXTENTS || bytes == 0)
        return 0;
    for (size_t i = 0; i <= extents->count; i++) {
        uint64_t gap_end = i < extents->count ? extents->taken[i].begin : extents->end;
        uint64_t begin = align(from > extents->floor ? from : extents->floor, alignment);

        if (begin >= from && begin <= gap_end && bytes <= gap_end - begin) {
            insert(extents, i, (struct extent){begin, begin + bytes, object});
            return begin;
        }
        if (i < extents->count)
            from = extents->taken[i].end;
    }
    return 0;
}

void extents_give(struct extents *extents, uint64_t begin, uint64_t end)
{
    size_t i = first_behind(extents, begin);

    while (i < extents->count && extents->taken[i].begin < end) {
        struct extent *extent = &extents->taken[i];

        if (extent->begin < begin && extent->end > end) {
            /* A hole: where the table is full it stays taken. */
            if (extents->count < EXTENTS) {
                insert(extents, i + 1, (struct extent){end, extent->end, extent->object});
                extent->end = begin;
            }
            return;
        }
        if (extent->begin < begin) {
            extent->end = begin;
            i++;
        } else if (extent->end > end) {
            extent->begin = end;
            return;
        } else {
            erase(extents, i);
        }
    }
}

struct extent *extents_at(struct extents *extents, uint64_t begin)
{
    size_t i = first_behind(extents, begin);

    return i < extents->count && extents->taken[i].begin == begin ? &extents->taken[i] : NULL;
}

bool extents_grow(struct extents *extents, struct extent *extent, uint64_t end)
{
    size_t next = (size_t)(extent - extents->taken) + 1;
    uint64_t room = next < extents->count ? extents->taken[next].begin : extents->end;

    if (end > room)
        return false;
    extent->end = end;
    return true;
}
