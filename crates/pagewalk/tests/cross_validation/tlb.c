/*
 * A TCG plugin for QEMU's system mode: misses of data TLBs with LRU replacement, between the markers of a region of
 * interest. It is an independent model to check Pagewalk against: it shares no code with it.
 *
 * Arguments: out=FILE, and tlb=SETSxWAYS for each TLB. Pages have 4 KiB; accesses of the upper half of the address
 * space are the kernel's and are left out. FILE gets a line for each TLB, "SETS WAYS MISSES", after a line with the
 * accesses, "accesses N".
 *
 * QEMU's packages have no header for plugins, so what is used of its interface is declared here
 * (https://www.qemu.org/docs/master/devel/tcg-plugins.html). PLUGIN_VERSION is 1 before QEMU 9, and 2 from there on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, LOADS_AND_STORES = 3 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
#if PLUGIN_VERSION == 1
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction, void *bytes, size_t most);
#endif
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*callback)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, void (*callback)(unsigned, void *),
                                            int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                      void (*callback)(unsigned, uint32_t, uint64_t, void *), int flags, int kinds,
                                      void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*callback)(plugin_id, void *), void *data);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = PLUGIN_VERSION;

enum { MOST_TLBS = 16, PAGE_SHIFT = 12, UPPER_HALF_SHIFT = 63 };
#define MARKER(number) ((uint32_t)(number) << 20 | 2u << 12 | 0x13u) /* slti x0, x0, number */

struct tlb {
    unsigned sets, ways;
    /* By set: pages from the most to the least recently used. */
    uint64_t *pages;
    uint64_t misses;
};

static struct tlb tlbs[MOST_TLBS];
static size_t tlb_count;
static bool measuring;
static uint64_t accesses;
static const char *out;

static const uint64_t NO_PAGE = UINT64_MAX;

static void use_page(struct tlb *tlb, uint64_t page)
{
    uint64_t *set = tlb->pages + (size_t)(page % tlb->sets) * tlb->ways;
    unsigned place = 0;

    while (place < tlb->ways && set[place] != page)
        place++;
    if (place == tlb->ways) {
        tlb->misses += measuring;
        place--;
    }
    memmove(set + 1, set, place * sizeof(*set));
    set[0] = page;
}

static void on_access(unsigned vcpu, uint32_t info, uint64_t address, void *data)
{
    (void)vcpu, (void)info, (void)data;
    if (address >> UPPER_HALF_SHIFT)
        return;
    accesses += measuring;
    for (size_t i = 0; i < tlb_count; i++)
        use_page(&tlbs[i], address >> PAGE_SHIFT);
}

static void on_marker(unsigned vcpu, void *begins)
{
    (void)vcpu;
    measuring = begins != NULL;
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint32_t bits = 0;

        if (qemu_plugin_insn_size(instruction) == sizeof(bits))
#if PLUGIN_VERSION == 1
            memcpy(&bits, qemu_plugin_insn_data(instruction), sizeof(bits));
#else
            qemu_plugin_insn_data(instruction, &bits, sizeof(bits));
#endif
        if (bits == MARKER(1) || bits == MARKER(2))
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_marker, NO_REGISTERS,
                                                   bits == MARKER(1) ? &measuring : NULL);
        qemu_plugin_register_vcpu_mem_cb(instruction, on_access, NO_REGISTERS, LOADS_AND_STORES, NULL);
    }
}

static void on_end(plugin_id id, void *data)
{
    FILE *file = fopen(out, "w");

    (void)id, (void)data;
    if (!file)
        return;
    fprintf(file, "accesses %llu\n", (unsigned long long)accesses);
    for (size_t i = 0; i < tlb_count; i++)
        fprintf(file, "%u %u %llu\n", tlbs[i].sets, tlbs[i].ways, (unsigned long long)tlbs[i].misses);
    fclose(file);
}

EXPORTED int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        struct tlb *tlb = &tlbs[tlb_count];

        if (strncmp(argv[i], "out=", 4) == 0) {
            out = strdup(argv[i] + 4);
        } else if (tlb_count < MOST_TLBS && sscanf(argv[i], "tlb=%ux%u", &tlb->sets, &tlb->ways) == 2 && tlb->sets &&
                   tlb->ways) {
            size_t entries = (size_t)tlb->sets * tlb->ways;

            tlb->pages = malloc(entries * sizeof(*tlb->pages));
            if (!tlb->pages)
                return 1;
            for (size_t entry = 0; entry < entries; entry++)
                tlb->pages[entry] = NO_PAGE;
            tlb_count++;
        } else {
            fprintf(stderr, "tlb: bad argument: %s\n", argv[i]);
            return 1;
        }
    }
    if (!out)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
