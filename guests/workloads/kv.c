/* A key-value store in memory: a chained hash table under a mix of 90 % gets and 10 % sets, the keys
 * drawn from a Zipf distribution with exponent 0.99, as YCSB and memcached studies use. Values follow
 * from key and version, so that every get checks what it reads.
 *
 * size:       bytes of the items, 128 each; a power of two
 * iterations: requests */
#include "workload.h"

#include "real.h"

enum { VALUE_WORDS = 13 };
enum { DEFAULT_BYTES = 32 << 20, DEFAULT_REQUESTS = 400000 };
enum { SETS_IN_256 = 26 };

struct item {
    struct item *next;
    uint64_t key;
    /* How often the key was set since it was inserted. */
    uint64_t version;
    uint64_t value[VALUE_WORDS];
};

_Static_assert(sizeof(struct item) == 128, "two cache lines");

struct store {
    /* As many as items. */
    struct item **buckets;
    struct item *items;
    uint64_t count;
};

/* Zipf numbers by inversion of an approximate distribution function (Gray et al., SIGMOD 1994). */
struct zipf {
    uint64_t count;
    double zeta;
    double alpha;
    double eta;
    /* u zeta below this is rank 1. */
    double second;
};

static const double THETA = 0.99;

/* The sum of i^-theta for i = 1 to n: the head term by term, the tail by Euler and Maclaurin. */
static double zeta_sum(uint64_t n)
{
    enum { HEAD = 1024 };
    double sum = 0;
    double from;
    double to;

    for (uint64_t i = 1; i <= n && i <= HEAD; i++)
        sum += real_pow((double)i, -THETA);
    if (n <= HEAD)
        return sum;
    from = real_pow(HEAD, 1 - THETA);
    to = real_pow((double)n, 1 - THETA);
    return sum + (to - from) / (1 - THETA) +
           (real_pow((double)n, -THETA) - real_pow(HEAD, -THETA)) / 2;
}

static struct zipf make_zipf(uint64_t count)
{
    struct zipf zipf = {.count = count, .zeta = zeta_sum(count), .alpha = 1 / (1 - THETA)};

    zipf.second = 1 + real_pow(0.5, THETA);
    zipf.eta = (1 - real_pow(2.0 / (double)count, 1 - THETA)) / (1 - zipf.second / zipf.zeta);
    return zipf;
}

static uint64_t zipf_next(const struct zipf *zipf, struct random *random)
{
    double u = random_unit(random);
    uint64_t rank;

    if (u * zipf->zeta < 1)
        return 0;
    if (u * zipf->zeta < zipf->second)
        return 1;
    rank = (uint64_t)((double)zipf->count * real_pow(zipf->eta * u - zipf->eta + 1, zipf->alpha));
    return rank < zipf->count ? rank : zipf->count - 1;
}

/* Keys are numbered; the number says nothing about how often the key is asked for. */
static uint64_t key_of(uint64_t number)
{
    return mix64(number + 1);
}

static struct item **bucket_of(const struct store *store, uint64_t key)
{
    return &store->buckets[mix64(key) & (store->count - 1)];
}

static uint64_t value_seed(const struct item *item)
{
    return mix64(item->key ^ item->version << 40);
}

static void write_value(struct item *item)
{
    uint64_t word = value_seed(item);

    for (int i = 0; i < VALUE_WORDS; i++, word += item->key)
        item->value[i] = word;
}

static bool value_is_right(const struct item *item)
{
    uint64_t word = value_seed(item);
    uint64_t difference = 0;

    for (int i = 0; i < VALUE_WORDS; i++, word += item->key)
        difference |= item->value[i] ^ word;
    return difference == 0;
}

static struct store make_store(uint64_t bytes)
{
    struct store store = {.count = bytes / sizeof(struct item)};

    store.buckets = memory_take(store.count * sizeof(*store.buckets), ALIGN_PAGE);
    store.items = memory_take(bytes, ALIGN_PAGE);
    for (uint64_t i = 0; i < store.count; i++) {
        struct item *item = &store.items[i];
        struct item **bucket;

        item->key = key_of(i);
        write_value(item);
        bucket = bucket_of(&store, item->key);
        item->next = *bucket;
        *bucket = item;
    }
    return store;
}

static struct item *find(const struct store *store, uint64_t key)
{
    struct item *item = *bucket_of(store, key);

    while (item != NULL && item->key != key)
        item = item->next;
    return item;
}

struct tally {
    uint64_t gets;
    uint64_t sets;
    uint64_t errors;
};

static struct tally __attribute__((noinline)) serve(const struct store *store,
                                                    const struct zipf *zipf, uint64_t requests,
                                                    uint64_t seed)
{
    unsigned bits = log2_of(store->count);
    struct random random = {seed};
    struct tally tally = {0, 0, 0};

    for (uint64_t i = 0; i < requests; i++) {
        uint64_t rank = zipf_next(zipf, &random);
        struct item *item = find(store, key_of(scramble(rank, bits, seed)));

        if (item == NULL || !value_is_right(item)) {
            tally.errors++;
        } else if ((random_next(&random) & 0xff) < SETS_IN_256) {
            item->version++;
            write_value(item);
            tally.sets++;
        } else {
            tally.gets++;
        }
    }
    return tally;
}

/* Every item is right, and the versions add up to the sets. */
static bool check(const struct store *store, const struct tally *tally)
{
    uint64_t versions = 0;

    for (uint64_t i = 0; i < store->count; i++) {
        if (!value_is_right(&store->items[i]))
            return false;
        versions += store->items[i].version;
    }
    return tally->errors == 0 && versions == tally->sets;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 4096, (uint64_t)1 << 40);
    uint64_t requests = options->iterations != 0 ? options->iterations : DEFAULT_REQUESTS;
    struct store store;
    struct zipf zipf;
    struct tally tally;
    uint64_t elapsed;

    if (!is_power_of_two(bytes))
        fail(OUTCOME_USAGE, "kv: size=%lu: must be a power of two", bytes);
    store = make_store(bytes);
    zipf = make_zipf(store.count);

    elapsed = region_begin();
    tally = serve(&store, &zipf, requests, options->seed);
    elapsed = region_end(elapsed);

    if (!check(&store, &tally)) {
        print("kv: FAILED errors=%lu\n", tally.errors);
        return OUTCOME_FAILED;
    }
    print("kv: ok items=%lu gets=%lu sets=%lu ns=%lu requests_s=", store.count, tally.gets,
          tally.sets, elapsed);
    print_decimal((double)requests * 1e9 / (double)elapsed, 0);
    print("\n");
    return OUTCOME_OK;
}

const struct workload workload_kv = {
    .name = "kv",
    .synopsis = "key-value store; size = bytes of the items, iterations = requests",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
