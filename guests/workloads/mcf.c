/* A minimum-cost flow by the network simplex method, as SPEC's 429.mcf and 505.mcf solve one (A. Loebel,
 * MCF, 1996-2004): a spanning tree of nodes linked by pointers to parent, first child and siblings, whose
 * arcs and potentials change with each pivot. Our own code and instance.
 *
 * The instance: a ring of dear arcs without limit, so that every supply reaches every demand, and for each
 * node so many cheap arcs of limited capacity to random nodes.
 *
 * size: nodes */
#include "workload.h"

enum { DEFAULT_NODES = 2048, LEAST_NODES = 4, MOST_NODES = 1 << 24 };
enum { RANDOM_ARCS = 31 };
enum { MOST_COST = 10000, RING_COST = 10 * MOST_COST };
enum { MOST_CAPACITY = 100, MOST_SUPPLY = 200 };

/* More than all supplies together. */
#define NO_LIMIT (INT64_MAX / 4)

struct node;

enum arc_state {
    /* In the tree. */
    ARC_BASIC,
    /* Not in the tree: without flow, and with all that it can carry. */
    ARC_EMPTY,
    ARC_FULL,
};

struct arc {
    struct node *tail;
    struct node *head;
    int64_t cost;
    int64_t capacity;
    int64_t flow;
    enum arc_state state;
};

struct node {
    int64_t potential;
    struct node *parent;
    struct node *child;
    struct node *next_sibling;
    struct node *previous_sibling;
    /* Between this node and its parent; NULL for the root. */
    struct arc *basic;
    int64_t supply;
    uint64_t depth;
};

/* The root is node[nodes]; beside the arcs of the instance there is one between each node and the root, so
 * dear that none has flow at the end. */
struct network {
    uint64_t nodes;
    uint64_t arcs;
    struct node *node;
    struct arc *arc;
    struct arc *artificial;
};

static int64_t random_below(struct random *random, uint64_t limit)
{
    return (int64_t)(random_next(random) % limit);
}

/* Supplies in pairs of nodes, so that they add up to nothing. */
static void make_supplies(struct network *network, struct random *random)
{
    for (uint64_t i = 0; i + 1 < network->nodes; i += 2) {
        int64_t supply = random_below(random, MOST_SUPPLY + 1);
        uint64_t to = (uint64_t)random_below(random, network->nodes);

        network->node[i].supply += supply;
        network->node[to].supply -= supply;
    }
}

static struct network make_network(uint64_t nodes, uint64_t seed)
{
    struct network network = {.nodes = nodes, .arcs = nodes * (1 + RANDOM_ARCS)};
    struct random random = {seed};
    struct arc *arc;

    network.node = memory_take((nodes + 1) * sizeof(*network.node), ALIGN_PAGE);
    network.arc = memory_take(network.arcs * sizeof(*network.arc), ALIGN_PAGE);
    network.artificial = memory_take(nodes * sizeof(*network.artificial), ALIGN_PAGE);
    make_supplies(&network, &random);
    arc = network.arc;
    for (uint64_t i = 0; i < nodes; i++) {
        struct node *tail = &network.node[i];

        *arc++ = (struct arc){tail, &network.node[(i + 1) % nodes], RING_COST, NO_LIMIT, 0, ARC_EMPTY};
        for (unsigned k = 0; k < RANDOM_ARCS; k++) {
            struct node *head = &network.node[random_below(&random, nodes)];

            *arc++ = (struct arc){tail,
                                  head,
                                  1 + random_below(&random, MOST_COST),
                                  1 + random_below(&random, MOST_CAPACITY),
                                  0,
                                  ARC_EMPTY};
        }
    }
    return network;
}

static void attach(struct node *node, struct node *parent)
{
    node->parent = parent;
    node->previous_sibling = NULL;
    node->next_sibling = parent->child;
    if (parent->child != NULL)
        parent->child->previous_sibling = node;
    parent->child = node;
}

static void detach(struct node *node)
{
    if (node->previous_sibling != NULL)
        node->previous_sibling->next_sibling = node->next_sibling;
    else
        node->parent->child = node->next_sibling;
    if (node->next_sibling != NULL)
        node->next_sibling->previous_sibling = node->previous_sibling;
}

/* Depth and potential, from the parent's: the basic arc's reduced cost is 0. */
static void settle(struct node *node)
{
    const struct node *parent = node->parent;
    int64_t cost = node->basic->cost;

    node->depth = parent->depth + 1;
    node->potential = parent->potential + (node->basic->tail == node ? cost : -cost);
}

