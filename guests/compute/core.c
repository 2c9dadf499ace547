/* What small processors are measured by, in the manner of CoreMark (EEMBC 2009): a list that is searched, reversed and sorted, integer matrices,
 * and a CRC over the results of each round.
 *
 * size:       items of the list
 * iterations: rounds */
#include "../workloads/workload.h"

enum { DEFAULT_ITEMS = 64, DEFAULT_ITERATIONS = 6000 };
enum { ROWS = 12 };

struct item {
    struct item *next;
    int16_t key;
    int16_t place;
};

/* Less than zero: `a` comes before `b`. */
typedef int32_t (*order)(const struct item *a, const struct item *b);

static int32_t by_key(const struct item *a, const struct item *b)
{
    return a->key - b->key;
}

static int32_t by_place(const struct item *a, const struct item *b)
{
    return a->place - b->place;
}

static struct item *__attribute__((noinline)) find(struct item *list, int16_t key)
{
    while (list != NULL && list->key != key)
        list = list->next;
    return list;
}

static struct item *__attribute__((noinline)) reverse(struct item *list)
{
    struct item *reversed = NULL;

    while (list != NULL) {
        struct item *next = list->next;

        list->next = reversed;
        reversed = list;
        list = next;
    }
    return reversed;
}

/* Merge sort from runs of one item up, as Simon Tatham describes it for lists. */
static struct item *__attribute__((noinline)) sort(struct item *list, order compare)
{
    for (uint64_t run = 1;; run *= 2) {
        struct item *left = list, **tail = &list;
        uint64_t merges = 0;

        list = NULL;
        while (left != NULL) {
            struct item *right = left;
            uint64_t lefts = 0, rights = run;

            merges++;
            while (lefts < run && right != NULL) {
                lefts++;
                right = right->next;
            }
            while (lefts > 0 || (rights > 0 && right != NULL)) {
                struct item **from = &left;

                if (lefts == 0 || (rights > 0 && right != NULL && compare(right, left) < 0))
                    from = &right;
                *tail = *from;
                if (from == &left)
                    lefts--;
                else
                    rights--;
                *from = (*from)->next;
                tail = &(*tail)->next;
            }
            left = right;
        }
        *tail = NULL;
        if (merges <= 1)
            return list;
    }
}

static uint16_t crc16(uint16_t value, uint16_t crc)
{
    for (int bit = 0; bit < 16; bit++) {
        bool carry = ((value ^ crc) & 1) != 0;

        crc >>= 1;
        value >>= 1;
        if (carry)
            crc ^= 0xa001;
    }
    return crc;
}

static int32_t __attribute__((noinline)) matrices(const int16_t *a, const int16_t *b, int32_t *product)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < ROWS; j++) {
            product[i * ROWS + j] = 0;
            for (unsigned k = 0; k < ROWS; k++)
                product[i * ROWS + j] += (int32_t)a[i * ROWS + k] * b[k * ROWS + j];
            sum += (product[i * ROWS + j] >> 2 & 15) * (product[i * ROWS + j] >> 5 & 127);
        }
    return sum;
}

/* Whether the list has all its items, in the order of their places. */
static bool is_whole(const struct item *list, uint64_t count)
{
    uint64_t place = 0;

    for (; list != NULL; list = list->next)
        if ((uint64_t)list->place != place++)
            return false;
    return place == count;
}

static enum outcome run(const struct options *options)
{
    uint64_t count = option_size(options, DEFAULT_ITEMS, 2, 16384);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    struct item *list = memory_take(count * sizeof(*list), ALIGN_PAGE);
    int16_t *a = memory_take(ROWS * ROWS * sizeof(*a), ALIGN_PAGE);
    int16_t *b = memory_take(ROWS * ROWS * sizeof(*b), ALIGN_PAGE);
    int32_t *product = memory_take(ROWS * ROWS * sizeof(*product), ALIGN_PAGE);
    struct random random = {options->seed};
    uint16_t crc = 0;
    uint64_t elapsed;
    bool ok = true;

    for (uint64_t i = 0; i < count; i++) {
        list[i].next = i + 1 < count ? &list[i + 1] : NULL;
        list[i].key = (int16_t)(random_next(&random) % (2 * count));
        list[i].place = (int16_t)i;
    }
    for (unsigned i = 0; i < ROWS * ROWS; i++) {
        a[i] = (int16_t)(random_next(&random) % 256);
        b[i] = (int16_t)(random_next(&random) % 256);
    }
    elapsed = region_begin();
    for (uint64_t i = 0; i < iterations; i++) {
        for (uint64_t key = 0; key < 16; key++) {
            const struct item *found = find(list, (int16_t)((key * 5 + i) % (2 * count)));

            crc = crc16(found != NULL ? (uint16_t)found->place : 0xffff, crc);
            list = reverse(list);
        }
        list = sort(list, by_key);
        crc = crc16((uint16_t)list->place, crc);
        list = sort(list, by_place);
        a[i % (ROWS * ROWS)] ^= (int16_t)(crc & 15);
        crc = crc16((uint16_t)matrices(a, b, product), crc);
    }
    elapsed = region_end(elapsed);

    ok = is_whole(list, count);
    print("core: %s crc=%x operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", crc, iterations, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_core = {
    .name = "core",
    .synopsis = "lists, integer matrices and CRCs; size = items, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
