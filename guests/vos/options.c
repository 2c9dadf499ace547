#include "options.h"

#include "../common/bytes.h"
#include "../common/number.h"
#include "panic.h"

struct choice {
    const char *name;
    int value;
};

#define CHOICES(...) (const struct choice[]){__VA_ARGS__, {NULL, 0}}

static int choose(const char *key, const char *value, const struct choice *choices)
{
    for (; choices->name != NULL; choices++)
        if (string_equal(value, choices->name))
            return choices->value;
    panic("command line: %s=%s: no such choice", key, value);
}

static uint64_t number(const char *key, const char *value)
{
    uint64_t n;

    if (!number_parse(value, &n))
        panic("command line: %s=%s: not a number", key, value);
    return n;
}

static void pass_on(struct options *options, const char *word)
{
    /* The last place is for the NULL that ends argv. */
    if (options->argument_count == OPTIONS_ARGUMENTS - 1)
        panic("command line: more than %d words for the program", OPTIONS_ARGUMENTS - 3);
    options->arguments[options->argument_count++] = word;
}

static void parse_word(struct options *options, const char *word)
{
    const char *value;

    if ((value = string_after_prefix(word, "workload=")) != NULL)
        options->arguments[1] = value;
    else if ((value = string_after_prefix(word, "paging=")) != NULL)
        options->paging = (enum paging_mode)choose(
            "paging", value,
            CHOICES({"sv39", PAGING_SV39}, {"sv48", PAGING_SV48}, {"sv57", PAGING_SV57}));
    else if ((value = string_after_prefix(word, "page=")) != NULL)
        options->page = (enum page_size)choose(
            "page", value, CHOICES({"4K", PAGE_4K}, {"2M", PAGE_2M}, {"1G", PAGE_1G}));
    else if ((value = string_after_prefix(word, "linear=")) != NULL)
        options->linear = (enum page_size)choose("linear", value,
                                                 CHOICES({"2M", PAGE_2M}, {"1G", PAGE_1G}));
    else if ((value = string_after_prefix(word, "ad=")) != NULL)
        options->ad = (enum ad_policy)choose(
            "ad", value, CHOICES({"preset", AD_PRESET}, {"fault", AD_ON_FAULT}));
    else if ((value = string_after_prefix(word, "clear=")) != NULL)
        options->clear_always =
            choose("clear", value, CHOICES({"reused", false}, {"always", true}));
    else if ((value = string_after_prefix(word, "misbehave=")) != NULL)
        options->misbehaviour = (enum misbehaviour)choose(
            "misbehave", value,
            CHOICES({"panic", MISBEHAVE_PANIC}, {"jump", MISBEHAVE_JUMP},
                    {"spin", MISBEHAVE_SPIN}, {"sleep", MISBEHAVE_SLEEP},
                    {"load", MISBEHAVE_LOAD}, {"satp", MISBEHAVE_SATP},
                    {"plic", MISBEHAVE_PLIC}, {"virtio", MISBEHAVE_VIRTIO},
                    {"sbi", MISBEHAVE_SBI}));
    else if ((value = string_after_prefix(word, "harts=")) != NULL)
        options->harts = number("harts", value);
    else if ((value = string_after_prefix(word, "procs=")) != NULL)
        options->processes = number("procs", value);
    else
        pass_on(options, word);
}

void options_parse(struct options *options, char *line)
{
    *options = (struct options){
        .paging = PAGING_SV39,
        .page = PAGE_4K,
        .linear = PAGE_1G,
        .ad = AD_PRESET,
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
}
