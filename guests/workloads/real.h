/* Real functions without a mathematics library: the same bits on every machine. */
#ifndef WORKLOADS_REAL_H
#define WORKLOADS_REAL_H

/* For finite x > 0; relative error below 1e-15. */
double real_log(double x);
/* For |x| < 700; relative error below 1e-15. */
double real_exp(double x);

/* x^y for x > 0. */
static inline double real_pow(double x, double y)
{
    return real_exp(y * real_log(x));
}

/* The instruction fsqrt.d. */
static inline double real_sqrt(double x)
{
    return __builtin_sqrt(x);
}

static inline double real_abs(double x)
{
    return __builtin_fabs(x);
}

#endif
