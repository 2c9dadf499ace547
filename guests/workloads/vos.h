/* The system calls that vos has beside Linux's: docs/vos.md. Linux answers none of them. */
#ifndef WORKLOADS_VOS_H
#define WORKLOADS_VOS_H

#include <stdbool.h>
#include <stdint.h>

/* The order is vos's: guests/vos/counters.h. */
enum vos_counter {
    VOS_SWITCHES,
    VOS_PAGE_OUTS,
    VOS_PAGE_INS,
    VOS_PPTLBS,
    VOS_FENCES,
    VOS_PURGES,
};

/* What a process calls with, or is answered with. */
struct vos_message {
    /* Set by vos: who called. */
    uint64_t caller;
    uint64_t words[3];
};

struct vos_answer {
    uint64_t words[2];
};

/* Whether vos runs this program. */
bool vos_is_there(void);
/* The number of this process, from 1. */
uint64_t vos_process(void);
/* Starts this program once more, with the same arguments, in a space of its own. Its number. */
uint64_t vos_start(void);
/* Sets aside the frames that pageable segments may hold; once, before the first segment. */
bool vos_set_frames(uint64_t frames);
/* A pageable segment of zeroes, at most one at a time; NULL when there is no room. */
void *vos_segment(uint64_t bytes);
/* Gives it back. */
bool vos_release(void);
/* The pageable segment that all spaces share, at the same address in each. */
void *vos_common(uint64_t bytes);
/* Calls the process that receives, and waits for its answer. */
struct vos_answer vos_call(const uint64_t words[3]);
/* Waits for a call. The first process that receives is the one that is called from then on. */
bool vos_receive(struct vos_message *message);
/* Answers a call that was received. */
bool vos_reply(uint64_t caller, struct vos_answer answer);
uint64_t vos_count(enum vos_counter counter);
/* A section of this name, mapped to be written to or not, NULL when there is none. `bytes` is how much of it to map, 0 for all, and then
 * its length. */
void *vos_section(const char *name, bool write, uint64_t *bytes);
/* Takes this process out of all its sections. */
void vos_leave_sections(void);

/* What the hypervisor is asked concerning a section of this machine. The order is vos's: guests/vos/section.h. */
enum vos_section_request {
    VOS_SECTION_UNMAP,
    VOS_SECTION_MAP,
    VOS_SECTION_MAP_TO_READ,
    VOS_SECTION_DELETE,
};

/* Asks for it; to be mapped at guest physical `at`, where 0 is where the section was. 0, or the SBI error; 1 when there is no such section. */
int64_t vos_ask_section(const char *name, enum vos_section_request request, uint64_t at);

enum { VOS_SECTOR_BYTES = 512 };

/* 0 without a disk. */
uint64_t vos_disk_sectors(void);
/* Whole sectors, within a page of memory; the process waits. False when the disk is too short, or fails. */
bool vos_disk_read(uint64_t sector, void *memory, uint64_t bytes);
bool vos_disk_write(uint64_t sector, const void *memory, uint64_t bytes);

#endif
