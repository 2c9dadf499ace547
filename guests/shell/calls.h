/* The calls of the shell's kernel, and output that is written at once or aligned. */
#ifndef SHELL_CALLS_H
#define SHELL_CALLS_H

#include "abi.h"

#include <stdbool.h>
#include <stddef.h>

/* The result of a call; from -4095 up it is an error. */
uint64_t shell_call(enum shell_call number, uint64_t a, uint64_t b, uint64_t c);

static inline bool shell_failed(uint64_t result)
{
    return result >= -(uint64_t)4095;
}

/* Text that is complete before it is written. */
struct text {
    char bytes[512];
    size_t length;
};

void text_add(struct text *text, const char *template, ...) __attribute__((format(printf, 2, 3)));
/* Spaces up to a column. */
void text_pad(struct text *text, size_t column);
/* At the end of a column. */
void text_right(struct text *text, size_t column, uint64_t number);
/* As 16K, 2M or 507M, whichever unit divides it or is large enough. */
void text_bytes(struct text *text, uint64_t bytes);
void text_write(struct text *text);

#endif
