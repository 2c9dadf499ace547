/* Purging an address space from the TLBs of other harts by asking each of them, instead of the firmware:
 * the third kind of spin of a multiprocessor, for a partner to carry out a request. */
#ifndef VOS_PURGE_H
#define VOS_PURGE_H

/* How address spaces are purged from other harts' TLBs. */
enum purge_by {
    PURGE_BY_SBI,
    PURGE_BY_PARTNERS,
};

/* Returns when every other hart has purged `asid`. */
void purge_others(unsigned asid);
/* Does the request to this hart, if there is one. */
void purge_serve(void);

#endif
