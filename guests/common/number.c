#include "number.h"

static bool digit_value(char c, unsigned base, unsigned *value)
{
    if (c >= '0' && c <= '9')
        *value = (unsigned)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        *value = (unsigned)((c | 0x20) - 'a' + 10);
    else
        return false;
    return *value < base;
}

static unsigned suffix_shift(char c)
{
    switch (c) {
    case 'K':
        return 10;
    case 'M':
        return 20;
    case 'G':
        return 30;
    default:
        return 0;
    }
}

bool number_parse(const char *text, uint64_t *value)
{
    unsigned base = 10;
    unsigned digit;
    unsigned shift;
    uint64_t n = 0;

    if (text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
    }
    if (!digit_value(*text, base, &digit))
        return false;
    for (; digit_value(*text, base, &digit); text++)
        if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, digit, &n))
            return false;
    shift = suffix_shift(*text);
    if (shift != 0)
        text++;
    if (*text != '\0' || n > UINT64_MAX >> shift)
        return false;
    *value = n << shift;
    return true;
}
