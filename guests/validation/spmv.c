/* Sparse matrix times vector, in compressed rows, 8 random columns in each row: y = A x.
 *
 * size:       bytes of the vector x, a power of two; the matrix has 12 times as many
 * iterations: products */
#include "../workloads/workload.h"

enum { PER_ROW = 8 };
enum { DEFAULT_BYTES = 4 << 20, DEFAULT_PRODUCTS = 1 };

struct matrix {
    uint64_t rows;
    /* Column and value of each element, row by row. */
    uint32_t *column;
    double *value;
};

/* y is what it was, plus A x. Values are small whole numbers, so that sums are exact in any order. */
static void __attribute__((noinline)) multiply(const struct matrix *matrix, const double *x, double *y)
{
    const uint32_t *column = matrix->column;
    const double *value = matrix->value;

    for (uint64_t row = 0; row < matrix->rows; row++) {
        double sum = 0;

        for (unsigned i = 0; i < PER_ROW; i++)
            sum += *value++ * x[*column++];
        y[row] += sum;
    }
}

static struct matrix make_matrix(uint64_t rows, uint64_t seed)
{
    struct matrix matrix = {
        .rows = rows,
        .column = memory_take(rows * PER_ROW * sizeof(*matrix.column), ALIGN_PAGE),
        .value = memory_take(rows * PER_ROW * sizeof(*matrix.value), ALIGN_PAGE),
    };
    struct random random = {seed};

    for (uint64_t i = 0; i < rows * PER_ROW; i++) {
        uint64_t draw = random_next(&random);

        matrix.column[i] = (uint32_t)(draw & (rows - 1));
        matrix.value[i] = (double)(draw >> 61);
    }
    return matrix;
}

/* The sum over y is that over the elements, each times the part of x that it meets. */
static double expected_sum(const struct matrix *matrix, const double *x)
{
    double sum = 0;

    for (uint64_t i = 0; i < matrix->rows * PER_ROW; i++)
        sum += matrix->value[i] * x[matrix->column[i]];
    return sum;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 4096, (uint64_t)1 << 34);
    uint64_t products = options->iterations != 0 ? options->iterations : DEFAULT_PRODUCTS;
    uint64_t rows = bytes / sizeof(double);
    struct matrix matrix;
    double *x;
    double *y;
    double sum = 0;
    uint64_t elapsed;
    bool ok;

    if (!is_power_of_two(bytes))
        fail(OUTCOME_USAGE, "spmv: size=%lu: must be a power of two", bytes);
    matrix = make_matrix(rows, options->seed);
    x = memory_take(bytes, ALIGN_PAGE);
    y = memory_take(bytes, ALIGN_PAGE);
    for (uint64_t i = 0; i < rows; i++) {
        x[i] = (double)(i & 15);
        y[i] = 0;
    }

    elapsed = region_begin();
    for (uint64_t product = 0; product < products; product++)
        multiply(&matrix, x, y);
    elapsed = region_end(elapsed);

    for (uint64_t i = 0; i < rows; i++)
        sum += y[i];
    ok = sum == (double)products * expected_sum(&matrix, x);
    print("spmv: %s rows=%lu operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", rows,
          products * rows * PER_ROW, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_spmv = {
    .name = "spmv",
    .synopsis = "sparse matrix times vector; size = bytes of the vector, iterations = products",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
