/* NAS Parallel Benchmarks CG: the smallest eigenvalue of a large sparse symmetric matrix by inverse
 * iteration, each step solved by 25 steps of conjugate gradients. After NPB 3.3, serial: the same
 * matrix, the same arithmetic, NPB's published result.
 *
 * size: a class letter, S, W or A */
#include "workload.h"

#include "../common/bytes.h"
#include "real.h"

struct class {
    char letter;
    uint32_t order;
    /* Nonzeros of each generating vector, but for its diagonal element. */
    uint32_t nonzeros;
    uint32_t iterations;
    double shift;
    /* Published; the result must agree to 1e-10. */
    double zeta;
};

static const struct class classes[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648},
    {'W', 7000, 8, 15, 12, 10.362595087124},
    {'A', 14000, 11, 15, 20, 17.130235054029},
};

enum { CG_STEPS = 25, MOST_NONZEROS = 12 };

static const double CONDITION = 0.1;
static const double EPSILON = 1e-10;

/* Compressed rows; row i occupies [row[i], row[i + 1]). */
struct matrix {
    uint32_t order;
    uint32_t *row;
    uint32_t *column;
    double *value;
};

/* A sparse vector from which the matrix is made. */
struct sparse_vector {
    uint32_t count;
    uint32_t index[MOST_NONZEROS];
    double value[MOST_NONZEROS];
};

/* NPB's randlc: x := 5^13 x mod 2^46, as a fraction of 2^46. Its floating-point form is exact, so that
 * integers give the same numbers. */
static double randlc(uint64_t *x)
{
    *x = *x * 1220703125 & (((uint64_t)1 << 46) - 1);
    return (double)*x * 0x1p-46;
}

static bool vector_holds(const struct sparse_vector *vector, uint32_t index)
{
    for (uint32_t i = 0; i < vector->count; i++)
        if (vector->index[i] == index)
            return true;
    return false;
}

/* Random values at `nonzeros` different random places (NPB's sprnvc). */
static void random_vector(struct sparse_vector *vector, const struct class *class, uint64_t *seed)
{
    uint32_t range = 1;

    while (range < class->order)
        range *= 2;
    vector->count = 0;
    while (vector->count < class->nonzeros) {
        double value = randlc(seed);
        uint32_t index = (uint32_t)(range * randlc(seed));

        if (index >= class->order || vector_holds(vector, index))
            continue;
        vector->value[vector->count] = value;
        vector->index[vector->count++] = index;
    }
}

/* Sets one element (NPB's vecset). */
static void set_element(struct sparse_vector *vector, uint32_t index, double value)
{
    for (uint32_t i = 0; i < vector->count; i++)
        if (vector->index[i] == index) {
            vector->value[i] = value;
            return;
        }
    vector->index[vector->count] = index;
    vector->value[vector->count++] = value;
}

/* Adds to an element of a row kept sorted; `end` is the end of what the row holds. The result is the new
 * end. */
static uint32_t add_element(struct matrix *matrix, uint32_t begin, uint32_t end, uint32_t column,
                            double value)
{
    uint32_t at = begin;

    while (at < end && matrix->column[at] < column)
        at++;
    if (at < end && matrix->column[at] == column) {
        matrix->value[at] += value;
        return end;
    }
    for (uint32_t k = end; k > at; k--) {
        matrix->column[k] = matrix->column[k - 1];
        matrix->value[k] = matrix->value[k - 1];
    }
    matrix->column[at] = column;
    matrix->value[at] = value;
    return end + 1;
}

/* The sum over i of ratio^i times the outer product of vector i with itself, plus
 * (CONDITION - shift) on the diagonal (NPB's sparse). */
static void sum_outer_products(struct matrix *matrix, const struct sparse_vector *vectors,
                               const struct class *class, uint32_t *row_end)
{
    double ratio = real_pow(CONDITION, 1.0 / class->order);
    double size = 1;

    for (uint32_t i = 0; i < class->order; i++) {
        const struct sparse_vector *v = &vectors[i];

        for (uint32_t a = 0; a < v->count; a++) {
            uint32_t row = v->index[a];
            double scale = size * v->value[a];

            for (uint32_t b = 0; b < v->count; b++) {
                double value = v->value[b] * scale;

                if (v->index[b] == row && row == i)
                    value += CONDITION - class->shift;
                row_end[row] = add_element(matrix, matrix->row[row], row_end[row], v->index[b],
                                           value);
            }
        }
        size *= ratio;
    }
}

/* Closes the gaps that equal elements left. */
static void compress(struct matrix *matrix, const uint32_t *row_end)
{
    uint32_t to = 0;

    for (uint32_t i = 0; i < matrix->order; i++) {
        uint32_t from = matrix->row[i];

        matrix->row[i] = to;
        for (; from < row_end[i]; from++, to++) {
            matrix->column[to] = matrix->column[from];
            matrix->value[to] = matrix->value[from];
        }
    }
    matrix->row[matrix->order] = to;
}

static struct matrix make_matrix(const struct class *class, uint64_t *seed)
{
    uint32_t n = class->order;
    struct sparse_vector *vectors = memory_take(n * sizeof(*vectors), ALIGN_PAGE);
    struct matrix matrix = {.order = n};
    uint32_t *row_end = memory_take(n * sizeof(*row_end), ALIGN_PAGE);
    uint32_t room;

