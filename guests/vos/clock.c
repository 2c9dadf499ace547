#include "clock.h"

#include "frames.h"
#include "memory.h"
#include "segment.h"

#include <stddef.h>

struct page_frame {
    /* FRAME_NONE until it is first used; then it stays here for good. */
    uint64_t frame;
    /* Whose page it holds, NULL for none. */
    struct segment *segment;
    uint64_t page;
    struct page_frame *next_free;
};

static struct page_frame *frames;
static uint64_t count;
static struct page_frame *first_free;
/* The position of the hand. */
static uint64_t hand;

static enum replacement replacement;

void clock_set_replacement(enum replacement new_replacement)
{
    replacement = new_replacement;
}

static void put_free(struct page_frame *page_frame)
{
    page_frame->segment = NULL;
    page_frame->next_free = first_free;
    first_free = page_frame;
}

bool clock_start(uint64_t frames_wanted)
{
    uint64_t block;

    if (clock_started() || frames_wanted == 0 ||
        frames_wanted > (uint64_t)GIGAPAGE_BYTES / sizeof(*frames))
        return false;
    block = frames_take(frame_order(frames_wanted * sizeof(*frames)));
    if (block == FRAME_NONE)
        return false;
    frames = linear(block);
    count = frames_wanted;
    for (uint64_t i = count; i > 0; i--)
        put_free(&frames[i - 1]);
    return true;
}

bool clock_started(void)
{
    return frames != NULL;
}

/* The first page that was not referenced since the hand last passed it. When harts are quicker at
 * setting bits than the hand is at resetting them, the page at which it is after two turns. */
static struct page_frame *find_victim(void)
{
    struct page_frame *candidate = NULL;

    for (uint64_t step = 0; step < 2 * count; step++) {
        struct page_frame *at = &frames[hand];

        hand = (hand + 1) % count;
        if (at->segment == NULL)
            continue;
        candidate = at;
        if (replacement == REPLACE_FIFO || !segment_test_referenced(at->segment, at->page))
            break;
    }
    return candidate;
}

static struct page_frame *take_free(void)
{
    struct page_frame *taken = first_free;

    if (taken == NULL)
        return NULL;
    if (taken->frame == FRAME_NONE)
        taken->frame = frames_take(ORDER_4K);
    if (taken->frame == FRAME_NONE)
        return NULL;
    first_free = taken->next_free;
    return taken;
}

uint64_t clock_take(struct segment *segment, uint64_t page)
{
    struct page_frame *taken = take_free();

    if (taken == NULL) {
        taken = find_victim();
        if (taken == NULL || !segment_page_out(taken->segment, taken->page))
            return FRAME_NONE;
    }
    taken->segment = segment;
    taken->page = page;
    return taken->frame;
}

void clock_give_all(const struct segment *segment)
{
    for (uint64_t i = 0; i < count; i++)
        if (frames[i].segment == segment)
            put_free(&frames[i]);
}
