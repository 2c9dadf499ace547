/* Records, strings and calls in the proportions of system programs of the 1980s, in the manner of Dhrystone (Weicker 1984).
 *
 * size:       records, each of which has the next one as its partner
 * iterations: rounds over all of them */
#include "../workloads/workload.h"

#include "../common/bytes.h"

enum { DEFAULT_RECORDS = 64, DEFAULT_ITERATIONS = 25000 };
enum { NAME_BYTES = 32, CELLS = 16 };

enum kind { FIRST, SECOND, THIRD, KINDS };

struct record {
    struct record *partner;
    enum kind kind;
    int32_t number;
    char name[NAME_BYTES];
    int32_t cells[CELLS];
};

static enum kind __attribute__((noinline)) next_kind(enum kind kind, int32_t number)
{
    switch (kind) {
    case FIRST:
        return number > 100 ? SECOND : THIRD;
    case SECOND:
        return FIRST;
    default:
        return SECOND;
    }
}

static bool __attribute__((noinline)) names_differ(const char *a, const char *b)
{
    while (*a == *b && *a != '\0') {
        a++;
        b++;
    }
    return *a != *b;
}

static void __attribute__((noinline)) copy_record(struct record *to, const struct record *from)
{
    struct record *partner = to->partner;

    memcpy(to, from, sizeof(*to));
    to->partner = partner;
}

static void __attribute__((noinline)) update_cells(struct record *record, int32_t at)
{
    at &= CELLS - 4;
    record->cells[at] = record->number;
    record->cells[at + 1] = record->cells[at];
    record->cells[at + 2] = at;
    for (int32_t i = at; i < at + 3; i++)
        record->number += record->cells[i] / (i + 1);
}

static void __attribute__((noinline)) update(struct record *record, int32_t round)
{
    struct record *partner = record->partner;

    copy_record(partner, record);
    partner->number = 5 + round % 200;
    partner->kind = next_kind(record->kind, partner->number);
    partner->name[NAME_BYTES - 2] = (char)('A' + round % 26);
    update_cells(partner, round);
    if (names_differ(record->name, partner->name))
        record->kind = next_kind(partner->kind, record->number);
    else
        record->number = partner->number * 7 / 3 - round % 5;
}

/* What is left of all records. */
static uint64_t sum_of(const struct record *records, uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count; i++) {
        sum = mix64(sum ^ (uint64_t)records[i].number ^ (uint64_t)records[i].kind << 32);
        for (unsigned cell = 0; cell < CELLS; cell++)
            sum = mix64(sum ^ (uint64_t)records[i].cells[cell]);
        sum = mix64(sum ^ (uint64_t)records[i].name[NAME_BYTES - 2]);
    }
    return sum;
}

static void start(struct record *records, uint64_t count)
{
    static const char NAME[NAME_BYTES] = "PAGEWALK PROGRAM, SOME STRING  ";

    for (uint64_t i = 0; i < count; i++) {
        records[i] = (struct record){.partner = &records[(i + 1) % count], .number = (int32_t)i};
        memcpy(records[i].name, NAME, NAME_BYTES);
    }
}

static void __attribute__((noinline)) rounds(struct record *records, uint64_t count, uint64_t iterations)
{
    for (uint64_t round = 0; round < iterations; round++)
        for (uint64_t i = 0; i < count; i++)
            update(&records[i], (int32_t)(round + i));
}

/* The same in one function, from the description above, to check the calls. */
static void expect(struct record *records, uint64_t count, uint64_t iterations)
{
    for (uint64_t round = 0; round < iterations; round++)
        for (uint64_t i = 0; i < count; i++) {
            struct record *record = &records[i], *partner = record->partner, *of_partner = partner->partner;
            int32_t step = (int32_t)(round + i), at = step & (CELLS - 4);
            bool same = true;

            *partner = *record;
            partner->partner = of_partner;
            partner->number = 5 + step % 200;
            partner->kind = record->kind == FIRST ? (partner->number > 100 ? SECOND : THIRD)
                                                  : (record->kind == SECOND ? FIRST : SECOND);
            partner->name[NAME_BYTES - 2] = (char)('A' + step % 26);
            partner->cells[at] = partner->cells[at + 1] = partner->number;
            partner->cells[at + 2] = at;
            partner->number += partner->cells[at] / (at + 1);
            partner->number += partner->cells[at + 1] / (at + 2);
            partner->number += at / (at + 3);
            for (unsigned c = 0; c < NAME_BYTES; c++)
                same = same && record->name[c] == partner->name[c];
            if (same)
                record->number = partner->number * 7 / 3 - step % 5;
            else
                record->kind = partner->kind == FIRST ? (record->number > 100 ? SECOND : THIRD)
                                                      : (partner->kind == SECOND ? FIRST : SECOND);
        }
}

static enum outcome run(const struct options *options)
{
    enum { CHECKED = 64 };
    uint64_t count = option_size(options, DEFAULT_RECORDS, 2, 1 << 20);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    struct record *records = memory_take(count * sizeof(*records), ALIGN_PAGE);
    struct record *others = memory_take(count * sizeof(*others), ALIGN_PAGE);
    uint64_t elapsed, sum;
    bool ok;

    start(records, count);
    start(others, count);
    rounds(records, count, CHECKED);
    expect(others, count, CHECKED);
    ok = sum_of(records, count) == sum_of(others, count);
    elapsed = region_begin();
    rounds(records, count, iterations);
    elapsed = region_end(elapsed);

    sum = sum_of(records, count);
    print("records: %s sum=%lx operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", sum, count * iterations, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_records = {
    .name = "records",
    .synopsis = "records, strings and calls; size = records, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS,
    .run = run,
};