    matrix.row = memory_take((n + 1) * sizeof(*matrix.row), ALIGN_PAGE);
    for (uint32_t i = 0; i < n; i++) {
        random_vector(&vectors[i], class, seed);
        set_element(&vectors[i], i, 0.5);
        for (uint32_t a = 0; a < vectors[i].count; a++)
            matrix.row[vectors[i].index[a] + 1] += vectors[i].count;
    }
    for (uint32_t i = 0; i < n; i++) {
        matrix.row[i + 1] += matrix.row[i];
        row_end[i] = matrix.row[i];
    }
    room = matrix.row[n];
    matrix.column = memory_take(room * sizeof(*matrix.column), ALIGN_PAGE);
    matrix.value = memory_take(room * sizeof(*matrix.value), ALIGN_PAGE);
    sum_outer_products(&matrix, vectors, class, row_end);
    compress(&matrix, row_end);
    return matrix;
}

static void multiply(const struct matrix *matrix, const double *x, double *y)
{
    for (uint32_t i = 0; i < matrix->order; i++) {
        double sum = 0;

        for (uint32_t k = matrix->row[i]; k < matrix->row[i + 1]; k++)
            sum += matrix->value[k] * x[matrix->column[k]];
        y[i] = sum;
    }
}

static double dot(const double *x, const double *y, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

struct vectors {
    double *x;
    double *z;
    double *p;
    double *q;
    double *r;
};

/* z := an approximation of A^-1 x. The result is |x - A z|. */
static double conjugate_gradients(const struct matrix *matrix, const struct vectors *v)
{
    uint32_t n = matrix->order;
    double rho;
    double sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        v->z[i] = 0;
        v->r[i] = v->x[i];
        v->p[i] = v->x[i];
    }
    rho = dot(v->r, v->r, n);
    for (int step = 0; step < CG_STEPS; step++) {
        double rho_before = rho;
        double alpha;
        double beta;

        multiply(matrix, v->p, v->q);
        alpha = rho / dot(v->p, v->q, n);
        for (uint32_t i = 0; i < n; i++) {
            v->z[i] += alpha * v->p[i];
            v->r[i] -= alpha * v->q[i];
        }
        rho = dot(v->r, v->r, n);
        beta = rho / rho_before;
        for (uint32_t i = 0; i < n; i++)
            v->p[i] = v->r[i] + beta * v->p[i];
    }
    multiply(matrix, v->z, v->r);
    for (uint32_t i = 0; i < n; i++) {
        double difference = v->x[i] - v->r[i];

        sum += difference * difference;
    }
    return real_sqrt(sum);
}

/* One step of inverse iteration; the result is the new estimate of the eigenvalue. */
static double iterate(const struct matrix *matrix, const struct vectors *v, double shift,
                      double *residual)
{
    uint32_t n = matrix->order;
    double zeta;
    double scale;

    *residual = conjugate_gradients(matrix, v);
    zeta = shift + 1 / dot(v->x, v->z, n);
    scale = 1 / real_sqrt(dot(v->z, v->z, n));
    for (uint32_t i = 0; i < n; i++)
        v->x[i] = scale * v->z[i];
    return zeta;
}

static void fill(double *x, double value, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = value;
}

static const struct class *find_class(const char *letter)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (letter[0] == classes[i].letter && letter[1] == '\0')
            return &classes[i];
    fail(OUTCOME_USAGE, "cg: size=%s: must be S, W or A", letter);
}

static enum outcome run(const struct options *options)
{
    const struct class *class = find_class(options->size != NULL ? options->size : "S");
    uint64_t seed = 314159265;
    struct vectors v;
    struct matrix matrix;
    double **all[] = {(double **)&v.x, &v.z, &v.p, &v.q, &v.r};
    double zeta = 0;
    double residual = 0;
    double error;
    uint64_t elapsed;

    /* NPB draws one number before it makes the matrix. */
    randlc(&seed);
    matrix = make_matrix(class, &seed);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        *all[i] = memory_take(class->order * sizeof(double), ALIGN_PAGE);
    /* One untimed step, as in NPB, touches all pages. */
    fill(v.x, 1, class->order);
    iterate(&matrix, &v, class->shift, &residual);
    fill(v.x, 1, class->order);

    elapsed = region_begin();
    for (uint32_t i = 0; i < class->iterations; i++)
        zeta = iterate(&matrix, &v, class->shift, &residual);
    elapsed = region_end(elapsed);

    error = real_abs(zeta - class->zeta) / class->zeta;
    /* Written so that a NaN fails. */
    print("cg: %s class=%c nonzeros=%u zeta=", error <= EPSILON ? "ok" : "FAILED", class->letter,
          matrix.row[class->order]);
    print_decimal(zeta, 13);
    print(" error=");
    print_decimal(error, 15);
    print(" ns=%lu\n", elapsed);
    return error <= EPSILON ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_cg = {
    .name = "cg",
    .synopsis = "NPB CG; size = class S, W or A",
    .takes = OPTION_SIZE,
    .run = run,
};
