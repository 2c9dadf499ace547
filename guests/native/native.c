/* What the programs need where they run on Linux of any processor, over the C library: the calls of workloads/linux.h, and what machines of Pagewalk have. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../common/marker.h"
#include "../workloads/linux.h"
#include "../workloads/section.h"
#include "../workloads/workload.h"

/* Bytes for which pages of a size were asked. */
static size_t advised;

/* Bytes of huge pages that have been split. */
static size_t split;

/* Bytes of memory in huge pages, by the kernel's account (proc_pid_smaps(5)). */
static size_t huge_pages(void)
{
    char text[256];
    unsigned long kibibytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");

    while (file != NULL && fgets(text, sizeof(text), file) != NULL)
        if (sscanf(text, "AnonHugePages: %lu kB", &kibibytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kibibytes << 10;
}

static void tell_of_pages(void)
{
    printf("native: advised=%zu huge=%zu split=%zu\n", advised, huge_pages(), split);
    fflush(stdout);
}

/* Takes huge pages, and has their frames mapped by entries of 4K: where rights change within a huge page, the kernel splits its entry and leaves
 * the frames where they are. */
static bool split_huge_pages(char *memory, size_t bytes)
{
    const size_t page_4k = 4096;
    const size_t page_2m = 2 << 20;

    for (size_t at = 0; at < bytes; at += page_4k)
        ((volatile char *)memory)[at] = 0;
    /* Those that were split before are huge no longer. */
    split += huge_pages();
    for (size_t at = 0; at + page_2m <= bytes; at += page_2m)
        if (mprotect(memory + at, page_4k, PROT_READ) != 0 ||
            mprotect(memory + at, page_4k, PROT_READ | PROT_WRITE) != 0)
            return false;
    /* Else the kernel makes huge pages of them again while the program runs (khugepaged). */
    return madvise(memory, bytes, LINUX_ADVICE_NO_HUGE_PAGES) == 0;
}

void linux_exit(int status)
{
    exit(status);
}

void linux_write(const void *bytes, size_t length)
{
    fwrite(bytes, 1, length, stdout);
    fflush(stdout);
}

static void *result(void *memory)
{
    return memory == MAP_FAILED ? NULL : memory;
}

void *linux_map(size_t bytes, enum linux_map_flags flags)
{
    return result(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (int)flags, -1, 0));
}

bool linux_read_file(const char *path, void *to, size_t bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool whole;

    if (file < 0)
        return false;
    whole = read(file, to, bytes) == (ssize_t)bytes;
    close(file);
    return whole;
}

int linux_open(const char *path)
{
    return open(path, O_RDWR | O_SYNC | O_CLOEXEC);
}

void *linux_map_file(int file, uint64_t offset, size_t bytes)
{
    return result(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset));
}

bool linux_advise(void *memory, size_t bytes, enum linux_advice advice)
{
    advised += bytes;
    if (madvise(memory, bytes, (int)advice) != 0)
        return false;
    return getenv("PAGEWALK_SPLIT") == NULL || split_huge_pages(memory, bytes);
}

/* Time of the processor that this thread has had: what others take of a busy machine is not the program's. */
uint64_t linux_nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Sections belong to machines of Pagewalk. */
void *section_take(const char *name, bool write, uint64_t *bytes)
{
    (void)write;
    (void)bytes;
    fail(OUTCOME_FAILED, "section %s: not there", name);
}

void marker_exit(unsigned status)
{
    exit((int)(status & 255));
}

int program_main(int argc, char **argv);

int main(int argc, char **argv)
{
    int status = program_main(argc, argv);

    tell_of_pages();
    return status;
}
