/* What the programs of time sharing share: their options, and a clock that ends them. */
#ifndef TIMESHARING_SESSION_H
#define TIMESHARING_SESSION_H

#include "../workloads/workload.h"

/* A workload's option and its default; each program says what it means. */
struct session {
    uint64_t size;
    uint64_t updates;
    uint64_t iterations;
    uint64_t think_nanoseconds;
    uint64_t duration_nanoseconds;
    uint64_t seed;
};

/* Changes what the words `key=value` name; ends the program at a word that is none. */
void session_read(struct session *session, const char *name, int count, char **words);
/* Whether the session goes on. Its duration counts from the start of the machine. */
bool session_goes_on(const struct session *session);
/* So many nanoseconds from now, or the session's end, whichever is earlier. */
uint64_t session_after(const struct session *session, uint64_t nanoseconds);
/* A random time, distributed exponentially, in nanoseconds. */
uint64_t session_draw(struct random *random, uint64_t mean_nanoseconds);

/* The programs. */
enum outcome terminals(int count, char **words);
enum outcome batch(int count, char **words);

#endif
