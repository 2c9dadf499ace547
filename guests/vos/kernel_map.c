#include "kernel_map.h"

#include "csr.h"
#include "frames.h"
#include "image.h"
#include "memory.h"
#include "panic.h"
#include "platform.h"
#include "tlb.h"

enum {
    KERNEL_DATA = PTE_R | PTE_W | PTE_A | PTE_D | PTE_G,
    KERNEL_TEXT = PTE_R | PTE_X | PTE_A | PTE_G,
};

static page_table root;

/* Text must not be writable, and no page may hold both. */
static unsigned flags_at(uint64_t physical)
{
    return physical >= physical_address(image_begin) && physical < physical_address(image_data)
               ? KERNEL_TEXT
               : KERNEL_DATA;
}

static bool holds_image_text(uint64_t physical, enum page_size size)
{
    return physical <= physical_address(image_begin) &&
           physical_address(image_begin) < physical + page_bytes(size);
}

static void map_range(struct range range, enum page_size largest)
{
    uint64_t at = round_down(range.begin, MEGAPAGE_BYTES);

    while (at < range.end) {
        enum page_size size = largest;

        while (size > PAGE_2M &&
               (at % page_bytes(size) != 0 || at + page_bytes(size) > range.end ||
                holds_image_text(at, size)))
            size--;
        if (!page_table_map(root, (uint64_t)linear(at), at, size, flags_at(at)))
            panic("out of memory for the linear map");
        at += page_bytes(size);
    }
}

/* Only now is it known whether the processor has the mode: a write of another one has no effect. */
static void turn_on(void)
{
    uint64_t wanted = (uint64_t)page_table_mode() << SATP_MODE_SHIFT | root >> 12;

    csr_write(satp, wanted);
    if (csr_read(satp) != wanted)
        panic("no sv%d: the device tree says mmu-type \"%s\"",
              39 + 9 * (int)(page_table_mode() - PAGING_SV39), platform.mmu_type);
    tlb_flush_local();
}

void kernel_map_start(enum page_size largest)
{
    root = page_table_new();
    if (root == FRAME_NONE)
        panic("out of memory for the linear map");
    /* Devices lie in the first GiB. */
    map_range((struct range){0, GIGAPAGE_BYTES}, largest);
    map_range(platform.memory, largest);
    if (platform.region.begin < platform.region.end)
        map_range(platform.region, largest);
    turn_on();
}

page_table kernel_map_root(void)
{
    return root;
}

void kernel_map_enter(void)
{
    turn_on();
}
