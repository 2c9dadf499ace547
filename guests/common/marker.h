/* Markers of guests that are built without a C library: those of pagewalk.h, and the exit marker as a function to call from assembly. */
#ifndef COMMON_MARKER_H
#define COMMON_MARKER_H

#include "../include/pagewalk.h"

/* Executes marker PAGEWALK_MARKER_EXIT + (status & 255), for a status known only at run time. */
void marker_exit(unsigned status);

#endif
