/* Workload jobs: what its parts share. jobs.c says what it does. */
#ifndef WORKLOADS_JOBS_H
#define WORKLOADS_JOBS_H

#include "workload.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / sizeof(uint64_t) };
enum { MOST_PHASES = 16, MOST_SPACES = 32 };
enum { MOST_PAGES = 1 << 16, MOST_COMMON_PAGES = 1 << 12 };

struct plan {
    unsigned phases;
    /* Active spaces of each phase, the control space included. */
    unsigned spaces[MOST_PHASES];
    unsigned most_spaces;
    /* Of each space's segment, and of the common one. */
    uint64_t pages;
    uint64_t common_pages;
    /* That all segments together may hold. */
    uint64_t frames;
    /* Of each step, and touches of each round. */
    uint64_t rounds;
    uint64_t touches;
    uint64_t seed;
};

/* Each process makes it from the same options. */
extern struct plan plan;

/* Spaces have numbers: 0 is the control space, 1 + n that of job n. */
enum { CONTROL_SPACE = 0 };

/* The space's own segment. Each touch of a page writes one word more, whose place and value follow from
 * seed, page and version, after it has checked the word that the touch before has written. */
struct store {
    uint64_t *words;
    uint64_t seed;
    /* Of the space, for messages. */
    uint64_t space;
};

/* A word that a touch wrote: `version` counts the touches of this page from 1. */
struct touched {
    uint64_t value;
    uint64_t version;
};

/* Takes the segment. A process has one store at a time. */
struct store store_new(uint64_t seed, uint64_t space);
struct touched store_touch(const struct store *store, uint64_t page);
/* What the touch with this version writes. */
uint64_t store_value(uint64_t seed, uint64_t page, uint64_t version);
/* Compares every word of every page with what all touches together should have left there. */
void store_check(const struct store *store);
/* Gives the segment back. */
void store_release(const struct store *store);

/* The common segment: in each page, a word that the control space writes at the start, and a count for
 * each space that only this space changes, in a cache line of its own. */
void common_take(uint64_t space);
/* Writes the words of the control space. */
void common_fill(void);
void common_touch(uint64_t space, uint64_t page);
/* Checks all counts of this space and sets them back to 0, for the next with its number. */
void common_leave(uint64_t space);

/* Ends the program: a word is not what it should be. */
_Noreturn void jobs_fail(uint64_t space, const char *where, uint64_t page, uint64_t found,
                         uint64_t expected);

/* The two kinds of process. */
enum outcome jobs_control(void);
enum outcome jobs_job(void);

#endif
