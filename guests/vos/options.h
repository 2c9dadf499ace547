/* The command line: words separated by spaces. The keys that vos knows are read here; every other word
 * is passed on to the program. */
#ifndef VOS_OPTIONS_H
#define VOS_OPTIONS_H

#include "clock.h"
#include "frames.h"
#include "misbehave.h"
#include "page_table.h"
#include "pptlb.h"
#include "purge.h"
#include "region.h"
#include "section.h"
#include "space.h"
#include "spin.h"

enum { OPTIONS_ARGUMENTS = 16 };

struct options {
    enum paging_mode paging;
    /* Of the user's heap and stack. */
    enum page_size page;
    /* Largest page of the linear map. */
    enum page_size linear;
    enum ad_policy ad;
    enum clear_policy clear;
    enum validation validation;
    enum pptlb_use pptlb;
    enum replacement replacement;
    /* Ticks of the scheduler in a second, 0 for none. */
    unsigned ticks;
    /* Harts to use, 0 for all. */
    unsigned harts;
    /* Copies of the program, each in an address space of its own. */
    unsigned processes;
    /* Whether processes have primary regions, where the hypervisor keeps memory apart for them. */
    enum region_use region;
    enum misbehaviour misbehaviour;
    enum section_tables tables;
    enum spin_handshake handshake;
    enum purge_by purge;
    /* Rounds after which a spin is excessive, 0 for never. */
    unsigned spins;
    /* argv of the program: its name, the workload, the words passed on. */
    const char *arguments[OPTIONS_ARGUMENTS];
    unsigned argument_count;
};

/* Splits `line`, which is changed and must outlive the options. Panics on a bad value. */
void options_parse(struct options *options, char *line);

#endif
