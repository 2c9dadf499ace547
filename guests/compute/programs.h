/* The programs of `pagewalk bench` that compute, in classic forms. Included before all else, so that workloads/main.c has these for its own. */
#ifndef COMPUTE_PROGRAMS_H
#define COMPUTE_PROGRAMS_H

#include "../workloads/workload.h"

extern const struct workload workload_crc;
extern const struct workload workload_matmul;
extern const struct workload workload_list;
extern const struct workload workload_states;
extern const struct workload workload_json;
extern const struct workload workload_records;
extern const struct workload workload_core;
extern const struct workload workload_btree;

#define WORKLOADS_OF_PROGRAM                                                                       \
    &workload_crc, &workload_matmul, &workload_list, &workload_states, &workload_json,             \
        &workload_records, &workload_core, &workload_btree, &workload_sieve, &workload_qsort

#endif
