#include "options.h"

#include "../common/bytes.h"
#include "../common/number.h"
#include "panic.h"
#include "timer.h"

#include <stddef.h>

struct choice {
    const char *name;
    unsigned value;
};

enum { MOST_CHOICES = 10, MOST_TICKS = 1000000 };

/* A key that vos knows, and the four bytes of struct options that it sets. */
struct key {
    const char *name;
    size_t offset;
    /* What it may be; ends with a NULL name. None at all for a number. */
    struct choice choices[MOST_CHOICES + 1];
};

#define KEY(name, member) name, offsetof(struct options, member)

_Static_assert(sizeof(enum paging_mode) == sizeof(unsigned), "enums are as large as numbers");

static const struct key keys[] = {
    {KEY("paging", paging), {{"sv39", PAGING_SV39}, {"sv48", PAGING_SV48}, {"sv57", PAGING_SV57}}},
    {KEY("page", page), {{"4K", PAGE_4K}, {"2M", PAGE_2M}, {"1G", PAGE_1G}}},
    {KEY("linear", linear), {{"2M", PAGE_2M}, {"1G", PAGE_1G}}},
    {KEY("ad", ad), {{"preset", AD_PRESET}, {"fault", AD_ON_FAULT}}},
    {KEY("clear", clear), {{"reused", CLEAR_REUSED}, {"always", CLEAR_ALWAYS}}},
    {KEY("validate", validation), {{"fence", VALIDATE_FENCE}, {"retry", VALIDATE_RETRY}}},
    {KEY("region", region), {{"on", REGION_ON}, {"off", REGION_OFF}}},
    {KEY("pptlb", pptlb),
     {{"handshake", PPTLB_HANDSHAKE}, {"plain", PPTLB_PLAIN}, {"off", PPTLB_OFF}}},
    {KEY("replace", replacement), {{"clock", REPLACE_CLOCK}, {"fifo", REPLACE_FIFO}}},
    {KEY("misbehave", misbehaviour),
     {{"panic", MISBEHAVE_PANIC},
      {"jump", MISBEHAVE_JUMP},
      {"spin", MISBEHAVE_SPIN},
      {"sleep", MISBEHAVE_SLEEP},
      {"load", MISBEHAVE_LOAD},
      {"satp", MISBEHAVE_SATP},
      {"plic", MISBEHAVE_PLIC},
      {"virtio", MISBEHAVE_VIRTIO},
      {"sbi", MISBEHAVE_SBI},
      {"segment", MISBEHAVE_SEGMENT}}},
    {KEY("handshake", handshake),
     {{"none", HANDSHAKE_NONE},
      {"area", HANDSHAKE_AREA},
      {"codes", HANDSHAKE_CODES},
      {"interrupt", HANDSHAKE_INTERRUPT}}},
    {KEY("purge", purge), {{"sbi", PURGE_BY_SBI}, {"partners", PURGE_BY_PARTNERS}}},
    {KEY("tables", tables), {{"shared", SECTION_TABLES_SHARED}, {"private", SECTION_TABLES_PRIVATE}}},
    {KEY("spins", spins), {}},
    {KEY("harts", harts), {}},
    {KEY("procs", processes), {}},
    {KEY("ticks", ticks), {}},
};

static unsigned choose(const struct key *key, const char *value)
{
    for (const struct choice *choice = key->choices; choice->name != NULL; choice++)
        if (string_equal(value, choice->name))
            return choice->value;
    panic("command line: %s=%s: no such choice", key->name, value);
}

static unsigned number(const struct key *key, const char *value)
{
    uint64_t n;

    if (!number_parse(value, &n) || n > UINT32_MAX)
        panic("command line: %s=%s: not a number", key->name, value);
    return (unsigned)n;
}

static void pass_on(struct options *options, const char *word)
{
    /* The last place is for the NULL that ends argv. */
    if (options->argument_count == OPTIONS_ARGUMENTS - 1)
        panic("command line: more than %d words for the program", OPTIONS_ARGUMENTS - 3);
    options->arguments[options->argument_count++] = word;
}

/* What follows "name=" in `word`, NULL when it begins otherwise. */
static const char *value_of(const char *word, const char *name)
{
    const char *rest = string_after_prefix(word, name);

    return rest != NULL && *rest == '=' ? rest + 1 : NULL;
}

static void parse_word(struct options *options, const char *word)
{
    const char *value = value_of(word, "workload");

    if (value != NULL) {
        options->arguments[1] = value;
        return;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct key *key = &keys[i];
        unsigned parsed;

        value = value_of(word, key->name);
        if (value == NULL)
            continue;
        parsed = key->choices[0].name != NULL ? choose(key, value) : number(key, value);
        memcpy((char *)options + key->offset, &parsed, sizeof(parsed));
        return;
    }
    pass_on(options, word);
}

void options_parse(struct options *options, char *line)
{
    *options = (struct options){
        .paging = PAGING_SV39,
        .page = PAGE_4K,
        .linear = PAGE_1G,
        .ad = AD_PRESET,
        .clear = CLEAR_REUSED,
        .validation = VALIDATE_FENCE,
        .pptlb = PPTLB_HANDSHAKE,
        .replacement = REPLACE_CLOCK,
        .ticks = DEFAULT_TICKS_PER_SECOND,
        .processes = 1,
        .arguments = {"pagewalk-workloads", "hello"},
        .argument_count = 2,
    };
    while (*line != '\0') {
        char *word = line;

        while (*line != '\0' && *line != ' ')
            line++;
        if (*line == ' ')
            *line++ = '\0';
        if (*word != '\0')
            parse_word(options, word);
    }
    if (options->processes == 0)
        panic("command line: procs=0: must be at least 1");
    if (options->ticks > MOST_TICKS)
        panic("command line: ticks=%u: must be at most %d", options->ticks, MOST_TICKS);
}
