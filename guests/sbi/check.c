#include "check.h"

#include "../common/format.h"

static const char *group = "";
static unsigned passed, failed, skipped;

static void print_bytes(void *context, const char *bytes, size_t length)
{
    (void)context;
    while (length > 0) {
        struct sbi_result result = sbi_call3(SBI_DBCN, 0, length, address_of(bytes), 0);

        if (result.error != SBI_SUCCESS || result.value == 0)
            return;
        bytes += result.value;
        length -= result.value;
    }
}

static void print(const char *template, ...)
{
    va_list arguments;

    va_start(arguments, template);
    format(print_bytes, 0, template, arguments);
    va_end(arguments);
}

void check_group(const char *name)
{
    group = name;
}

void check(bool holds, const char *what)
{
    if (holds)
        passed++;
    else
        failed++;
    print("%s: %s: %s\n", holds ? "PASS" : "FAIL", group, what);
}

void check_error(struct sbi_result result, int64_t error, const char *what)
{
    check(result.error == error, what);
    if (result.error != error)
        print("      expected error %ld, got %ld\n", error, result.error);
}

void check_value(struct sbi_result result, uint64_t value, const char *what)
{
    bool holds = result.error == SBI_SUCCESS && result.value == value;

    check(holds, what);
    if (!holds)
        print("      expected value %lx, got error %ld, value %lx\n", value, result.error, result.value);
}

void check_skip(const char *why)
{
    skipped++;
    print("SKIP: %s: %s\n", group, why);
}

bool check_extension(uint64_t extension, const char *name)
{
    check_group(name);
    if (!sbi_has(extension)) {
        check_skip("the extension is not there");
        return false;
    }
    check_error(sbi_call0(extension, 0xbad), SBI_NOT_SUPPORTED, "an unknown function is not supported");
    return true;
}

unsigned check_summary(void)
{
    print("sbi: %u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed;
}
