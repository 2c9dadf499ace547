/* The frames that pageable segments may hold at a time, and whose page goes when there are too few: the
 * clock, or second-chance, algorithm (Corbato, A Paging Experiment with the Multics System, 1968).
 *
 * Its bits of reference are the A bits of page table entries. They are reset without a fence, as
 * Linux does: a processor that still holds the translation does not set A again, and the page looks
 * less used than it is.
 *
 * To be called with the segments' lock held: segment.h. */
#ifndef VOS_CLOCK_H
#define VOS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct segment;

enum replacement {
    /* Second chance for what was referenced. */
    REPLACE_CLOCK,
    /* First in, first out: what goes does not depend on what processors cache. */
    REPLACE_FIFO,
};

void clock_set_replacement(enum replacement replacement);
/* Once. False when it was done before, or when there is no memory to keep account of so many. */
bool clock_start(uint64_t frames);
bool clock_started(void);
/* A frame for a page of `segment`, with any content; FRAME_NONE when there is none, nor a place to page
 * out to. */
uint64_t clock_take(struct segment *segment, uint64_t page);
/* Takes back the frames of all pages of `segment`, which nothing maps any more. */
void clock_give_all(const struct segment *segment);

#endif
