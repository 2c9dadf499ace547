/* The system calls that the kernel of the shell has beside those of vos, and what they hand over: docs/vos.md. */
#ifndef SHELL_ABI_H
#define SHELL_ABI_H

#include <stdint.h>

enum shell_call {
    /* Waits for a key. Its code. */
    SHELL_READ = 0x1100,
    /* a0, a1: the words of a program, and their length; a2: the level at which its pages are leaves, or SHELL_SAME_PAGES. The number of the
     * process. */
    SHELL_START,
    /* a0: a process. Waits for its end, and forgets it. Its status. */
    SHELL_WAIT,
    /* a0: a process. It ends as soon as it has a processor. */
    SHELL_KILL,
    /* a0: an index; a1: a struct shell_process. */
    SHELL_PROCESS,
    /* a0: a struct shell_memory. */
    SHELL_MEMORY,
    /* a0: an index; a1: a struct shell_area, of the process that asks. */
    SHELL_AREA,
    /* a0: a struct shell_tlb. */
    SHELL_TLB,
    /* a0: an address; a1: a struct shell_step; a2: how many levels below the root. */
    SHELL_STEP,
};

enum { SHELL_PROCESSES = 16, SHELL_LINE_BYTES = 160, SHELL_EVENTS = 7 };

/* As those of the shell itself. */
enum { SHELL_SAME_PAGES = 3 };

/* That of a process which was killed by the user. */
enum { SHELL_STATUS_INTERRUPTED = 130 };

enum shell_state { SHELL_FREE, SHELL_READY, SHELL_ENDED };

struct shell_process {
    uint64_t id;
    /* enum shell_state. */
    uint64_t state;
    uint64_t status;
    uint64_t asid;
    uint64_t resident_bytes;
    uint64_t table_bytes;
    /* Since its start, until now or its end. */
    uint64_t nanoseconds;
    char line[SHELL_LINE_BYTES];
};

struct shell_memory {
    uint64_t begin;
    uint64_t end;
    uint64_t free_bytes;
    uint64_t image_bytes;
    uint64_t areas;
    uint64_t table_bytes;
};

struct shell_area {
    uint64_t begin;
    uint64_t end;
    /* Bits R, W and X of an entry. */
    uint64_t permissions;
    uint64_t page_bytes;
    uint64_t resident_bytes;
};

struct shell_tlb {
    uint64_t asid;
    uint64_t last_asid;
    uint64_t harts;
    uint64_t hart;
    /* Of hardware, if the machine has counters of such events: shell/commands.c names them. */
    uint64_t has_events;
    uint64_t events[SHELL_EVENTS];
};

struct shell_step {
    /* Of the table's mode. */
    uint64_t levels;
    uint64_t root;
    uint64_t asid;
    /* Of the entry: the guest physical address, and what is there. */
    uint64_t address;
    uint64_t entry;
};

#endif
