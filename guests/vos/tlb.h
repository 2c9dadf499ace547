/* Invalidation of translations.
 *
 * Protocol: edit the table, then flush, before the frame or the ASID is used for anything else. */
#ifndef VOS_TLB_H
#define VOS_TLB_H

#include <stdbool.h>
#include <stdint.h>

/* Finds out how many bits of ASID this processor has. */
void tlb_start(void);
/* Highest ASID, 0 when the processor has none. */
unsigned tlb_last_asid(void);
void tlb_flush_local(void);
void tlb_flush_local_page(uint64_t virtual, unsigned asid);
void tlb_flush_local_asid(unsigned asid);
/* On every running hart. */
void tlb_flush_asid(unsigned asid);

/* Whether other harts are asked to purge, rather than the firmware to do it for them. */
void tlb_purge_by_partners(bool wanted);

#endif
