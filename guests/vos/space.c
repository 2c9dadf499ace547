#include "space.h"

#include "../common/bytes.h"
#include "counters.h"
#include "csr.h"
#include "frames.h"
#include "hart.h"
#include "kernel_map.h"
#include "memory.h"
#include "region.h"
#include "sbi.h"
#include "section.h"
#include "tlb.h"

static enum ad_policy ad_policy;
static enum validation validation;

void space_set_ad_policy(enum ad_policy policy)
{
    ad_policy = policy;
}

void space_set_validation(enum validation new_validation)
{
    validation = new_validation;
}

bool space_create(struct space *space)
{
    *space = (struct space){.table = page_table_new_user(kernel_map_root())};
    if (space->table == FRAME_NONE)
        return false;
    space->asid = tlb_take_asid();
    space->region = region_take();
    return true;
}

/* This hart's segment registers hold what of the heap lies in the primary region. */
static void load_region(const struct space *space)
{
    uint64_t begin = space->heap->begin;
    uint64_t end = begin + (space->region.end - space->region.begin);

    region_load(begin, end < space->heap->end ? end : space->heap->end, space->region.begin);
}

void space_destroy(struct space *space)
{
    segment_release(space);
    segment_leave_common(space);
    section_leave(space);
    tlb_flush_asid(space->asid);
    page_table_destroy_user(space->table);
    region_give(space->region, space->heap->end - space->heap->begin);
    space->table = FRAME_NONE;
    tlb_give_asid(space->asid);
}

bool space_add_area(struct space *space, struct area area)
{
    if (space->area_count == SPACE_AREAS)
        return false;
    space->areas[space->area_count++] = area;
    return true;
}

uint64_t space_grow_heap(struct space *space, uint64_t bytes)
{
    uint64_t begin = space->heap->end;
    uint64_t room = USER_STACK_TOP - USER_STACK_BYTES - begin;

    if (bytes == 0 || bytes > room - PAGE_BYTES)
        return 0;
    space->heap->end += round_up(bytes, PAGE_BYTES);
    load_region(space);
    return begin;
}

static bool add_segment_area(struct space *space, struct segment *segment, uint64_t begin,
                             uint64_t bytes)
{
    struct area area = {
        .begin = begin,
        .end = begin + round_up(bytes, PAGE_BYTES),
        .permissions = PTE_R | PTE_W,
        .page_size = PAGE_4K,
        .segment = segment,
    };

    return space_add_area(space, area);
}

uint64_t space_add_segment(struct space *space, uint64_t bytes)
{
    uint64_t begin = segment_create(space, bytes);

    if (begin == 0)
        return 0;
    if (!add_segment_area(space, &space->segment, begin, bytes)) {
        segment_release(space);
        return 0;
    }
    return begin;
}

uint64_t space_add_common(struct space *space, uint64_t bytes)
{
    uint64_t begin = segment_join_common(space, bytes);

    if (begin == 0 || !add_segment_area(space, segment_common(), begin, bytes))
        return 0;
    return begin;
}

bool space_remove_segment(struct space *space)
{
    for (unsigned i = 0; i < space->area_count; i++)
        if (space->areas[i].segment == &space->segment) {
            space->areas[i] = space->areas[--space->area_count];
            segment_release(space);
            return true;
        }
    return false;
}

static void set_table(page_table table, unsigned asid)
{
    csr_write(satp, (uint64_t)page_table_mode() << SATP_MODE_SHIFT |
                        (uint64_t)asid << SATP_ASID_SHIFT | table >> 12);
}

void space_enter(const struct space *space)
{
    counter_add(COUNTER_SWITCHES);
    set_table(space->table, space->asid);
    load_region(space);
    if (space->asid == 0)
        tlb_flush_local();
}

/* The kernel's entries are global, and it uses no user address: nothing to flush. */
void space_leave(void)
{
    set_table(kernel_map_root(), 0);
}

static const struct area *area_of(const struct space *space, uint64_t virtual)
{
    for (unsigned i = 0; i < space->area_count; i++)
        if (virtual >= space->areas[i].begin && virtual < space->areas[i].end)
            return &space->areas[i];
    return NULL;
}

/* Instructions just written by the kernel become visible to every hart's fetches. */
static void synchronize_fetch(void)
{
    uint64_t others = hart_running_mask() & ~hart_mask_of(hart_this());

    __asm__ volatile("fence.i" ::: "memory");
    if (others != 0)
        sbi_remote_fence_i(others);
}

static void copy_from_file(const struct area *area, uint64_t page, uint64_t frame)
{
    uint64_t offset = page - area->begin;
    uint64_t most = page_bytes(area->page_size);
    uint64_t bytes;

    if (offset >= area->file_bytes)
        return;
    bytes = area->file_bytes - offset;
    memcpy(linear(frame), area->file + offset, bytes < most ? bytes : most);
}

