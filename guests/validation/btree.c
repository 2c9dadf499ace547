/* Lookups in a B+-tree that was loaded in order: nodes of 256 bytes with 15 keys and 16 children, or 15 values in a leaf.
 *
 * size:    bytes of the leaves
 * updates: lookups of random keys, one in two of which is there */
#include "../workloads/workload.h"

enum { KEYS = 15, CHILDREN = KEYS + 1 };
enum { DEFAULT_BYTES = 16 << 20, DEFAULT_LOOKUPS = 500000 };
enum { MOST_LEVELS = 16 };

struct node {
    uint64_t key[KEYS];
    /* Children of an inner node: key[i] is the least key below child[i + 1]. Values of a leaf. */
    union {
        struct node *child[CHILDREN];
        uint64_t value[KEYS];
    } to;
    uint64_t count;
};

_Static_assert(sizeof(struct node) == 256, "four cache lines");

struct tree {
    const struct node *root;
    /* Inner levels. */
    unsigned height;
    uint64_t keys;
};

static uint64_t value_of(uint64_t key)
{
    return mix64(key);
}

/* Keys are the even numbers from 2 on. */
static uint64_t key_of(uint64_t number)
{
    return 2 * (number + 1);
}

static void fill_leaves(struct node *leaves, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        leaves[i].count = KEYS;
        for (unsigned k = 0; k < KEYS; k++) {
            leaves[i].key[k] = key_of(i * KEYS + k);
            leaves[i].to.value[k] = value_of(leaves[i].key[k]);
        }
    }
}

/* Nodes above `count` nodes, each of which has below[i] as its least key. The result is their number. */
static uint64_t fill_level(struct node *nodes, struct node *below, uint64_t *least, uint64_t count)
{
    uint64_t made = (count + CHILDREN - 1) / CHILDREN;

    for (uint64_t i = 0; i < made; i++) {
        uint64_t first = i * CHILDREN;
        uint64_t children = count - first < CHILDREN ? count - first : CHILDREN;

        nodes[i].count = children - 1;
        for (uint64_t c = 0; c < children; c++) {
            nodes[i].to.child[c] = &below[first + c];
            if (c > 0)
                nodes[i].key[c - 1] = least[first + c];
        }
        least[i] = least[first];
    }
    return made;
}

static struct tree make_tree(uint64_t leaf_count)
{
    struct tree tree = {.keys = leaf_count * KEYS};
    struct node *below = memory_take(leaf_count * sizeof(*below), ALIGN_PAGE);
    uint64_t *least = memory_take(leaf_count * sizeof(*least), ALIGN_PAGE);
    uint64_t count = leaf_count;

    fill_leaves(below, leaf_count);
    for (uint64_t i = 0; i < leaf_count; i++)
        least[i] = below[i].key[0];
    while (count > 1 && tree.height < MOST_LEVELS) {
        struct node *nodes =
            memory_take((count + CHILDREN - 1) / CHILDREN * sizeof(*nodes), ALIGN_PAGE);

        count = fill_level(nodes, below, least, count);
        below = nodes;
        tree.height++;
    }
    tree.root = below;
    return tree;
}

/* The value of a key; 0 when it is not there. */
static uint64_t lookup(const struct tree *tree, uint64_t key)
{
    const struct node *node = tree->root;

    for (unsigned level = 0; level < tree->height; level++) {
        uint64_t c = 0;

        while (c < node->count && node->key[c] <= key)
            c++;
        node = node->to.child[c];
    }
    for (uint64_t k = 0; k < node->count; k++)
        if (node->key[k] == key)
            return node->to.value[k];
    return 0;
}

struct tally {
    uint64_t found;
    uint64_t sum;
};

static struct tally __attribute__((noinline)) lookups(const struct tree *tree, uint64_t count,
                                                      uint64_t seed)
{
    struct random random = {seed};
    struct tally tally = {0, 0};

    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = lookup(tree, 2 + random_next(&random) % (2 * tree->keys));

        tally.found += value != 0;
        tally.sum += value;
    }
    return tally;
}

/* The same without a tree. */
static struct tally expect(const struct tree *tree, uint64_t count, uint64_t seed)
{
    struct random random = {seed};
    struct tally tally = {0, 0};

    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = 2 + random_next(&random) % (2 * tree->keys);

        if (key % 2 == 0) {
            tally.found++;
            tally.sum += value_of(key);
        }
    }
    return tally;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 4096, (uint64_t)1 << 36);
    uint64_t count = options->updates != 0 ? options->updates : DEFAULT_LOOKUPS;
    struct tree tree = make_tree(bytes / sizeof(struct node));
    struct tally expected = expect(&tree, count, options->seed);
    struct tally tally;
    uint64_t elapsed;
    bool ok;

    elapsed = region_begin();
    tally = lookups(&tree, count, options->seed);
    elapsed = region_end(elapsed);

    ok = tally.found == expected.found && tally.sum == expected.sum;
    print("btree: %s keys=%lu height=%u found=%lu operations=%lu ns=%lu\n", ok ? "ok" : "FAILED",
          tree.keys, tree.height, tally.found, count, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_btree = {
    .name = "btree",
    .synopsis = "lookups in a B+-tree; size = bytes of the leaves, updates = lookups",
    .takes = OPTION_SIZE | OPTION_UPDATES | OPTION_SEED,
    .run = run,
};
