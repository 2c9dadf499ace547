/* The programs of `pagewalk validate`, which are built twice: for the guest, and for the machine that Pagewalk runs on. Included before all else, so that
 * workloads/main.c has these for its own. */
#ifndef VALIDATION_PROGRAMS_H
#define VALIDATION_PROGRAMS_H

#include "../workloads/workload.h"

extern const struct workload workload_chase;
extern const struct workload workload_hashjoin;
extern const struct workload workload_btree;
extern const struct workload workload_spmv;

#define WORKLOADS_OF_PROGRAM                                                                       \
    &workload_gups, &workload_chase, &workload_stream, &workload_triad, &workload_bfs,             \
        &workload_kv, &workload_sieve, &workload_qsort, &workload_hashjoin, &workload_btree,       \
        &workload_spmv

#endif
