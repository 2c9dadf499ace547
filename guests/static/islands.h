/* Code that replaces a program's `ecall`s. */
#ifndef STATIC_ISLANDS_H
#define STATIC_ISLANDS_H

#include "program.h"
#include "sites.h"

#include <stdbool.h>

/* Where islands for so many sites go, within reach of all: the rest of the last page of code if they fit there, or else the page behind the program,
 * which `behind` says. 0 when nothing is in reach. */
uint64_t islands_place(const struct program *program, const struct sites *sites, bool *behind);

/* Makes the islands at `place`, and has each site jump to its own. False, and the program is as it was, when the kernel does not let us. */
bool islands_make(const struct program *program, const struct sites *sites, uint64_t place, bool behind);

#endif
