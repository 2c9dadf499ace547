/* A parser of JSON (RFC 8259) by recursive descent, over a text of records.
 *
 * size:       bytes of the text, at least
 * iterations: how often it is parsed */
#include "../workloads/workload.h"

#include "../common/bytes.h"

enum { DEFAULT_BYTES = 256 << 10, DEFAULT_ITERATIONS = 40 };
enum { LONGEST_RECORD = 256, DEEPEST = 64 };

/* What a text has. */
struct tally {
    uint64_t objects;
    uint64_t arrays;
    uint64_t strings;
    uint64_t characters;
    uint64_t numbers;
    double sum;
    uint64_t words;
};

struct parser {
    const char *at;
    unsigned depth;
    bool failed;
    struct tally tally;
};

static void skip_space(struct parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\n' || *parser->at == '\t' || *parser->at == '\r')
        parser->at++;
}

static bool take(struct parser *parser, char wanted)
{
    skip_space(parser);
    if (*parser->at != wanted)
        return false;
    parser->at++;
    return true;
}

static void parse_string(struct parser *parser)
{
    parser->tally.strings++;
    for (;;) {
        char c = *parser->at;

        if (c == '\0') {
            parser->failed = true;
            return;
        }
        parser->at++;
        if (c == '"')
            return;
        if (c == '\\' && *parser->at != '\0')
            parser->at++;
        parser->tally.characters++;
    }
}

static void parse_number(struct parser *parser)
{
    bool negative = *parser->at == '-';
    double value = 0, unit = 1;

    parser->at += negative;
    while (*parser->at >= '0' && *parser->at <= '9')
        value = value * 10 + (*parser->at++ - '0');
    if (*parser->at == '.')
        for (parser->at++; *parser->at >= '0' && *parser->at <= '9'; parser->at++) {
            unit /= 10;
            value += unit * (*parser->at - '0');
        }
    parser->tally.numbers++;
    parser->tally.sum += negative ? -value : value;
}

static void parse_word(struct parser *parser, const char *word)
{
    for (; *word != '\0'; word++)
        if (*parser->at++ != *word) {
            parser->failed = true;
            return;
        }
    parser->tally.words++;
}

static void parse_value(struct parser *parser);

static void parse_members(struct parser *parser)
{
    parser->tally.objects++;
    if (take(parser, '}'))
        return;
    do {
        if (!take(parser, '"')) {
            parser->failed = true;
            return;
        }
        parse_string(parser);
        if (parser->failed || !take(parser, ':')) {
            parser->failed = true;
            return;
        }
        parse_value(parser);
    } while (!parser->failed && take(parser, ','));
    parser->failed = parser->failed || !take(parser, '}');
}

static void parse_elements(struct parser *parser)
{
    parser->tally.arrays++;
    if (take(parser, ']'))
        return;
    do
        parse_value(parser);
    while (!parser->failed && take(parser, ','));
    parser->failed = parser->failed || !take(parser, ']');
}

static void parse_value(struct parser *parser)
{
    skip_space(parser);
    if (++parser->depth > DEEPEST)
        parser->failed = true;
    switch (parser->failed ? '\0' : *parser->at) {
    case '{':
        parser->at++;
        parse_members(parser);
        break;
    case '[':
        parser->at++;
        parse_elements(parser);
        break;
    case '"':
        parser->at++;
        parse_string(parser);
        break;
    case 't':
        parse_word(parser, "true");
        break;
    case 'f':
        parse_word(parser, "false");
        break;
    case 'n':
        parse_word(parser, "null");
        break;
    case '-':
    case '0' ... '9':
        parse_number(parser);
        break;
    default:
        parser->failed = true;
    }
    parser->depth--;
}

static struct parser __attribute__((noinline)) parse(const char *text)
{
    struct parser parser = {.at = text};

    parse_value(&parser);
    return parser;
}

static char *append(char *to, const char *text)
{
    while (*text != '\0')
        *to++ = *text++;
    return to;
}

static char *append_number(char *to, uint64_t value)
{
    char digits[20];
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

/* One record; `tally` learns what it has. */
static char *append_record(char *to, struct random *random, struct tally *tally)
{
    uint64_t id = random_next(random) % 1000000, level = random_next(random) % 100;
    bool active = random_next(random) % 2 == 0;

    to = append_number(append(to, "{\"id\": "), id);
    to = append(to, ", \"name\": \"a \\\"quoted\\\" name\", \"tags\": [\"tlb\", \"walk\", \"page\"], \"level\": -");
    to = append_number(to, level);
    to = append(append(append(to, ".5, \"active\": "), active ? "true" : "false"), ", \"next\": {\"none\": null}}");
    tally->objects += 2;
    tally->arrays++;
    /* Seven names of members and four values. */
    tally->strings += 11;
    tally->characters += 15 + (2 + 4 + 4 + 5 + 6 + 4 + 4) + (3 + 4 + 4);
    tally->numbers += 2;
    tally->sum += (double)id - ((double)level + 0.5);
    tally->words += 2;
    return to;
}

static bool equal(const struct tally *a, const struct tally *b)
{
    return a->objects == b->objects && a->arrays == b->arrays && a->strings == b->strings &&
           a->characters == b->characters && a->numbers == b->numbers && a->sum == b->sum && a->words == b->words;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 1, (uint64_t)1 << 30);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    char *text = memory_take(bytes + LONGEST_RECORD + 3, ALIGN_PAGE), *end = text;
    struct random random = {options->seed};
    struct tally expected = {.arrays = 1};
    uint64_t elapsed;
    bool ok = true;

    *end++ = '[';
    do {
        if (end > text + 1)
            *end++ = ',';
        end = append_record(end, &random, &expected);
    } while (end < text + bytes);
    *end++ = ']';
    *end = '\0';
    elapsed = region_begin();
    for (uint64_t i = 0; i < iterations; i++) {
        struct parser parser = parse(text);

        ok = ok && !parser.failed && parser.at == end && equal(&parser.tally, &expected);
    }
    elapsed = region_end(elapsed);

    print("json: %s operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", (uint64_t)(end - text) * iterations, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_json = {
    .name = "json",
    .synopsis = "a parser of JSON; size = bytes of the text, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
