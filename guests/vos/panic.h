/* The ends of vos. */
#ifndef VOS_PANIC_H
#define VOS_PANIC_H

/* Prints one line "vos: panic: ..." and shuts the machine down, reason system failure. */
_Noreturn void panic(const char *template, ...) __attribute__((format(printf, 1, 2)));

/* Marks the end of the run with `status` and shuts the machine down; the reason is "none" for
 * status 0 and "system failure" for any other. */
_Noreturn void shut_down(unsigned status);

#endif
