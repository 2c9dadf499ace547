/* The system calls of a program that have to do with its memory: where in its code they are made. */
#ifndef STATIC_SITES_H
#define STATIC_SITES_H

#include <stddef.h>
#include <stdint.h>

enum { MOST_SITES = 64 };

struct sites {
    uint64_t call[MOST_SITES];
    size_t count;
};

/* Adds those in the code between two addresses. */
void sites_find(struct sites *sites, uint64_t begin, uint64_t end);

#endif
