#include "workload.h"

#include "../common/bytes.h"
#include "../common/format.h"
#include "../common/number.h"

static char line[256];
static size_t line_length;

static void flush_line(void)
{
    linux_write(line, line_length);
    line_length = 0;
}

static void put(void *context, const char *bytes, size_t length)
{
    (void)context;
    for (size_t i = 0; i < length; i++) {
        line[line_length++] = bytes[i];
        if (bytes[i] == '\n' || line_length == sizeof(line))
            flush_line();
    }
}

void print(const char *template, ...)
{
    va_list arguments;

    va_start(arguments, template);
    format(put, NULL, template, arguments);
    va_end(arguments);
}

void print_decimal(double value, unsigned decimals)
{
    uint64_t scale = 1;
    uint64_t fraction;
    uint64_t scaled;
    char digits[16];

    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    if (value < 0) {
        put(NULL, "-", 1);
        value = -value;
    }
    scaled = (uint64_t)(value * (double)scale + 0.5);
    print("%lu", scaled / scale);
    if (decimals == 0)
        return;
    fraction = scaled % scale;
    for (unsigned i = decimals; i > 0; i--) {
        digits[i - 1] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    put(NULL, ".", 1);
    put(NULL, digits, decimals);
}

void fail(enum outcome outcome, const char *template, ...)
{
    va_list arguments;

    va_start(arguments, template);
    format(put, NULL, template, arguments);
    va_end(arguments);
    put(NULL, "\n", 1);
    linux_exit((int)outcome);
}

uint64_t option_size(const struct options *options, uint64_t otherwise, uint64_t least,
                     uint64_t most)
{
    uint64_t size = otherwise;

    if (options->size != NULL && !number_parse(options->size, &size))
        fail(OUTCOME_USAGE, "size=%s: not a number", options->size);
    if (size < least || size > most)
        fail(OUTCOME_USAGE, "size=%lu: must be in %lu to %lu", size, least, most);
    return size;
}

void *memory_take(size_t bytes, size_t alignment)
{
    /* mmap aligns to 4 KiB; what more is asked for is found inside a larger mapping. */
    size_t slack = alignment > ALIGN_PAGE ? alignment - ALIGN_PAGE : 0;
    void *memory = linux_map(bytes + slack);

    if (memory == NULL)
        fail(OUTCOME_FAILED, "out of memory: %lu bytes wanted", bytes + slack);
    return (void *)(((uintptr_t)memory + alignment - 1) & ~(alignment - 1));
}
