#include "space.h"

#include "../common/bytes.h"
#include "csr.h"
#include "frames.h"
#include "hart.h"
#include "kernel_map.h"
#include "memory.h"
#include "sbi.h"
#include "tlb.h"

static enum ad_policy ad_policy;

void space_set_ad_policy(enum ad_policy policy)
{
    ad_policy = policy;
}

bool space_create(struct space *space, unsigned asid)
{
    *space = (struct space){.asid = asid};
    space->table = page_table_new_user(kernel_map_root());
    return space->table != FRAME_NONE;
}

void space_destroy(struct space *space)
{
    tlb_flush_asid(space->asid);
    page_table_destroy_user(space->table);
    space->table = FRAME_NONE;
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
    return begin;
}

static void set_table(page_table table, unsigned asid)
{
    csr_write(satp, (uint64_t)page_table_mode() << SATP_MODE_SHIFT |
                        (uint64_t)asid << SATP_ASID_SHIFT | table >> 12);
}

void space_enter(const struct space *space)
{
    set_table(space->table, space->asid);
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

static enum fault_result add_page(struct space *space, const struct area *area, uint64_t virtual,
                                  enum access access)
{
    uint64_t page = round_down(virtual, page_bytes(area->page_size));
    uint64_t frame = frames_take(9 * area->page_size);
    unsigned flags = area->permissions | PTE_U;

    if (frame == FRAME_NONE)
        return FAULT_NO_MEMORY;
    copy_from_file(area, page, frame);
    if ((area->permissions & PTE_X) != 0)
        synchronize_fetch();
    flags |= PTE_A;
    if (access == ACCESS_STORE || (ad_policy == AD_PRESET && (area->permissions & PTE_W) != 0))
        flags |= PTE_D;
    if (!page_table_map(space->table, page, frame, area->page_size, flags)) {
        frames_give(frame, 9 * area->page_size);
        return FAULT_NO_MEMORY;
    }
    return FAULT_RESOLVED;
}

enum fault_result space_fault(struct space *space, uint64_t virtual, enum access access)
{
    const struct area *area = area_of(space, virtual);
    enum page_size size;
    pte *entry;

    if (area == NULL || (area->permissions & access) == 0)
        return FAULT_INVALID;
    entry = page_table_find(space->table, virtual, &size);
    if (entry == NULL) {
        enum fault_result result = add_page(space, area, virtual, access);

        if (result != FAULT_RESOLVED)
            return result;
    } else {
        *entry |= access == ACCESS_STORE ? PTE_A | PTE_D : PTE_A;
    }
    /* A processor may have cached that the entry was invalid, or lacked A or D. */
    tlb_flush_local_page(virtual, space->asid);
    return FAULT_RESOLVED;
}

void *space_user_pointer(struct space *space, uint64_t virtual, enum access access)
{
    enum page_size size;
    pte *entry;

    if (space_fault(space, virtual, access) != FAULT_RESOLVED)
        return NULL;
    entry = page_table_find(space->table, virtual, &size);
    return linear(pte_physical(*entry) + virtual % page_bytes(size));
}
