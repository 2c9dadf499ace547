/* The same accesses to pages on any processor: at random, along a chain, and in a cycle. Every access is volatile, so that compilers keep their order. */

#include <stdint.h>
#include <stdlib.h>

#include "pagewalk.h"

#define PAGES 512
#define WORDS 512

static volatile uint64_t table[PAGES][WORDS] __attribute__((aligned(1 << 21)));

int main(int argc, char **argv) {
    long steps = argc > 1 ? atol(argv[1]) : 0;
    /* Every page is there before the region begins. Word 0 has the next page of the chain. */
    for (uint64_t page = 0; page < PAGES; page++)
        table[page][0] = (page * 165 + 13) % PAGES;
    uint64_t state = 1, at = 0;
    PAGEWALK_ROI_BEGIN();
    for (long step = 0; step < steps; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        table[state >> 55][(state >> 46 & (WORDS - 1)) | 1] ^= state;
        at = table[at][0];
        table[step % 24][1]++;
    }
    PAGEWALK_ROI_END();
    return at >= PAGES;
}
