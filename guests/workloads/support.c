#include "workload.h"

#include "../common/bytes.h"
#include "../common/format.h"
#include "../common/number.h"
#include "region.h"

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

static enum memory_pages memory_pages;

void memory_set_pages(enum memory_pages pages)
{
    memory_pages = pages;
}

static uint64_t round_up(uint64_t value, uint64_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

/* `bytes` and `alignment` are multiples of the page size wanted. */
static void *map_aligned(size_t bytes, size_t alignment, enum linux_map_flags flags)
{
    /* mmap aligns to 4 KiB; what more is asked for is found inside a larger mapping. */
    size_t slack = alignment > ALIGN_PAGE ? alignment - ALIGN_PAGE : 0;
    void *memory = linux_map(bytes + slack, flags);

    if (memory == NULL)
        fail(OUTCOME_FAILED, "out of memory: %lu bytes wanted", bytes + slack);
    return (void *)round_up((uint64_t)memory, alignment);
}

static void *map_advised(size_t bytes, size_t alignment, enum linux_advice advice)
{
    void *memory = map_aligned(bytes, alignment, LINUX_MAP_PLAIN);

    if (!linux_advise(memory, bytes, advice))
        fail(OUTCOME_FAILED, "page=: the kernel has no transparent huge pages");
    return memory;
}

static size_t at_least(size_t value, size_t least)
{
    return value < least ? least : value;
}

/* From pages of 1G, one mapping after the other, each used up to its end; NULL when the kernel has none set apart, as is usual. */
static void *take_1g(size_t bytes, size_t alignment)
{
    const size_t page_1g = 1 << 30;
    static uint64_t next;
    static uint64_t end;
    uint64_t at = round_up(next, alignment);

    if (bytes > end || at > end - bytes) {
        uint64_t length = round_up(bytes, page_1g);
        void *memory = linux_map(length, LINUX_MAP_HUGE_1G);

        if (memory == NULL)
            return NULL;
        at = (uint64_t)memory;
        end = at + length;
    }
    next = at + bytes;
    return (void *)at;
}

/* Whether this is Linux, and was told at boot to set pages of 1G apart. */
static bool has_1g(void)
{
    static const char *const path = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages";
    static bool looked;
    static char first = '0';

    if (!looked)
        linux_read_file(path, &first, 1);
    looked = true;
    return first != '0';
}

void *memory_take(size_t bytes, size_t alignment)
{
    const size_t page_2m = 2 << 20;

    bytes = round_up(bytes, ALIGN_PAGE);
    switch (memory_pages) {
    case MEMORY_PAGES_ANY: {
        void *memory = region_take(bytes, alignment);

        if (memory == NULL && bytes >= page_2m && has_1g())
            memory = take_1g(bytes, alignment);
        if (memory != NULL)
            return memory;
        break;
    }
    case MEMORY_PAGES_4K:
        return map_advised(bytes, alignment, LINUX_ADVICE_NO_HUGE_PAGES);
    case MEMORY_PAGES_2M:
        return map_advised(round_up(bytes, page_2m), at_least(alignment, page_2m),
                           LINUX_ADVICE_HUGE_PAGES);
    case MEMORY_PAGES_1G: {
        void *memory = take_1g(bytes, alignment);

        if (memory == NULL)
            fail(OUTCOME_FAILED, "out of memory: no pages of 1G for %lu bytes", bytes);
        return memory;
    }
    }
    return map_aligned(bytes, alignment, LINUX_MAP_PLAIN);
}
