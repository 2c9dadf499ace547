/* The four memory functions that GCC may call in freestanding code, and string helpers.
 * To be compiled with -fno-tree-loop-distribute-patterns, or memset would call itself. */
#include "bytes.h"

#include <stdint.h>

typedef uint64_t __attribute__((may_alias)) word;

static bool both_aligned(const void *a, const void *b)
{
    return (((uintptr_t)a | (uintptr_t)b) & (sizeof(word) - 1)) == 0;
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    if (both_aligned(to, from)) {
        for (; length >= sizeof(word); length -= sizeof(word)) {
            *(word *)t = *(const word *)f;
            t += sizeof(word);
            f += sizeof(word);
        }
    }
    while (length-- > 0)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t length)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    if (t <= f || t >= f + length)
        return memcpy(to, from, length);
    while (length-- > 0)
        t[length] = f[length];
    return to;
}

void *memset(void *to, int value, size_t length)
{
    unsigned char *t = to;
    word pattern = 0x0101010101010101 * (unsigned char)value;

    while (length > 0 && ((uintptr_t)t & (sizeof(word) - 1)) != 0) {
        *t++ = (unsigned char)value;
        length--;
    }
    for (; length >= 8 * sizeof(word); length -= 8 * sizeof(word)) {
        word *w = (word *)t;

        w[0] = pattern;
        w[1] = pattern;
        w[2] = pattern;
        w[3] = pattern;
        w[4] = pattern;
        w[5] = pattern;
        w[6] = pattern;
        w[7] = pattern;
        t += 8 * sizeof(word);
    }
    while (length-- > 0)
        *t++ = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t length)
{
    const unsigned char *x = a;
    const unsigned char *y = b;

    for (size_t i = 0; i < length; i++)
        if (x[i] != y[i])
            return x[i] - y[i];
    return 0;
}

size_t string_length(const char *s)
{
    size_t n = 0;

    while (s[n] != '\0')
        n++;
    return n;
}

bool string_equal(const char *a, const char *b)
{
    size_t n = string_length(a);

    return n == string_length(b) && memcmp(a, b, n) == 0;
}

const char *string_after_prefix(const char *s, const char *prefix)
{
    for (; *prefix != '\0'; s++, prefix++)
        if (*s != *prefix)
            return NULL;
    return s;
}
