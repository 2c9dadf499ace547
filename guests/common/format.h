/* printf's smallest useful subset, writing to any sink. */
#ifndef COMMON_FORMAT_H
#define COMMON_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Takes `length` bytes of output. */
typedef void (*format_sink)(void *context, const char *bytes, size_t length);

/* %s string, %c character, %d int, %u unsigned, %x unsigned in hex; %lu, %lx, %ld for 64 bits; %%. */
void format(format_sink sink, void *context, const char *template, va_list arguments);

#endif
