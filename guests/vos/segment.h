/* Pageable segments: memory of 4 KiB pages that the kernel takes away when frames run short (clock.h)
 * and brings back from the paging data set, a store in memory that it keeps for them.
 *
 * A space has at most one segment of its own. The common segment belongs to all spaces: a page of it has
 * the same frame and the same address in each, by an entry of each space's own tables.
 *
 * One lock guards all segments, their entries in page tables, and the clock. Other parts of the kernel
 * keep no pointer into such a page: a system call that is given its address fails. */
#ifndef VOS_SEGMENT_H
#define VOS_SEGMENT_H

#include "page_table.h"

struct space;

struct segment_page {
    /* Where the page is, FRAME_NONE when it is paged out or has never been used. */
    uint64_t frame;
    /* Its place in the paging data set, FRAME_NONE when it has none yet. */
    uint64_t slot;
    /* Written to by a space that has ended. */
    bool dirty;
};

struct segment {
    uint64_t begin;
    /* 0 when there is no such segment. */
    uint64_t page_count;
    struct segment_page *pages;
    /* Spaces that may map it; further ones through space->next_member. */
    struct space *members;
};

enum segment_fault {
    SEGMENT_FAULT_RESOLVED,
    /* As well, but the page came from the paging data set, and a process would have had to wait. */
    SEGMENT_FAULT_PAGED_IN,
    SEGMENT_FAULT_NO_MEMORY,
};

/* Gives `space` a segment of its own. Its address; 0 when it has one, when memory is too short to keep
 * account of the pages, or when no frames have been set aside. */
uint64_t segment_create(struct space *space, uint64_t bytes);
/* Takes away the space's own segment and purges all TLBs: what an operating system of 1985 does at the
 * release of a segment (Umeno et al., table 2). Nothing when it has none. */
void segment_release(struct space *space);
/* Lets `space` into the common segment, which the first call makes, with so many bytes. Its address, 0
 * as above or when it has another size. */
uint64_t segment_join_common(struct space *space, uint64_t bytes);
struct segment *segment_common(void);
/* Takes `space` out of it. The space's ASID is to be flushed afterwards. */
void segment_leave_common(struct space *space);

/* Makes the page of `virtual` fit for a load, or also for a store. */
enum segment_fault segment_fault(struct segment *segment, struct space *space, uint64_t virtual,
                                 unsigned flags, bool store);
/* Sets aside the frames that all segments together may hold; once. */
bool segment_set_frames(uint64_t frames);

/* For the clock: whether any space has referenced the page since this was last asked. */
bool segment_test_referenced(struct segment *segment, uint64_t page);
/* For the clock: copies the page to the paging data set, after it was taken from all spaces. False,
 * with nothing done, when the data set has no room. */
bool segment_page_out(struct segment *segment, uint64_t page);

#endif
