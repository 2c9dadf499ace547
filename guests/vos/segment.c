#include "segment.h"

#include "../common/bytes.h"
#include "clock.h"
#include "counters.h"
#include "frames.h"
#include "memory.h"
#include "pptlb.h"
#include "space.h"
#include "spinlock.h"
#include "tlb.h"

static struct spinlock lock;
static struct segment common;

static uint64_t address_of(const struct segment *segment, uint64_t page)
{
    return segment->begin + page * PAGE_BYTES;
}

/* The member's entry where it maps `virtual`, else NULL. */
static pte *valid_entry(const struct space *member, uint64_t virtual)
{
    pte *entry = page_table_entry(member->table, virtual);

    return entry != NULL && (*entry & PTE_V) != 0 ? entry : NULL;
}

bool segment_set_frames(uint64_t frames)
{
    bool done;

    spinlock_lock(&lock);
    done = clock_start(frames);
    spinlock_unlock(&lock);
    return done;
}

/* With the lock held. */
static bool make(struct segment *segment, uint64_t begin, uint64_t bytes)
{
    uint64_t page_count = round_up(bytes, PAGE_BYTES) / PAGE_BYTES;
    uint64_t account;

    if (!clock_started() || bytes == 0 || bytes > USER_SEGMENT_MOST_BYTES)
        return false;
    account = frames_take(frame_order(page_count * sizeof(*segment->pages)));
    if (account == FRAME_NONE)
        return false;
    *segment = (struct segment){
        .begin = begin,
        .page_count = page_count,
        .pages = linear(account),
    };
    return true;
}

uint64_t segment_create(struct space *space, uint64_t bytes)
{
    bool made;

    spinlock_lock(&lock);
    made = space->segment.page_count == 0 && make(&space->segment, USER_SEGMENT_BASE, bytes);
    if (made)
        space->segment.members = space;
    spinlock_unlock(&lock);
    return made ? USER_SEGMENT_BASE : 0;
}

void segment_release(struct space *space)
{
    struct segment *segment = &space->segment;

    spinlock_lock(&lock);
    if (segment->page_count != 0) {
        for (uint64_t i = 0; i < segment->page_count; i++) {
            pte *entry = page_table_entry(space->table, address_of(segment, i));

            if (entry != NULL)
                *entry = 0;
        }
        tlb_purge();
        clock_give_all(segment);
        for (uint64_t i = 0; i < segment->page_count; i++)
            if (segment->pages[i].slot != FRAME_NONE)
                frames_give(segment->pages[i].slot, ORDER_4K);
        frames_give(physical_address(segment->pages),
                    frame_order(segment->page_count * sizeof(*segment->pages)));
        *segment = (struct segment){0};
    }
    spinlock_unlock(&lock);
}

uint64_t segment_join_common(struct space *space, uint64_t bytes)
{
    bool joined = false;

    spinlock_lock(&lock);
    if (!space->in_common && (common.page_count != 0 || make(&common, USER_COMMON_BASE, bytes)) &&
        common.page_count == round_up(bytes, PAGE_BYTES) / PAGE_BYTES) {
        space->next_member = common.members;
        common.members = space;
        space->in_common = true;
        joined = true;
    }
    spinlock_unlock(&lock);
    return joined ? USER_COMMON_BASE : 0;
}

struct segment *segment_common(void)
{
    return &common;
}

void segment_leave_common(struct space *space)
{
    struct space **link = &common.members;

    if (!space->in_common)
        return;
    spinlock_lock(&lock);
    for (uint64_t i = 0; i < common.page_count; i++) {
        pte *entry = valid_entry(space, address_of(&common, i));

        if (entry == NULL)
            continue;
        common.pages[i].dirty = common.pages[i].dirty || (*entry & PTE_D) != 0;
        *entry = 0;
    }
    while (*link != space)
        link = &(*link)->next_member;
    *link = space->next_member;
    space->in_common = false;
    spinlock_unlock(&lock);
}

/* With the lock held. */
static enum segment_fault bring_in(struct segment *segment, uint64_t index)
{
    struct segment_page *page = &segment->pages[index];
    uint64_t frame = clock_take(segment, index);

    if (frame == FRAME_NONE)
        return SEGMENT_FAULT_NO_MEMORY;
    page->frame = frame;
    if (page->slot == FRAME_NONE) {
        memset(linear(frame), 0, PAGE_BYTES);
        return SEGMENT_FAULT_RESOLVED;
    }
    memcpy(linear(frame), linear(page->slot), PAGE_BYTES);
    counter_add(COUNTER_PAGE_INS);
    return SEGMENT_FAULT_PAGED_IN;
}

enum segment_fault segment_fault(struct segment *segment, struct space *space, uint64_t virtual,
                                 unsigned flags, bool store)
{
    uint64_t index = (virtual - segment->begin) / PAGE_BYTES;
    enum segment_fault result = SEGMENT_FAULT_RESOLVED;
    pte *entry;

    spinlock_lock(&lock);
    entry = page_table_make_entry(space->table, virtual);
    if (entry == NULL) {
        result = SEGMENT_FAULT_NO_MEMORY;
    } else if ((*entry & PTE_V) != 0) {
        __atomic_fetch_or(entry, store ? PTE_A | PTE_D : PTE_A, __ATOMIC_RELAXED);
    } else {
        if (segment->pages[index].frame == FRAME_NONE)
            result = bring_in(segment, index);
        if (result != SEGMENT_FAULT_NO_MEMORY)
            *entry = pte_make(segment->pages[index].frame, flags | PTE_V);
    }
    spinlock_unlock(&lock);
    return result;
}

bool segment_test_referenced(struct segment *segment, uint64_t page)
{
    uint64_t virtual = address_of(segment, page);
    bool referenced = false;

    for (struct space *member = segment->members; member != NULL; member = member->next_member) {
        pte *entry = valid_entry(member, virtual);

        if (entry != NULL && (*entry & PTE_A) != 0) {
            __atomic_fetch_and(entry, ~(pte)PTE_A, __ATOMIC_RELAXED);
            referenced = true;
        }
        if (segment != &common)
            break;
    }
    return referenced;
}

/* Takes a page from every space that maps it; the result is all their entries as they were.
 *
 * All entries but one are cleared here, and that one is left to pptlb_invalidate, which takes away the
 * translations of all of them. */
static pte unmap(struct segment *segment, uint64_t virtual)
{
    unsigned asid = TLB_EVERY_ASID;
    pte *last = NULL;
    pte old = 0;

    for (struct space *member = segment->members; member != NULL; member = member->next_member) {
        pte *entry = valid_entry(member, virtual);

        if (entry != NULL && last != NULL)
            old |= __atomic_fetch_and(last, ~(pte)PTE_V, __ATOMIC_RELAXED);
        if (entry != NULL)
            last = entry;
        if (segment != &common) {
            asid = member->asid;
            break;
        }
    }
    if (last != NULL)
        old |= pptlb_invalidate(last, virtual, asid);
    return old;
}

bool segment_page_out(struct segment *segment, uint64_t index)
{
    struct segment_page *page = &segment->pages[index];
    bool dirty = page->dirty;

    if (page->slot == FRAME_NONE) {
        page->slot = frames_take(ORDER_4K);
        if (page->slot == FRAME_NONE)
            return false;
        dirty = true;
    }
    if ((unmap(segment, address_of(segment, index)) & PTE_D) != 0 || dirty)
        memcpy(linear(page->slot), linear(page->frame), PAGE_BYTES);
    page->frame = FRAME_NONE;
    page->dirty = false;
    counter_add(COUNTER_PAGE_OUTS);
    return true;
}
