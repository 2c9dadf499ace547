/* The region in the child of a fork: a copy in memory of its own, at the same addresses. */
#ifndef REGION_COPY_H
#define REGION_COPY_H

#include <stdbool.h>

/* A private copy of what is taken of the region; a failed result of a system call if there is no memory for it. */
long copy_take(void);
/* In the parent: the copy is not needed there. */
void copy_drop(long copy);
/* In the child: moves the copy to where the region was, and ends the process if there is none. */
void copy_move_in(long copy);

#endif
