#include "section.h"

#include "../common/bytes.h"
#include "frames.h"
#include "memory.h"
#include "panic.h"
#include "sbi.h"
#include "space.h"
#include "spinlock.h"
#include "tlb.h"

enum { SECTIONS = SPACE_SECTIONS, NAME_BYTES = 44 };

struct section {
    char name[NAME_BYTES];
    uint64_t physical;
    uint64_t bytes;
    /* As far behind a gigabyte's boundary as the physical address, so that large pages fit both. */
    uint64_t virtual;
    /* Physical address of the leaf tables, one after the other; FRAME_NONE until a process maps it. */
    uint64_t tables;
};

static struct spinlock lock;
static struct section sections[SECTIONS];
static unsigned count;
static enum section_tables sharing;
static enum page_size largest;

static void read_section(const struct fdt *fdt, fdt_node node)
{
    struct section *section = &sections[count];
    struct fdt_property where = fdt_property(fdt, node, "reg");
    const char *label = fdt_string(fdt_property(fdt, node, "label"));
    uint64_t previous_end = count == 0 ? USER_SECTION_BASE : section[-1].virtual + section[-1].bytes;

    if (!fdt_lists(fdt_property(fdt, node, "compatible"), "pagewalk,section"))
        return;
    if (count == SECTIONS || string_length(label) >= NAME_BYTES)
        panic("device tree: more than %d sections, or too long a name", SECTIONS);
    memcpy(section->name, label, string_length(label) + 1);
    section->physical = fdt_number(where, 0, 2);
    section->bytes = fdt_number(where, 2, 2);
    /* A page more, for those who try what is behind a section. */
    section->virtual = round_up(previous_end + PAGE_BYTES, GIGAPAGE_BYTES) + section->physical % GIGAPAGE_BYTES;
    section->tables = FRAME_NONE;
    if (section->virtual + section->bytes + MEGAPAGE_BYTES > USER_SECTION_END)
        panic("device tree: no room for section %s", label);
    count++;
}

void section_read(const struct fdt *fdt, fdt_node root)
{
    fdt_node node = fdt_child(fdt, root, "sections");

    if (node == FDT_NO_NODE)
        return;
    for (node = fdt_first_child(fdt, node); node != FDT_NO_NODE; node = fdt_next_sibling(fdt, node))
        read_section(fdt, node);
}

void section_start(enum section_tables tables, enum page_size page)
{
    sharing = tables;
    largest = page;
}

/* The piece of address space that the section's leaf tables map begins here. */
static uint64_t tables_begin(const struct section *section)
{
    return round_down(section->virtual, MEGAPAGE_BYTES);
}

static uint64_t table_count(const struct section *section)
{
    uint64_t end = round_up(section->virtual + section->bytes, MEGAPAGE_BYTES);

    return (end - tables_begin(section)) / MEGAPAGE_BYTES;
}

static unsigned flags(bool write)
{
    return PTE_V | PTE_U | PTE_R | PTE_A | (write ? PTE_W | PTE_D : 0);
}

/* Fills the leaf tables. With the lock held. */
static bool make_tables(struct section *section)
{
    pte *entries;

    if (section->tables != FRAME_NONE)
        return true;
    section->tables = frames_take(frame_order(table_count(section) * PAGE_BYTES));
    if (section->tables == FRAME_NONE)
        return false;
    entries = linear(section->tables);
    entries += (section->virtual - tables_begin(section)) / PAGE_BYTES;
    for (uint64_t offset = 0; offset < section->bytes; offset += PAGE_BYTES)
        *entries++ = pte_make(section->physical + offset, flags(true));
    return true;
}

static void unmap(struct space *space, const struct section *section);

/* By the section's own tables. */
static bool map_shared(struct space *space, struct section *section)
{
    if (!make_tables(section))
        return false;
    for (uint64_t i = 0; i < table_count(section); i++)
        if (!page_table_link(space->table, tables_begin(section) + i * MEGAPAGE_BYTES,
                             section->tables + i * PAGE_BYTES))
            return false;
    return true;
}

