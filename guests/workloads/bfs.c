/* Graph500: breadth-first search of a Kronecker graph, from several roots, with Graph500's checks of
 * the resulting trees (specification 1.2; top-down search, 64-bit vertex numbers).
 *
 * size:       the scale: 2^scale vertices and 16 times as many edges
 * iterations: roots */
#include "workload.h"

enum { EDGE_FACTOR = 16 };
enum { DEFAULT_SCALE = 15, LEAST_SCALE = 4, MOST_SCALE = 32 };
enum { DEFAULT_ROOTS = 4 };

typedef uint64_t vertex;

#define NO_VERTEX UINT64_MAX

struct edge {
    vertex from;
    vertex to;
};

/* Compressed rows: the neighbours of v are [row[v], row[v + 1]). Each edge is there twice. */
struct graph {
    uint64_t vertices;
    uint64_t *row;
    vertex *neighbour;
};

/* Quadrants of the adjacency matrix, as (from bit, to bit), with the probabilities of Graph500:
 * A = 0.57, B = C = 0.19, D = 0.05. */
enum quadrant { QUADRANT_A = 0, QUADRANT_B = 1, QUADRANT_C = 2, QUADRANT_D = 3 };

enum { DRAW_BITS = 12, DRAWS = 1 << DRAW_BITS, DRAWS_PER_WORD = 64 / DRAW_BITS };

/* The quadrant for each value of 12 random bits: 2335 : 778 : 778 : 205 of 4096. */
static uint8_t quadrants[DRAWS];

static void fill_quadrants(void)
{
    for (unsigned draw = 0; draw < DRAWS; draw++)
        quadrants[draw] = draw < 2335   ? QUADRANT_A
                          : draw < 3113 ? QUADRANT_B
                          : draw < 3891 ? QUADRANT_C
                                        : QUADRANT_D;
}

/* The even bits of `x`, moved together. */
static uint64_t even_bits(uint64_t x)
{
    x &= 0x5555555555555555;
    x = (x | x >> 1) & 0x3333333333333333;
    x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
    x = (x | x >> 4) & 0x00ff00ff00ff00ff;
    x = (x | x >> 8) & 0x0000ffff0000ffff;
    return (x | x >> 16) & 0x00000000ffffffff;
}

/* Chooses one quadrant at each of `scale` levels. */
static struct edge random_edge(struct random *random, unsigned scale)
{
    uint64_t path = 0;

    for (unsigned level = 0; level < scale;) {
        uint64_t bits = random_next(random);

        for (unsigned i = 0; i < DRAWS_PER_WORD && level < scale; i++, level++) {
            path = path << 2 | quadrants[bits % DRAWS];
            bits >>= DRAW_BITS;
        }
    }
    return (struct edge){even_bits(path >> 1), even_bits(path)};
}

static struct edge *make_edges(unsigned scale, uint64_t count, uint64_t seed)
{
    struct edge *edges = memory_take(count * sizeof(*edges), ALIGN_PAGE);
    struct random random = {seed};

    fill_quadrants();
    for (uint64_t i = 0; i < count; i++) {
        struct edge edge = random_edge(&random, scale);

        edges[i].from = scramble(edge.from, scale, seed);
        edges[i].to = scramble(edge.to, scale, seed);
    }
    return edges;
}

/* Self-loops are left out; edges that occur twice are kept. */
static struct graph make_graph(const struct edge *edges, uint64_t count, uint64_t vertices)
{
    struct graph graph = {.vertices = vertices};
    uint64_t sum = 0;

    /* While filling, row[v + 1] is where the next neighbour of v goes; so rows are shifted by one. */
    graph.row = memory_take((vertices + 2) * sizeof(*graph.row), ALIGN_PAGE);
    for (uint64_t i = 0; i < count; i++)
        if (edges[i].from != edges[i].to) {
            graph.row[edges[i].from + 1]++;
            graph.row[edges[i].to + 1]++;
        }
    for (uint64_t v = 1; v <= vertices; v++) {
        uint64_t degree = graph.row[v];

        graph.row[v] = sum;
        sum += degree;
    }
    graph.neighbour = memory_take((sum + 1) * sizeof(*graph.neighbour), ALIGN_PAGE);
    for (uint64_t i = 0; i < count; i++)
        if (edges[i].from != edges[i].to) {
            graph.neighbour[graph.row[edges[i].from + 1]++] = edges[i].to;
            graph.neighbour[graph.row[edges[i].to + 1]++] = edges[i].from;
        }
    return graph;
}

/* Fills `parent` (NO_VERTEX where not reached); the result is how many vertices were reached. */
static uint64_t __attribute__((noinline)) search(const struct graph *graph, vertex root,
                                                 vertex *parent, vertex *queue)
{
    uint64_t head = 0;
    uint64_t tail = 0;

    for (uint64_t v = 0; v < graph->vertices; v++)
        parent[v] = NO_VERTEX;
    parent[root] = root;
    queue[tail++] = root;
    while (head < tail) {
        vertex v = queue[head++];

        for (uint64_t k = graph->row[v]; k < graph->row[v + 1]; k++) {
            vertex to = graph->neighbour[k];

            if (parent[to] == NO_VERTEX) {
                parent[to] = v;
                queue[tail++] = to;
            }
        }
    }
    return tail;
}

