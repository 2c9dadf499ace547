/* Numbers as written on a command line. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a decimal or 0x number with an optional suffix K, M or G (powers of 1024). False when
 * `text` is anything else, or does not fit 64 bits. */
bool number_parse(const char *text, uint64_t *value);

#endif