/* By pages that are as large as fits, in tables of the space's own. */
static bool map_private(struct space *space, const struct section *section, uint64_t bytes, bool write)
{
    uint64_t offset = 0;

    while (offset < bytes) {
        enum page_size size = largest;

        while (size > PAGE_4K && ((section->physical + offset) % page_bytes(size) != 0 ||
                                  offset + page_bytes(size) > bytes))
            size--;
        if (!page_table_map(space->table, section->virtual + offset, section->physical + offset, size,
                            flags(write)))
            return false;
        offset += page_bytes(size);
    }
    return true;
}

static void unmap(struct space *space, const struct section *section)
{
    uint64_t end = tables_begin(section) + (table_count(section) + 1) * MEGAPAGE_BYTES;
    uint64_t at = tables_begin(section);

    if (section->tables != FRAME_NONE &&
        page_table_is_linked(space->table, at, section->tables)) {
        for (uint64_t i = 0; i < table_count(section); i++)
            page_table_unlink(space->table, at + i * MEGAPAGE_BYTES);
        return;
    }
    while (at < end) {
        enum page_size size = PAGE_4K;
        pte *entry = page_table_find(space->table, at, &size);

        if (entry != NULL)
            *entry = 0;
        at = round_down(at, page_bytes(size)) + page_bytes(size);
    }
}

static struct section *find(const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (string_equal(sections[i].name, name))
            return &sections[i];
    return NULL;
}

uint64_t section_map(struct space *space, const struct section_request *request, uint64_t *bytes)
{
    struct section *section = find(request->name);
    uint64_t wanted;
    unsigned bit;
    bool mapped;

    if (section == NULL)
        return 0;
    bit = 1U << (section - sections);
    wanted = request->bytes == 0 ? section->bytes : round_up(request->bytes, PAGE_BYTES);
    if ((space->sections & bit) != 0 || wanted > section->bytes + PAGE_BYTES)
        return 0;
    spinlock_lock(&lock);
    mapped = sharing == SECTION_TABLES_SHARED && largest == PAGE_4K && request->write &&
                     wanted == section->bytes
                 ? map_shared(space, section)
                 : map_private(space, section, wanted, request->write);
    if (!mapped)
        unmap(space, section);
    spinlock_unlock(&lock);
    tlb_flush_asid(space->asid);
    if (!mapped)
        return 0;
    space->sections |= bit;
    *bytes = section->bytes;
    return section->virtual;
}

/* The section is at `physical` from now on. */
static void move(struct section *section, uint64_t physical)
{
    section->physical = physical;
    if (section->tables != FRAME_NONE)
        for (uint64_t offset = 0; offset < section->bytes; offset += PAGE_BYTES) {
            pte *entries = linear(section->tables);

            entries[(section->virtual - tables_begin(section) + offset) / PAGE_BYTES] =
                pte_make(physical + offset, flags(true));
        }
}

int64_t section_ask(const char *name, enum section_operation operation, uint64_t at)
{
    struct section *section = find(name);
    uint64_t number = (uint64_t)(section - sections);
    int64_t error;

    if (section == NULL)
        return 1;
    if (operation == SECTION_UNMAP)
        return sbi_section_unmap(number);
    if (operation == SECTION_DELETE)
        return sbi_section_delete(number);
    if (at == 0)
        at = section->physical;
    error = sbi_section_map(number, at, operation == SECTION_MAP);
    if (error == 0 && at != section->physical) {
        spinlock_lock(&lock);
        move(section, at);
        spinlock_unlock(&lock);
        tlb_purge();
    }
    return error;
}

void section_leave(struct space *space)
{
    for (unsigned i = 0; i < count; i++)
        if ((space->sections & 1U << i) != 0)
            unmap(space, &sections[i]);
    space->sections = 0;
}
