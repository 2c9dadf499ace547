/* Invalidation of one page: by PPTLB, a call of the hypervisor, or by the processor's own fences.
 *
 * PPTLB (partial purge TLB) is the instruction of that name in Umeno et al. 1985, section 3.3.1: it names
 * a table's entry, so that a hypervisor with shadow tables knows the frame but not the address. The paper's
 * handshake (section 4.1) is that the kernel gives the address too. */
#ifndef VOS_PPTLB_H
#define VOS_PPTLB_H

#include "page_table.h"

enum pptlb_use {
    PPTLB_HANDSHAKE,
    /* Only the page's index in the last table is given. */
    PPTLB_PLAIN,
    PPTLB_OFF,
};

/* Where the hypervisor has no PPTLB, fences are used whatever is wanted. */
void pptlb_start(enum pptlb_use wanted);
/* "handshake", "plain" or "off". */
const char *pptlb_name(void);
/* Clears V of `entry`, which maps the 4 KiB page at `virtual`, and takes its translations from the
 * space with `asid` (TLB_EVERY_ASID: from all) on every hart. The result is the entry as it was. */
pte pptlb_invalidate(pte *entry, uint64_t virtual, unsigned asid);

#endif
