/* Quicksort of random 64-bit numbers: median of three, insertion sort below 16.
 *
 * size: bytes of the array */
#include "workload.h"

enum { DEFAULT_BYTES = 8 << 20 };
enum { INSERTION_BELOW = 16 };

static void insertion_sort(uint64_t *a, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t value = a[i];
        uint64_t at = i;

        for (; at > 0 && a[at - 1] > value; at--)
            a[at] = a[at - 1];
        a[at] = value;
    }
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t low = a < b ? a : b;
    uint64_t high = a < b ? b : a;

    return c < low ? low : c > high ? high : c;
}

/* Recurses into the shorter part only, so that the depth is at most log2 n. */
static void __attribute__((noinline)) quicksort(uint64_t *a, uint64_t n)
{
    while (n >= INSERTION_BELOW) {
        uint64_t pivot = median(a[0], a[n / 2], a[n - 1]);
        uint64_t *low = a;
        uint64_t *high = a + n - 1;

        for (;;) {
            while (*low < pivot)
                low++;
            while (*high > pivot)
                high--;
            if (low >= high)
                break;
            uint64_t value = *low;
            *low++ = *high;
            *high-- = value;
        }
        /* Everything before `low` is at most the pivot, everything from it on at least. */
        uint64_t left = (uint64_t)(low - a);
        if (left < n - left) {
            quicksort(a, left);
            a += left;
            n -= left;
        } else {
            quicksort(a + left, n - left);
            n = left;
        }
    }
    insertion_sort(a, n);
}

/* Independent of the order of the elements: with ascending order it proves that they were sorted. */
struct fingerprint {
    uint64_t sum;
    uint64_t mixed;
};

static void add(struct fingerprint *fingerprint, uint64_t value)
{
    fingerprint->sum += value;
    fingerprint->mixed ^= mix64(value);
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, sizeof(uint64_t), (uint64_t)1 << 40);
    uint64_t n = bytes / sizeof(uint64_t);
    uint64_t *a = memory_take(bytes, ALIGN_PAGE);
    struct random random = {options->seed};
    struct fingerprint before = {0, 0};
    struct fingerprint after = {0, 0};
    uint64_t inversions = 0;
    uint64_t elapsed;
    bool ok;

    for (uint64_t i = 0; i < n; i++) {
        a[i] = random_next(&random);
        add(&before, a[i]);
    }

    elapsed = region_begin();
    quicksort(a, n);
    elapsed = region_end(elapsed);

    for (uint64_t i = 0; i < n; i++) {
        add(&after, a[i]);
        if (i > 0 && a[i - 1] > a[i])
            inversions++;
    }
    ok = inversions == 0 && before.sum == after.sum && before.mixed == after.mixed;
    print("qsort: %s elements=%lu inversions=%lu ns=%lu\n", ok ? "ok" : "FAILED", n, inversions,
          elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_qsort = {
    .name = "qsort",
    .synopsis = "quicksort; size = bytes",
    .takes = OPTION_SIZE | OPTION_SEED,
    .run = run,
};
