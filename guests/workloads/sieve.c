/* Sieve of Eratosthenes, one byte for each number. The count of primes is checked by Legendre's
 * recurrence, which needs no sieve.
 *
 * size: numbers sieved, and bytes used */
#include "workload.h"

enum { DEFAULT_BYTES = 16 << 20 };

static uint64_t __attribute__((noinline)) sieve(uint8_t *composite, uint64_t limit)
{
    uint64_t primes = 0;

    for (uint64_t n = 2; n < limit; n++) {
        if (composite[n] != 0)
            continue;
        primes++;
        if (n > UINT32_MAX)
            continue;
        for (uint64_t multiple = n * n; multiple < limit; multiple += n)
            composite[multiple] = 1;
    }
    return primes;
}

static uint64_t integer_root(uint64_t n)
{
    uint64_t root = (uint64_t)__builtin_sqrt((double)n);

    while (root * root > n)
        root--;
    while ((root + 1) * (root + 1) <= n)
        root++;
    return root;
}

/* Primes up to n. For each value v of n / i, count the numbers 2..v that no prime up to p divides, or
 * that are such a prime; for p from 2 to the root of n. */
static uint64_t count_primes(uint64_t n)
{
    uint64_t root = integer_root(n);
    /* small[v] for v <= root, large[i] for v = n / i. */
    uint64_t *small = memory_take((root + 1) * sizeof(*small), ALIGN_PAGE);
    uint64_t *large = memory_take((root + 1) * sizeof(*large), ALIGN_PAGE);

    for (uint64_t i = 1; i <= root; i++) {
        small[i] = i - 1;
        large[i] = n / i - 1;
    }
    for (uint64_t p = 2; p <= root; p++) {
        uint64_t below = small[p - 1];

        if (small[p] == below)
            continue;
        for (uint64_t i = 1; i <= root && n / i >= p * p; i++) {
            uint64_t quotient = n / i / p;

            large[i] -= (quotient <= root ? small[quotient] : large[i * p]) - below;
        }
        for (uint64_t v = root; v >= p * p; v--)
            small[v] -= small[v / p] - below;
    }
    return large[1];
}

static enum outcome run(const struct options *options)
{
    uint64_t limit = option_size(options, DEFAULT_BYTES, 16, (uint64_t)1 << 40);
    uint8_t *composite = memory_take(limit, ALIGN_PAGE);
    uint64_t expected;
    uint64_t primes;
    uint64_t elapsed;

    for (uint64_t i = 0; i < limit; i += ALIGN_PAGE)
        composite[i] = 0;

    elapsed = region_begin();
    primes = sieve(composite, limit);
    elapsed = region_end(elapsed);

    expected = count_primes(limit - 1);
    print("sieve: %s limit=%lu primes=%lu expected=%lu ns=%lu\n",
          primes == expected ? "ok" : "FAILED", limit, primes, expected, elapsed);
    return primes == expected ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_sieve = {
    .name = "sieve",
    .synopsis = "sieve of Eratosthenes; size = numbers, a byte each",
    .takes = OPTION_SIZE,
    .run = run,
};
