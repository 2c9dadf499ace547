/* A process: an address space and one thread in it. */
#ifndef VOS_PROCESS_H
#define VOS_PROCESS_H

#include "options.h"
#include "space.h"

/* Integer state of the user, saved when it traps. */
struct frame {
    /* x[0] is not used. */
    uint64_t x[32];
    uint64_t pc;
    /* sstatus. */
    uint64_t status;
};

struct fp_state {
    uint64_t f[32];
    uint64_t fcsr;
};

enum { MESSAGE_WORDS = 3 };

struct process {
    /* First, so that assembler finds it. */
    struct frame frame;
    struct fp_state fp;
    struct space space;
    unsigned id;
    /* What its program was started with. */
    const struct options *options;
    /* The call that it waits to have answered. */
    uint64_t message[MESSAGE_WORDS];
    /* In the scheduler's queue, or in one of message.c. */
    struct process *next;
};

/* Register numbers of the calling convention. */
enum { REGISTER_SP = 2, REGISTER_A0 = 10, REGISTER_A7 = 17 };

/* A process about to enter the embedded program with the options' arguments. Ids count from 1. Panics
 * when there is not enough memory. */
struct process *process_create(const struct options *options);
/* Gives back the address space. No hart may be in it. */
void process_destroy(struct process *process);

#endif
