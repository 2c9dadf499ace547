/* The tests: one for each extension or two. */
#ifndef SBI_TESTS_H
#define SBI_TESTS_H

void test_base(void);
void test_time(void);
void test_ipi(void);
void test_console(void);
void test_fences(void);
void test_harts(void);
void test_suspend(void);
void test_features(void);
void test_counters(void);
void test_steal_time(void);
void test_legacy(void);

#endif
