/* Harts, and the work that they are given. */
#ifndef SBI_HARTS_H
#define SBI_HARTS_H

#include "context.h"
#include "sbi.h"

/* What a started hart finds; start.S knows where its first field is. */
struct worker {
    uint64_t stack;
    /* What it is to do, and then to stop. */
    void (*work)(struct worker *);
    /* What it found when it started: a0, satp, sstatus. */
    volatile uint64_t hart, satp, sstatus;
    volatile bool done;
};

/* Registers of a hart that sleeps, as context.h has them. */
struct context {
    uint64_t hart, satp, sstatus;
    uint64_t ra, sp, gp, tp, saved[12];
};

enum { SLEEP_RETENTIVE = 0, SLEEP_NON_RETENTIVE = 0x80000000 };
enum { HART_STARTED = 0, HART_STOPPED = 1, HART_SUSPENDED = 4 };

int64_t sleep_call(uint64_t extension, uint64_t function, uint64_t type, struct context *context,
                   void (*resume)(void));
void sleep_resume(void);
void worker_start(void);

void harts_find(uint64_t me);
uint64_t harts_me(void);
uint64_t harts_count(void);
/* Another hart than the calling one; only if there are two. */
uint64_t harts_other(void);
/* Starts a hart that does `work`; the call's result. */
struct sbi_result harts_start(uint64_t hart, struct worker *worker, void (*work)(struct worker *));
/* Waits, for a while, until a hart has a status; whether it came to it. */
bool harts_reach(uint64_t hart, uint64_t status);

/* Who is called on an interrupt. One that comes without is masked. */
void trap_on_timer(void (*handler)(void));
void trap_on_software(void (*handler)(void));
/* Who is called on an exception: it returns where to go on. */
void trap_on_exception(uint64_t (*handler)(uint64_t cause, uint64_t value, uint64_t pc));

#endif
