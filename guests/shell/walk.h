/* A walk of the shell's own table, by hand. */
#ifndef SHELL_WALK_H
#define SHELL_WALK_H

#include <stdint.h>

void walk_show(uint64_t virtual);

#endif
