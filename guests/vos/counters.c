#include "counters.h"

uint64_t counters[COUNTERS];
