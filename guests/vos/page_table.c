#include "page_table.h"

#include "../common/bytes.h"
#include "frames.h"
#include "memory.h"

enum { ENTRIES = 512, UPPER_HALF = ENTRIES / 2 };

static enum paging_mode mode = PAGING_SV39;

void page_table_set_mode(enum paging_mode new_mode)
{
    mode = new_mode;
}

enum paging_mode page_table_mode(void)
{
    return mode;
}

static unsigned root_level(void)
{
    return (unsigned)mode - PAGING_SV39 + 2;
}

static bool is_leaf(pte entry)
{
    return (entry & (PTE_R | PTE_W | PTE_X)) != 0;
}

static pte *entry_of(page_table table, uint64_t virtual, unsigned level)
{
    pte *entries = linear(table);

    return &entries[(virtual >> (12 + 9 * level)) % ENTRIES];
}

page_table page_table_new(void)
{
    return frames_take(ORDER_4K);
}

page_table page_table_new_user(page_table kernel)
{
    page_table table = page_table_new();

    if (table != FRAME_NONE)
        memcpy((pte *)linear(table) + UPPER_HALF, (pte *)linear(kernel) + UPPER_HALF,
               UPPER_HALF * sizeof(pte));
    return table;
}

static void destroy(page_table table, unsigned level, unsigned entries)
{
    for (unsigned i = 0; i < entries; i++) {
        pte entry = ((pte *)linear(table))[i];

        if ((entry & PTE_V) == 0)
            continue;
        if (is_leaf(entry) && (entry & PTE_LENT) != 0)
            continue;
        if (is_leaf(entry))
            frames_give(pte_physical(entry), 9 * level);
        else
            destroy(pte_physical(entry), level - 1, ENTRIES);
    }
    frames_give(table, ORDER_4K);
}

void page_table_destroy_user(page_table table)
{
    destroy(table, root_level(), UPPER_HALF);
}

/* The entry for `virtual` at `level`, making the tables above it. NULL when memory has run out, or when
 * a leaf is above. */
static pte *make_entry(page_table table, uint64_t virtual, unsigned level)
{
    for (unsigned above = root_level(); above > level; above--) {
        pte *entry = entry_of(table, virtual, above);

        if ((*entry & PTE_V) == 0) {
            page_table next = page_table_new();

            if (next == FRAME_NONE)
                return NULL;
            *entry = pte_make(next, PTE_V);
        } else if (is_leaf(*entry)) {
            return NULL;
        }
        table = pte_physical(*entry);
    }
    return entry_of(table, virtual, level);
}

bool page_table_map(page_table table, uint64_t virtual, uint64_t physical, enum page_size size,
                    unsigned flags)
{
    pte *entry = make_entry(table, virtual, size);

    if (entry == NULL || (*entry & PTE_V) != 0)
        return false;
    *entry = pte_make(physical, flags | PTE_V);
    return true;
}

pte *page_table_entry(page_table table, uint64_t virtual)
{
    for (unsigned level = root_level(); level > 0; level--) {
        pte entry = *entry_of(table, virtual, level);

        if ((entry & PTE_V) == 0 || is_leaf(entry))
            return NULL;
        table = pte_physical(entry);
    }
    return entry_of(table, virtual, 0);
}

pte *page_table_make_entry(page_table table, uint64_t virtual)
{
    return make_entry(table, virtual, 0);
}

pte *page_table_find(page_table table, uint64_t virtual, enum page_size *size)
{
    for (unsigned level = root_level();; level--) {
        pte *entry = entry_of(table, virtual, level);

        if ((*entry & PTE_V) == 0)
            return NULL;
        if (is_leaf(*entry)) {
            *size = (enum page_size)level;
            return entry;
        }
        if (level == 0)
            return NULL;
        table = pte_physical(*entry);
    }
}

/* The entry that leads to the leaf table of `virtual`; NULL when there is none above it. */
static pte *entry_above_leaves(page_table table, uint64_t virtual)
{
    for (unsigned level = root_level(); level > 1; level--) {
        pte entry = *entry_of(table, virtual, level);

        if ((entry & PTE_V) == 0 || is_leaf(entry))
            return NULL;
        table = pte_physical(entry);
    }
    return entry_of(table, virtual, 1);
}

bool page_table_link(page_table table, uint64_t virtual, page_table leaves)
{
    pte *entry = make_entry(table, virtual, 1);

    if (entry == NULL || (*entry & PTE_V) != 0)
        return false;
    *entry = pte_make(leaves, PTE_V);
    return true;
}

bool page_table_is_linked(page_table table, uint64_t virtual, page_table leaves)
{
    pte *entry = entry_above_leaves(table, virtual);

    return entry != NULL && *entry == pte_make(leaves, PTE_V);
}

void page_table_unlink(page_table table, uint64_t virtual)
{
    pte *entry = entry_above_leaves(table, virtual);

    if (entry != NULL)
        *entry = 0;
}
