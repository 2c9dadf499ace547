/* Page tables of Sv39, Sv48 and Sv57: RISC-V Privileged Architecture 20211203, sections 4.4 to 4.6. */
#ifndef VOS_PAGE_TABLE_H
#define VOS_PAGE_TABLE_H

#include "layout.h"

#include <stdbool.h>
#include <stdint.h>

enum paging_mode {
    PAGING_SV39 = 8,
    PAGING_SV48 = 9,
    PAGING_SV57 = 10,
};

/* A page size is the level at which its leaf is. */
enum page_size {
    PAGE_4K = 0,
    PAGE_2M = 1,
    PAGE_1G = 2,
};

enum pte_flag {
    PTE_V = 0x01,
    PTE_R = 0x02,
    PTE_W = 0x04,
    PTE_X = 0x08,
    PTE_U = 0x10,
    PTE_G = 0x20,
    PTE_A = 0x40,
    PTE_D = 0x80,
    /* For software: the frame is not the table's to give back. */
    PTE_LENT = 0x100,
};

typedef uint64_t pte;

/* Guest physical address of a root page. */
typedef uint64_t page_table;

/* The mode of all tables; set once, before the first is made. */
void page_table_set_mode(enum paging_mode mode);
enum paging_mode page_table_mode(void);

static inline uint64_t page_bytes(enum page_size size)
{
    return (uint64_t)PAGE_BYTES << (9 * size);
}

/* An empty table, FRAME_NONE when memory has run out. */
page_table page_table_new(void);
/* A table whose upper half is that of `kernel`: the subtrees are shared. */
page_table page_table_new_user(page_table kernel);
/* Gives back a user table and every frame that its lower half maps, unless it is lent. */
void page_table_destroy_user(page_table table);

/* Maps a page; addresses must be aligned to its size. False when a table cannot be allocated, or
 * when part of the page is mapped. */
bool page_table_map(page_table table, uint64_t virtual, uint64_t physical, enum page_size size,
                    unsigned flags);
/* The entry for `virtual` in the last table, 4K level, whatever it holds; NULL when there is no such
 * table. */
pte *page_table_entry(page_table table, uint64_t virtual);
/* The same, made if need be; NULL when memory has run out. */
pte *page_table_make_entry(page_table table, uint64_t virtual);
/* The leaf that maps `virtual` and its size, NULL when there is none. */
pte *page_table_find(page_table table, uint64_t virtual, enum page_size *size);

/* Lets the 2 MiB at `virtual` be mapped by `leaves`, a leaf table that stays its owner's. False when memory has run out, or when something is
 * mapped there. */
bool page_table_link(page_table table, uint64_t virtual, page_table leaves);
bool page_table_is_linked(page_table table, uint64_t virtual, page_table leaves);
/* Takes whatever leaf table maps `virtual` out of the table, before that is destroyed. */
void page_table_unlink(page_table table, uint64_t virtual);

static inline pte pte_make(uint64_t physical, unsigned flags)
{
    return physical >> 12 << 10 | flags;
}

static inline uint64_t pte_physical(pte entry)
{
    return (entry >> 10) << 12;
}

#endif
