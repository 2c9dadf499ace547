#include "frames.h"

#include "../common/bytes.h"
#include "image.h"
#include "memory.h"
#include "panic.h"
#include "platform.h"
#include "spinlock.h"

#include <stdbool.h>

enum { ORDERS = ORDER_1G + 1 };

/* The first bytes of a free block. */
struct block {
    struct block *next;
    struct block *previous;
};

/* One byte for each frame, 0 unless the frame begins a free block. */
enum tag {
    TAG_FREE = 0x80,
    /* All of the block is zero but for `struct block`. */
    TAG_CLEAN = 0x40,
    TAG_ORDER = 0x1f,
};

static struct block *free_blocks[ORDERS];
static uint8_t *tags;
static uint64_t first_frame;
static uint64_t frame_count;
static uint64_t free_bytes;
static struct spinlock lock;

static uint64_t block_bytes(unsigned order)
{
    return (uint64_t)PAGE_BYTES << order;
}

static uint8_t *tag_of(uint64_t frame)
{
    return &tags[(frame - first_frame) / PAGE_BYTES];
}

static void insert(uint64_t frame, unsigned order, bool clean)
{
    struct block *block = linear(frame);

    block->next = free_blocks[order];
    block->previous = NULL;
    if (block->next != NULL)
        block->next->previous = block;
    free_blocks[order] = block;
    *tag_of(frame) = (uint8_t)(TAG_FREE | (clean ? TAG_CLEAN : 0) | order);
}

/* The result is whether the block was clean, and now is zero throughout. */
static bool remove(uint64_t frame, unsigned order)
{
    struct block *block = linear(frame);
    bool clean = (*tag_of(frame) & TAG_CLEAN) != 0;

    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        free_blocks[order] = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    *block = (struct block){NULL, NULL};
    *tag_of(frame) = 0;
    return clean;
}

/* Is there a free block of exactly this order at `frame`? */
static bool is_free(uint64_t frame, unsigned order)
{
    return frame >= first_frame && frame < first_frame + frame_count * PAGE_BYTES &&
           (*tag_of(frame) & (TAG_FREE | TAG_ORDER)) == (TAG_FREE | order);
}

static void give_locked(uint64_t frame, unsigned order, bool clean)
{
    free_bytes += block_bytes(order);
    for (; order < ORDER_1G; order++) {
        uint64_t buddy = frame ^ block_bytes(order);

        if (!is_free(buddy, order))
            break;
        clean = remove(buddy, order) && clean;
        frame &= ~block_bytes(order);
    }
    insert(frame, order, clean);
}

uint64_t frames_take(unsigned order)
{
    unsigned from = order;
    uint64_t frame;
    bool clean;

    spinlock_lock(&lock);
    while (from < ORDERS && free_blocks[from] == NULL)
        from++;
    if (from >= ORDERS) {
        spinlock_unlock(&lock);
        return FRAME_NONE;
    }
    frame = physical_address(free_blocks[from]);
    clean = remove(frame, from);
    while (from > order) {
        from--;
        insert(frame + block_bytes(from), from, clean);
    }
    free_bytes -= block_bytes(order);
    spinlock_unlock(&lock);
    if (!clean)
        memset(linear(frame), 0, block_bytes(order));
    return frame;
}

void frames_give(uint64_t frame, unsigned order)
{
    spinlock_lock(&lock);
    give_locked(frame, order, false);
    spinlock_unlock(&lock);
}

uint64_t frames_free_bytes(void)
{
    return __atomic_load_n(&free_bytes, __ATOMIC_RELAXED);
}

/* Gives a range of whole frames in the largest blocks that fit, upwards. */
static void give_range(struct range range, bool clean)
{
    uint64_t at = round_up(range.begin, PAGE_BYTES);
    uint64_t end = round_down(range.end, PAGE_BYTES);

    while (at < end) {
        unsigned order = 0;

        while (order < ORDER_1G && (at & block_bytes(order)) == 0 &&
               at + block_bytes(order + 1) <= end)
            order++;
        give_locked(at, order, clean);
        at += block_bytes(order);
    }
}

/* Gives the parts of a range that no reserved range covers. */
static void give_unreserved(struct range range, bool clean)
{
    while (range.begin < range.end) {
        struct range next = {range.end, range.end};

        for (unsigned i = 0; i < platform.reserved_count; i++) {
            struct range reserved = platform.reserved[i];

            reserved.begin = round_down(reserved.begin, PAGE_BYTES);
            reserved.end = round_up(reserved.end, PAGE_BYTES);
            if (reserved.end > range.begin && reserved.begin < next.begin)
                next = reserved;
        }
        if (next.begin > range.begin)
            give_range((struct range){range.begin, next.begin}, clean);
        range.begin = next.end;
    }
}

/* The reserved range that `range` overlaps, NULL for none. */
static const struct range *meeting(struct range range)
{
    for (unsigned i = 0; i < platform.reserved_count; i++)
        if (platform.reserved[i].begin < range.end && platform.reserved[i].end > range.begin)
            return &platform.reserved[i];
    return NULL;
}

/* The tags lie behind the image, or behind what is reserved there. */
static uint64_t place_tags(uint64_t bytes)
{
    uint64_t begin = round_up(physical_address(image_end), PAGE_BYTES);
    const struct range *obstacle;

    while ((obstacle = meeting((struct range){begin, begin + bytes})) != NULL)
        begin = round_up(obstacle->end, PAGE_BYTES);
    if (begin + bytes > platform.memory.end)
        panic("too little memory: %lu bytes", platform.memory.end - platform.memory.begin);
    return begin;
}

void frames_start(enum clear_policy policy)
{
    uint64_t tags_begin;

    /* What lies below the image belongs to the firmware, if there is any. */
    first_frame = IMAGE_BASE;
    frame_count = (platform.memory.end - first_frame) / PAGE_BYTES;
    tags_begin = place_tags(frame_count);
    tags = linear(tags_begin);
    memset(tags, 0, frame_count);
    give_unreserved((struct range){round_up(tags_begin + frame_count, PAGE_BYTES),
                                   platform.memory.end},
                    policy == CLEAR_REUSED);
}
