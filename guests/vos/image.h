/* Symbols of the linker script, and the program embedded in the image. */
#ifndef VOS_IMAGE_H
#define VOS_IMAGE_H

#include <stdint.h>

extern const char image_begin[];
extern const char image_data[];
extern const char image_end[];

/* workloads/pagewalk-workloads, a static ELF program. */
extern const uint8_t user_program[];

#endif
