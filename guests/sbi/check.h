/* Checks, counted and printed one by one. */
#ifndef SBI_CHECK_H
#define SBI_CHECK_H

#include "sbi.h"

/* What the checks from here on belong to. */
void check_group(const char *name);
/* One check: whether it holds. */
void check(bool holds, const char *what);
/* One check: whether a call returned that error; `check_value` also whether it returned that value. */
void check_error(struct sbi_result result, int64_t error, const char *what);
void check_value(struct sbi_result result, uint64_t value, const char *what);
/* A check that does not apply. */
void check_skip(const char *why);
/* Whether an extension is there; a skipped check if not. One that is there refuses an unknown function. */
bool check_extension(uint64_t extension, const char *name);
/* Prints the sums; the number of checks that failed. */
unsigned check_summary(void);

#endif
