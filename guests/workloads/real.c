#include "real.h"

#include <stdint.h>

/* ln 2 in two parts: products of LN2_HIGH with integers below 2^20 are exact. */
static const double LN2_HIGH = 0x1.62e42fee00000p-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;
static const double INVERSE_LN2 = 0x1.71547652b82fep+0;

enum { EXPONENT_SHIFT = 52, EXPONENT_BIAS = 1023 };

static double from_bits(uint64_t bits)
{
    double x;

    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

static uint64_t to_bits(double x)
{
    uint64_t bits;

    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)), by its series. */
double real_log(double x)
{
    enum { TERMS = 12 };
    uint64_t bits = to_bits(x);
    int exponent = (int)(bits >> EXPONENT_SHIFT) - EXPONENT_BIAS;
    double m = from_bits((bits & (((uint64_t)1 << EXPONENT_SHIFT) - 1)) |
                         (uint64_t)EXPONENT_BIAS << EXPONENT_SHIFT);
    double s;
    double series = 0;

    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        exponent++;
    }
    s = (m - 1) / (m + 1);
    for (int k = TERMS; k >= 1; k--)
        series = (series + 1.0 / (2 * k + 1)) * (s * s);
    return exponent * LN2_HIGH + (exponent * LN2_LOW + (2 * s * series + 2 * s));
}

/* x = k ln 2 + r with |r| <= ln(2) / 2; e^r by its series. */
double real_exp(double x)
{
    enum { TERMS = 14 };
    double scaled = x * INVERSE_LN2;
    int k = (int)(scaled + (scaled < 0 ? -0.5 : 0.5));
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double series = 1;

    for (int n = TERMS; n >= 1; n--)
        series = 1 + series * r / n;
    return series * from_bits((uint64_t)(k + EXPONENT_BIAS) << EXPONENT_SHIFT);
}
