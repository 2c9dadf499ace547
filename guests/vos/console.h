/* Console output, through SBI DBCN or, where that is absent, an ns16550a. */
#ifndef VOS_CONSOLE_H
#define VOS_CONSOLE_H

#include <stddef.h>
#include <stdint.h>

/* `uart` is the guest physical address of an ns16550a, 0 for none. Before this call output is lost. */
void console_start(uint64_t uart);
/* "dbcn", "ns16550a" or "none". */
const char *console_name(void);
/* Writes all bytes, not interleaved with those of other harts. They must lie in the linear map. */
void console_write(const char *bytes, size_t length);
/* Formats as common/format.h says, cut off after 255 bytes. */
void console_print(const char *template, ...) __attribute__((format(printf, 1, 2)));
/* From now on writes ignore the lock, whose holder may be the one who panics. */
void console_break_lock(void);

#endif
