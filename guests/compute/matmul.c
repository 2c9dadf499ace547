/* Products of square matrices of doubles that fit into the first-level cache.
 *
 * size:       rows and columns
 * iterations: products */
#include "../workloads/workload.h"

enum { DEFAULT_ROWS = 32, DEFAULT_ITERATIONS = 1500 };

static void __attribute__((noinline)) multiply(const double *a, const double *b, double *product, uint64_t rows)
{
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < rows; j++) {
            double sum = 0;

            for (uint64_t k = 0; k < rows; k++)
                sum += a[i * rows + k] * b[k * rows + j];
            product[i * rows + j] = sum;
        }
}

static enum outcome run(const struct options *options)
{
    uint64_t rows = option_size(options, DEFAULT_ROWS, 1, 4096);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    uint64_t bytes = rows * rows * sizeof(double);
    double *rotation = memory_take(bytes, ALIGN_PAGE);
    double *matrix = memory_take(bytes, ALIGN_PAGE), *next = memory_take(bytes, ALIGN_PAGE);
    struct random random = {options->seed};
    double before = 0, after = 0;
    uint64_t elapsed;
    bool ok;

    /* A permutation of the rows, which moves the numbers and changes none. */
    for (uint64_t i = 0; i < rows; i++)
        rotation[i * rows + (i + 1) % rows] = 1;
    for (uint64_t i = 0; i < rows * rows; i++)
        matrix[i] = (double)(random_next(&random) & 0xffff);
    for (uint64_t i = 0; i < rows * rows; i++)
        before += matrix[i] * (double)(i / rows == iterations % rows);
    elapsed = region_begin();
    for (uint64_t i = 0; i < iterations; i++) {
        double *product = next;

        multiply(rotation, matrix, product, rows);
        next = matrix;
        matrix = product;
    }
    elapsed = region_end(elapsed);

    /* The row that was `iterations` rows below the first is the first. */
    for (uint64_t i = 0; i < rows; i++)
        after += matrix[i];
    ok = before == after;
    print("matmul: %s operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", rows * rows * rows * iterations, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_matmul = {
    .name = "matmul",
    .synopsis = "products of matrices of doubles; size = rows, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