/* Of a new page. */
static unsigned flags_of(const struct area *area, enum access access)
{
    unsigned flags = area->permissions | PTE_U | PTE_A;

    if (access == ACCESS_STORE || (ad_policy == AD_PRESET && (area->permissions & PTE_W) != 0))
        flags |= PTE_D;
    return flags;
}

/* Where the page at `page` of the heap lies in the primary region, FRAME_NONE where it does not. */
static uint64_t frame_of_region(const struct space *space, const struct area *area, uint64_t page,
                                enum page_size size)
{
    uint64_t offset = page - area->begin;

    if (area != space->heap || offset + page_bytes(size) > space->region.end - space->region.begin ||
        (space->region.begin + offset) % page_bytes(size) != 0)
        return FRAME_NONE;
    return space->region.begin + offset;
}

/* The largest page around `virtual` that the region holds whole; false where it lies outside. */
static bool add_region_page(struct space *space, const struct area *area, uint64_t virtual,
                            enum access access, enum fault_result *result)
{
    for (enum page_size size = area->page_size;; size--) {
        uint64_t page = round_down(virtual, page_bytes(size));
        uint64_t frame = page < area->begin ? FRAME_NONE : frame_of_region(space, area, page, size);

        if (frame != FRAME_NONE) {
            *result = page_table_map(space->table, page, frame, size,
                                     flags_of(area, access) | PTE_LENT)
                          ? FAULT_RESOLVED
                          : FAULT_NO_MEMORY;
            return true;
        }
        if (size == PAGE_4K)
            return false;
    }
}

static enum fault_result add_page(struct space *space, const struct area *area, uint64_t virtual,
                                  enum access access)
{
    uint64_t page = round_down(virtual, page_bytes(area->page_size));
    uint64_t frame = frames_take(9 * area->page_size);

    if (frame == FRAME_NONE)
        return FAULT_NO_MEMORY;
    copy_from_file(area, page, frame);
    if ((area->permissions & PTE_X) != 0)
        synchronize_fetch();
    if (!page_table_map(space->table, page, frame, area->page_size, flags_of(area, access))) {
        frames_give(frame, 9 * area->page_size);
        return FAULT_NO_MEMORY;
    }
    return FAULT_RESOLVED;
}

static enum fault_result segment_page_fault(struct space *space, const struct area *area,
                                            uint64_t virtual, enum access access)
{
    switch (segment_fault(area->segment, space, virtual, flags_of(area, access),
                          access == ACCESS_STORE)) {
    case SEGMENT_FAULT_RESOLVED:
        return FAULT_RESOLVED;
    case SEGMENT_FAULT_PAGED_IN:
        return FAULT_PAGED_IN;
    case SEGMENT_FAULT_NO_MEMORY:
        break;
    }
    return FAULT_NO_MEMORY;
}

/* Of a page that belongs to the space for good. */
static enum fault_result resident_page_fault(struct space *space, const struct area *area,
                                             uint64_t virtual, enum access access)
{
    enum page_size size;
    pte *entry = page_table_find(space->table, virtual, &size);

    if (entry == NULL) {
        enum fault_result result;

        return add_region_page(space, area, virtual, access, &result)
                   ? result
                   : add_page(space, area, virtual, access);
    }
    *entry |= access == ACCESS_STORE ? PTE_A | PTE_D : PTE_A;
    return FAULT_RESOLVED;
}

/* The table has what the access needs: the processor has faulted by what it had cached. */
static bool is_stale(const struct space *space, uint64_t virtual, enum access access)
{
    pte needed = access == ACCESS_STORE ? PTE_A | PTE_D : PTE_A;
    enum page_size size;
    const pte *entry = page_table_find(space->table, virtual, &size);

    return entry != NULL && (*entry & needed) == needed;
}

enum fault_result space_fault(struct space *space, uint64_t virtual, enum access access)
{
    const struct area *area = area_of(space, virtual);
    enum fault_result result;
    bool fence;

    if (area == NULL || (area->permissions & access) == 0)
        return FAULT_INVALID;
    fence = validation == VALIDATE_FENCE || is_stale(space, virtual, access);
    result = area->segment != NULL ? segment_page_fault(space, area, virtual, access)
                                   : resident_page_fault(space, area, virtual, access);
    if (fence && (result == FAULT_RESOLVED || result == FAULT_PAGED_IN))
        tlb_flush_local_page(virtual, space->asid);
    return result;
}

void *space_user_pointer(struct space *space, uint64_t virtual, enum access access)
{
    const struct area *area = area_of(space, virtual);
    enum page_size size;
    pte *entry;

    if (area == NULL || area->segment != NULL ||
        space_fault(space, virtual, access) != FAULT_RESOLVED)
        return NULL;
    entry = page_table_find(space->table, virtual, &size);
    return linear(pte_physical(*entry) + virtual % page_bytes(size));
}