/* Settles `top` and all below it. */
static void settle_subtree(struct node *top)
{
    struct node *node = top;

    for (;;) {
        settle(node);
        if (node->child != NULL) {
            node = node->child;
            continue;
        }
        while (node != top && node->next_sibling == NULL)
            node = node->parent;
        if (node == top)
            return;
        node = node->next_sibling;
    }
}

/* The first tree: all flow goes through the root. An arc without flow points to the root, and so it stays:
 * a tree that is strongly feasible keeps the method from going round in circles (Cunningham 1976). */
static void plant(struct network *network)
{
    struct node *root = &network->node[network->nodes];
    int64_t dear = (int64_t)(network->nodes + 1) * RING_COST;

    for (uint64_t i = 0; i < network->nodes; i++) {
        struct node *node = &network->node[i];
        struct arc *arc = &network->artificial[i];
        bool up = node->supply >= 0;

        *arc = (struct arc){up ? node : root, up ? root : node, dear, NO_LIMIT,
                            up ? node->supply : -node->supply, ARC_BASIC};
        node->basic = arc;
        attach(node, root);
        settle(node);
    }
}

static int64_t reduced_cost(const struct arc *arc)
{
    return arc->cost - arc->tail->potential + arc->head->potential;
}

/* By how much a unit of change in the arc's flow lowers the cost; not positive when it does not. */
static int64_t gain(const struct arc *arc)
{
    switch (arc->state) {
    case ARC_EMPTY:
        return -reduced_cost(arc);
    case ARC_FULL:
        return reduced_cost(arc);
    case ARC_BASIC:
        break;
    }
    return 0;
}

static uint64_t square_root(uint64_t n)
{
    uint64_t root = 1;

    while (root * root < n)
        root++;
    return root;
}

/* Partial pricing: the arc with most gain among the next so many, or among those after them, and so on;
 * NULL when no arc gains. `*next` is where to go on. */
static struct arc *find_entering(const struct network *network, uint64_t block, uint64_t *next)
{
    struct arc *best = NULL;
    int64_t most = 0;
    uint64_t in_block = 0;

    for (uint64_t seen = 0; seen < network->arcs; seen++) {
        struct arc *arc = &network->arc[*next];
        int64_t its = gain(arc);

        *next = *next + 1 == network->arcs ? 0 : *next + 1;
        if (its > most) {
            most = its;
            best = arc;
        }
        if (++in_block == block) {
            if (best != NULL)
                return best;
            in_block = 0;
        }
    }
    return best;
}

/* What happens in one pivot: flow is pushed from `from` over the entering arc to `to`, then up the tree
 * to where their paths to the root join, and down again to `from`. */
struct pivot {
    struct arc *entering;
    struct node *from;
    struct node *to;
    struct node *join;
    int64_t push;
    /* The node whose basic arc leaves; NULL when the entering arc itself is the limit. */
    struct node *cut;
    /* `cut` lies on the side of `from`. */
    bool cut_is_on_from_side;
};

static struct node *find_join(struct node *a, struct node *b)
{
    while (a->depth > b->depth)
        a = a->parent;
    while (b->depth > a->depth)
        b = b->parent;
    while (a != b) {
        a = a->parent;
        b = b->parent;
    }
    return a;
}

/* How much more the basic arc of `node` can carry, towards the root or away from it. */
static int64_t room(const struct node *node, bool towards_root)
{
    const struct arc *arc = node->basic;

    return (arc->tail == node) == towards_root ? arc->capacity - arc->flow : arc->flow;
}

/* Of several arcs that are the limit, the last in the direction of the flow, from the join on, leaves: the tree
 * stays strongly feasible. */
static struct pivot find_leaving(struct arc *entering)
{
    bool empty = entering->state == ARC_EMPTY;
    struct pivot pivot = {
        .entering = entering,
        .from = empty ? entering->tail : entering->head,
        .to = empty ? entering->head : entering->tail,
        .push = entering->capacity,
    };

    pivot.join = find_join(pivot.from, pivot.to);
    for (struct node *node = pivot.from; node != pivot.join; node = node->parent)
        if (room(node, false) < pivot.push) {
            pivot.push = room(node, false);
            pivot.cut = node;
            pivot.cut_is_on_from_side = true;
        }
    for (struct node *node = pivot.to; node != pivot.join; node = node->parent)
        if (room(node, true) <= pivot.push) {
            pivot.push = room(node, true);
            pivot.cut = node;
            pivot.cut_is_on_from_side = false;
        }
    return pivot;
}

static void push_basic(struct node *node, bool towards_root, int64_t push)
{
    struct arc *arc = node->basic;

    arc->flow += (arc->tail == node) == towards_root ? push : -push;
}

