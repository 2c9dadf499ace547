/* A state machine that recognises numbers in a text, by a `switch` on its state.
 *
 * size:       bytes of the text
 * iterations: passes over it */
#include "../workloads/workload.h"

enum { DEFAULT_BYTES = 16 << 10, DEFAULT_ITERATIONS = 1500 };

enum state { START, SIGN, INTEGER, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, POWER, OTHER, STATES };

static enum state __attribute__((noinline)) next_state(enum state state, uint8_t c)
{
    bool digit = c >= '0' && c <= '9';

    if (c == ' ')
        return START;
    switch (state) {
    case START:
        return digit ? INTEGER : c == '-' || c == '+' ? SIGN : c == '.' ? POINT : OTHER;
    case SIGN:
        return digit ? INTEGER : c == '.' ? POINT : OTHER;
    case INTEGER:
        return digit ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT : OTHER;
    case POINT:
        return digit ? FRACTION : OTHER;
    case FRACTION:
        return digit ? FRACTION : c == 'e' ? EXPONENT : OTHER;
    case EXPONENT:
        return digit ? POWER : c == '-' || c == '+' ? EXPONENT_SIGN : OTHER;
    case EXPONENT_SIGN:
    case POWER:
        return digit ? POWER : OTHER;
    default:
        return OTHER;
    }
}

static void __attribute__((noinline)) pass(const uint8_t *text, uint64_t count, uint64_t *visits)
{
    enum state state = START;

    for (uint64_t i = 0; i < count; i++) {
        state = next_state(state, text[i]);
        visits[state]++;
    }
}

/* Makes words of the text, and says what one pass has to visit. */
static void fill(uint8_t *text, uint64_t count, uint64_t seed, uint64_t *visits)
{
    static const struct {
        const char *word;
        enum state states[8];
    } words[] = {
        {"1984 ", {INTEGER, INTEGER, INTEGER, INTEGER, START}},
        {"-7.25 ", {SIGN, INTEGER, FRACTION, FRACTION, FRACTION, START}},
        {".5e+10 ", {POINT, FRACTION, EXPONENT, EXPONENT_SIGN, POWER, POWER, START}},
        {"page ", {OTHER, OTHER, OTHER, OTHER, START}},
        {"6e9 ", {INTEGER, EXPONENT, POWER, START}},
        {"3.x ", {INTEGER, FRACTION, OTHER, START}},
    };
    struct random random = {seed};
    uint64_t at = 0;

    while (at < count) {
        uint64_t number = random_next(&random) % (sizeof(words) / sizeof(words[0]));

        for (unsigned i = 0; words[number].word[i] != '\0' && at < count; i++) {
            text[at++] = (uint8_t)words[number].word[i];
            visits[words[number].states[i]]++;
        }
    }
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 1, (uint64_t)1 << 32);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    uint8_t *text = memory_take(bytes, ALIGN_PAGE);
    uint64_t visits[STATES] = {0}, expected[STATES] = {0};
    uint64_t elapsed;
    bool ok = true;

    fill(text, bytes, options->seed, expected);
    elapsed = region_begin();
    for (uint64_t i = 0; i < iterations; i++)
        pass(text, bytes, visits);
    elapsed = region_end(elapsed);

    for (unsigned state = 0; state < STATES; state++)
        ok = ok && visits[state] == expected[state] * iterations;
    print("states: %s operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", bytes * iterations, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_states = {
    .name = "states",
    .synopsis = "a state machine over a text; size = bytes, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
