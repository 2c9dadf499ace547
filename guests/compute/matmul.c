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

/* The reflection at the plane that `normal` stands on: its square is the identity. */
static void fill_reflection(double *matrix, const double *normal, uint64_t rows)
{
    double square = 0;

    for (uint64_t i = 0; i < rows; i++)
        square += normal[i] * normal[i];
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < rows; j++)
            matrix[i * rows + j] = (i == j) - 2 * normal[i] * normal[j] / square;
}

static enum outcome run(const struct options *options)
{
    uint64_t rows = option_size(options, DEFAULT_ROWS, 1, 4096);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    uint64_t bytes = rows * rows * sizeof(double), products = iterations + iterations % 2;
    double *reflection = memory_take(bytes, ALIGN_PAGE), *start = memory_take(bytes, ALIGN_PAGE);
    double *matrix = memory_take(bytes, ALIGN_PAGE), *next = memory_take(bytes, ALIGN_PAGE);
    double *normal = memory_take(rows * sizeof(*normal), ALIGN_PAGE);
    struct random random = {options->seed};
    double error = 0;
    uint64_t elapsed;
    bool ok;

    for (uint64_t i = 0; i < rows; i++)
        normal[i] = 0.5 + random_unit(&random);
    fill_reflection(reflection, normal, rows);
    for (uint64_t i = 0; i < rows * rows; i++)
        start[i] = matrix[i] = random_unit(&random);
    elapsed = region_begin();
    for (uint64_t i = 0; i < products; i++) {
        double *product = next;

        multiply(reflection, matrix, product, rows);
        next = matrix;
        matrix = product;
    }
    elapsed = region_end(elapsed);

    /* An even number of reflections. */
    for (uint64_t i = 0; i < rows * rows; i++) {
        double difference = matrix[i] - start[i];

        error += difference < 0 ? -difference : difference;
    }
    ok = error < 1e-9 * (double)(rows * rows) * (double)products;
    print("matmul: %s operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", rows * rows * rows * products, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_matmul = {
    .name = "matmul",
    .synopsis = "products of matrices of doubles; size = rows, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