#define NO_LEVEL UINT64_MAX

/* Distance of each vertex from the root along `parent`; false when it does not lead to the root. */
static bool find_levels(const struct graph *graph, vertex root, const vertex *parent,
                        uint64_t *level)
{
    for (uint64_t v = 0; v < graph->vertices; v++)
        level[v] = NO_LEVEL;
    if (parent[root] != root)
        return false;
    level[root] = 0;
    for (uint64_t v = 0; v < graph->vertices; v++) {
        uint64_t steps = 0;
        vertex at = v;

        if (parent[v] == NO_VERTEX)
            continue;
        for (; level[at] == NO_LEVEL; at = parent[at])
            if (++steps > graph->vertices || parent[at] >= graph->vertices)
                return false;
        steps += level[at];
        for (at = v; level[at] == NO_LEVEL; at = parent[at])
            level[at] = steps--;
    }
    return true;
}

/* Graph500's checks: `parent` is a tree with the given root; each of its edges is an edge of the graph;
 * the ends of each edge of the graph are both reached, with levels at most one apart, or neither. The
 * result is what is wrong, NULL for nothing. */
static const char *validate(const struct graph *graph, vertex root, const vertex *parent,
                            uint64_t *level)
{
    if (!find_levels(graph, root, parent, level))
        return "not a tree with this root";
    for (uint64_t v = 0; v < graph->vertices; v++) {
        bool tree_edge_found = v == root || parent[v] == NO_VERTEX;

        for (uint64_t k = graph->row[v]; k < graph->row[v + 1]; k++) {
            vertex to = graph->neighbour[k];

            if ((level[v] == NO_LEVEL) != (level[to] == NO_LEVEL))
                return "an edge leaves the reached part";
            /* The edge's other end looks at it the other way round. */
            if (level[to] != NO_LEVEL && level[v] > level[to] + 1)
                return "levels more than one apart";
            tree_edge_found = tree_edge_found || to == parent[v];
        }
        if (!tree_edge_found)
            return "a tree edge is not in the graph";
    }
    return NULL;
}

static vertex random_root(const struct graph *graph, struct random *random)
{
    for (;;) {
        vertex v = random_next(random) & (graph->vertices - 1);

        if (graph->row[v] != graph->row[v + 1])
            return v;
    }
}

/* Edges of the graph, each once, in the part that was reached. */
static uint64_t edges_reached(const struct graph *graph, const vertex *parent)
{
    uint64_t ends = 0;

    for (uint64_t v = 0; v < graph->vertices; v++)
        if (parent[v] != NO_VERTEX)
            ends += graph->row[v + 1] - graph->row[v];
    return ends / 2;
}

static enum outcome run(const struct options *options)
{
    unsigned scale =
        (unsigned)option_size(options, DEFAULT_SCALE, LEAST_SCALE, MOST_SCALE);
    uint64_t roots = options->iterations != 0 ? options->iterations : DEFAULT_ROOTS;
    uint64_t vertices = (uint64_t)1 << scale;
    uint64_t edge_count = vertices * EDGE_FACTOR;
    struct edge *edges = make_edges(scale, edge_count, options->seed);
    struct graph graph = make_graph(edges, edge_count, vertices);
    struct random random = {~options->seed};
    vertex *root = memory_take(roots * sizeof(*root), ALIGN_PAGE);
    vertex *queue = memory_take(vertices * sizeof(*queue), ALIGN_PAGE);
    vertex *parents = memory_take(roots * vertices * sizeof(*parents), ALIGN_PAGE);
    uint64_t traversed = 0;
    uint64_t reached = 0;
    uint64_t elapsed;

    for (uint64_t i = 0; i < roots; i++)
        root[i] = random_root(&graph, &random);
    /* Page faults belong before the timed part. */
    for (uint64_t i = 0; i < roots * vertices; i++)
        parents[i] = NO_VERTEX;
    for (uint64_t i = 0; i < vertices; i++)
        queue[i] = NO_VERTEX;

    elapsed = region_begin();
    for (uint64_t i = 0; i < roots; i++)
        reached += search(&graph, root[i], parents + i * vertices, queue);
    elapsed = region_end(elapsed);

    for (uint64_t i = 0; i < roots; i++) {
        const vertex *parent = parents + i * vertices;
        const char *wrong = validate(&graph, root[i], parent, queue);

        if (wrong != NULL) {
            print("bfs: FAILED root %lu: %s\n", root[i], wrong);
            return OUTCOME_FAILED;
        }
        traversed += edges_reached(&graph, parent);
    }
    print("bfs: ok scale=%u roots=%lu reached=%lu edges=%lu ns=%lu mteps=", scale, roots, reached,
          traversed, elapsed);
    print_decimal((double)traversed * 1000 / (double)elapsed, 3);
    print("\n");
    return OUTCOME_OK;
}

const struct workload workload_bfs = {
    .name = "bfs",
    .synopsis = "Graph500; size = scale, iterations = roots",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
