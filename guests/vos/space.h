/* A user address space: what each area may hold, and the table of what it holds by now. Pages come
 * into being at their first use. */
#ifndef VOS_SPACE_H
#define VOS_SPACE_H

#include "page_table.h"
#include "platform.h"
#include "segment.h"

#include <stddef.h>

enum { SPACE_AREAS = 8, SPACE_SECTIONS = 8 };

/* Values are the PTE bits that an access needs. */
enum access {
    ACCESS_FETCH = PTE_X,
    ACCESS_LOAD = PTE_R,
    ACCESS_STORE = PTE_W,
};

/* Virtual addresses with the same permissions and page size, end excluded. */
struct area {
    uint64_t begin;
    uint64_t end;
    /* PTE_R, PTE_W, PTE_X. */
    unsigned permissions;
    enum page_size page_size;
    /* Whose pages these are, NULL where they belong to the space for good. */
    struct segment *segment;
    /* The first bytes of the area come from here, the rest is zero. */
    const uint8_t *file;
    uint64_t file_bytes;
};

struct space {
    page_table table;
    /* 0 for none: the TLB is flushed at each switch. */
    unsigned asid;
    struct area areas[SPACE_AREAS];
    unsigned area_count;
    /* The area that space_grow_heap enlarges. */
    struct area *heap;
    /* The primary region: where the heap's beginning lies. Empty for none. */
    struct range region;
    /* Its own pageable segment. */
    struct segment segment;
    /* A bit for each section that it maps, by number. */
    unsigned sections;
    /* Whether it may map the common segment; the next space that may. */
    bool in_common;
    struct space *next_member;
};

enum fault_result {
    /* The access can be made again. */
    FAULT_RESOLVED,
    /* The same, after a page was brought in from the paging data set. */
    FAULT_PAGED_IN,
    /* No area holds the address, or the area does not permit the access. */
    FAULT_INVALID,
    /* No free block of the area's page size. */
    FAULT_NO_MEMORY,
};

/* Whether new pages have A and D set from the start, or get them when the processor faults. */
enum ad_policy {
    AD_PRESET,
    AD_ON_FAULT,
};

void space_set_ad_policy(enum ad_policy policy);

/* What follows when an entry has become valid, or has got A or D. */
enum validation {
    /* A fence, as Linux does: the processor may have cached the entry as it was. */
    VALIDATE_FENCE,
    /* Nothing at first. Where the processor has cached it, it faults again, and then there is a fence. */
    VALIDATE_RETRY,
};

void space_set_validation(enum validation validation);

/* False when memory has run out. */
bool space_create(struct space *space);
/* Flushes the ASID on every hart, then gives all memory back. No hart may be using the space. */
void space_destroy(struct space *space);
/* False when there are too many areas. */
bool space_add_area(struct space *space, struct area area);
/* The new memory's address, 0 when the heap has reached the stack. */
uint64_t space_grow_heap(struct space *space, uint64_t bytes);
/* A pageable segment of `space`: its address, 0 when it has one already or memory is too short. */
uint64_t space_add_segment(struct space *space, uint64_t bytes);
/* The same for the common segment, which has one size for all. */
uint64_t space_add_common(struct space *space, uint64_t bytes);
/* Takes away the segment of `space`. False when it has none. */
bool space_remove_segment(struct space *space);
/* Translates this hart's user addresses by `space`. */
void space_enter(const struct space *space);
/* Leaves the current space: this hart then has the kernel's mappings alone. */
void space_leave(void);
/* Makes the page of `virtual` fit for `access`, on behalf of this hart. */
enum fault_result space_fault(struct space *space, uint64_t virtual, enum access access);
/* Where the kernel finds the user's byte at `virtual`, NULL when the user has no such access, or when the
 * page can be paged out. Valid up to the end of the 4 KiB page. */
void *space_user_pointer(struct space *space, uint64_t virtual, enum access access);

#endif
