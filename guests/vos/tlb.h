/* Address space identifiers, and invalidation of translations.
 *
 * Protocol: edit the table, then flush, before the frame or the ASID is used for anything else. */
#ifndef VOS_TLB_H
#define VOS_TLB_H

#include <stdbool.h>
#include <stdint.h>

/* Stands for all address spaces. */
#define TLB_EVERY_ASID UINT32_MAX

/* Finds out how many bits of ASID this processor has. */
void tlb_start(void);
/* Highest ASID, 0 when the processor has none. */
unsigned tlb_last_asid(void);
/* The lowest ASID that no space has; 0, which means none, when there is no such. */
unsigned tlb_take_asid(void);
void tlb_give_asid(unsigned asid);

void tlb_flush_local(void);
void tlb_flush_local_page(uint64_t virtual, unsigned asid);
void tlb_flush_local_asid(unsigned asid);
/* On every running hart. */
void tlb_flush_asid(unsigned asid);
/* A page of 4 KiB on every running hart; TLB_EVERY_ASID for all address spaces. */
void tlb_flush_page(uint64_t virtual, unsigned asid);
/* Everything, on every running hart: what a mainframe calls Purge TLB. */
void tlb_purge(void);

/* Whether other harts are asked to purge, rather than the firmware to do it for them. */
void tlb_purge_by_partners(bool wanted);

#endif
