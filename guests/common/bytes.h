/* Bytes and strings, shared by vos and the workloads. */
#ifndef COMMON_BYTES_H
#define COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int value, size_t length);
int memcmp(const void *a, const void *b, size_t length);

size_t string_length(const char *s);
bool string_equal(const char *a, const char *b);
/* What follows `prefix` in `s`, or NULL when `s` does not begin with it. */
const char *string_after_prefix(const char *s, const char *prefix);

#endif