static void push_flow(const struct pivot *pivot)
{
    pivot->entering->flow += pivot->entering->state == ARC_EMPTY ? pivot->push : -pivot->push;
    for (struct node *node = pivot->from; node != pivot->join; node = node->parent)
        push_basic(node, false, pivot->push);
    for (struct node *node = pivot->to; node != pivot->join; node = node->parent)
        push_basic(node, true, pivot->push);
}

/* Cuts off the tree at `cut` and hangs it up again by the entering arc: from that arc to the cut, what was
 * a child becomes a parent. */
static void change_tree(const struct pivot *pivot)
{
    struct node *top = pivot->cut_is_on_from_side ? pivot->from : pivot->to;
    struct node *parent = pivot->cut_is_on_from_side ? pivot->to : pivot->from;
    struct arc *basic = pivot->entering;
    struct arc *leaving = pivot->cut->basic;
    struct node *node = top;

    for (bool last = false; !last;) {
        struct node *old_parent = node->parent;
        struct arc *old_basic = node->basic;

        last = node == pivot->cut;
        detach(node);
        attach(node, parent);
        node->basic = basic;
        parent = node;
        basic = old_basic;
        node = old_parent;
    }
    leaving->state = leaving->flow == 0 ? ARC_EMPTY : ARC_FULL;
    pivot->entering->state = ARC_BASIC;
    settle_subtree(top);
}

/* The result is the number of pivots. */
static uint64_t __attribute__((noinline)) solve(struct network *network)
{
    uint64_t block = square_root(network->arcs);
    uint64_t pivots = 0;
    uint64_t next = 0;
    struct arc *entering;

    plant(network);
    while ((entering = find_entering(network, block, &next)) != NULL) {
        struct pivot pivot = find_leaving(entering);

        push_flow(&pivot);
        if (pivot.cut != NULL)
            change_tree(&pivot);
        else
            entering->state = entering->state == ARC_EMPTY ? ARC_FULL : ARC_EMPTY;
        pivots++;
    }
    return pivots;
}

/* A flow that keeps supplies and capacities, together with potentials against which no arc could gain
 * (complementary slackness), costs least, however it was found. The result is what is wrong, NULL for
 * nothing. `balance` is a word for each node, all zero. */
static const char *validate(const struct network *network, int64_t *balance)
{
    for (uint64_t i = 0; i < network->nodes; i++)
        if (network->artificial[i].flow != 0)
            return "flow through the root";
    for (uint64_t i = 0; i < network->arcs; i++) {
        const struct arc *arc = &network->arc[i];
        int64_t cost = reduced_cost(arc);

        if (arc->flow < 0 || arc->flow > arc->capacity)
            return "a flow beyond its arc's capacity";
        if ((cost > 0 && arc->flow != 0) || (cost < 0 && arc->flow != arc->capacity))
            return "an arc that could gain";
        balance[arc->tail - network->node] += arc->flow;
        balance[arc->head - network->node] -= arc->flow;
    }
    for (uint64_t i = 0; i < network->nodes; i++)
        if (balance[i] != network->node[i].supply)
            return "a node that does not pass on what it gets";
    return NULL;
}

static int64_t total_cost(const struct network *network)
{
    int64_t cost = 0;

    for (uint64_t i = 0; i < network->arcs; i++)
        cost += network->arc[i].flow * network->arc[i].cost;
    return cost;
}

static enum outcome run(const struct options *options)
{
    uint64_t nodes = option_size(options, DEFAULT_NODES, LEAST_NODES, MOST_NODES);
    struct network network = make_network(nodes, options->seed);
    int64_t *balance = memory_take(nodes * sizeof(*balance), ALIGN_PAGE);
    const char *wrong;
    uint64_t pivots;
    uint64_t elapsed;

    /* Page faults belong before the timed part. */
    for (uint64_t i = 0; i < nodes; i++) {
        network.artificial[i].state = ARC_EMPTY;
        balance[i] = 0;
    }
    elapsed = region_begin();
    pivots = solve(&network);
    elapsed = region_end(elapsed);

    wrong = validate(&network, balance);
    if (wrong != NULL) {
        print("mcf: FAILED %s\n", wrong);
        return OUTCOME_FAILED;
    }
    print("mcf: ok nodes=%lu arcs=%lu pivots=%lu cost=%ld ns=%lu\n", nodes, network.arcs, pivots,
          total_cost(&network), elapsed);
    return OUTCOME_OK;
}

const struct workload workload_mcf = {
    .name = "mcf",
    .synopsis = "minimum-cost flow by network simplex; size = nodes",
    .takes = OPTION_SIZE | OPTION_SEED,
    .run = run,
};
