/* How a process comes to the machine's primary region. */
#ifndef REGION_CLAIM_H
#define REGION_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

struct claimed {
    uint64_t begin;
    uint64_t bytes;
    /* Whether its memory may hold another process's bytes. */
    bool used_before;
};

/* Whether the machine has a region, be it anybody's. */
bool claim_is_there(void);

/* Maps the region and sets the segment. False, and all is as before, when there is no region, or another process has it. `place` is where it is to
 * lie, 0 when any place will do. */
bool claim_region(uint64_t place, struct claimed *claimed);

/* One line on standard error, without an allocation. */
void claim_say(const char *text, uint64_t number);

#endif
