/* The keys of this kernel's own on the command line. */
#include "../common/bytes.h"
#include "../common/number.h"
#include "../vos/panic.h"
#include "account.h"
#include "paging.h"
#include "wrapped.h"

static bool take_accounting(const char *value)
{
    if (!string_equal(value, "on") && !string_equal(value, "off"))
        return false;
    account_start(string_equal(value, "on") ? ACCOUNTING_ON : ACCOUNTING_OFF);
    return true;
}

static bool take_pagein(const char *value)
{
    uint64_t microseconds;

    if (!number_parse(value, &microseconds) || microseconds > PAGING_MOST_MICROSECONDS)
        return false;
    paging_start(microseconds);
    return true;
}

static const struct {
    const char *prefix;
    bool (*take)(const char *value);
} keys[] = {
    {"accounting=", take_accounting},
    {"pagein=", take_pagein},
};

/* Whether the word is one of the keys. */
static bool take(const char *word)
{
    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = string_after_prefix(word, keys[i].prefix);

        if (value == NULL)
            continue;
        if (!keys[i].take(value))
            panic("command line: %s: no such value", word);
        return true;
    }
    return false;
}

/* vos passes words that it does not know on to the program. */
void __wrap_options_parse(struct options *options, char *line)
{
    unsigned kept = 0;

    __real_options_parse(options, line);
    for (unsigned i = 0; i < options->argument_count; i++)
        if (!take(options->arguments[i]))
            options->arguments[kept++] = options->arguments[i];
    for (unsigned i = kept; i < options->argument_count; i++)
        options->arguments[i] = NULL;
    options->argument_count = kept;
}
