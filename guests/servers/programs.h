/* The program of the kernel of servers. Included before all else, so that workloads/main.c has this for its own. */
#ifndef SERVERS_PROGRAMS_H
#define SERVERS_PROGRAMS_H

#include "../workloads/workload.h"

extern const struct workload workload_servers;
extern const struct workload workload_references;

#define WORKLOADS_OF_PROGRAM &workload_servers, &workload_references

#endif
