/* Functions of vos that the linker has go through another kernel (`--wrap`). vos.elf has the same objects, and none of this. */
#ifndef COMMON_WRAPPED_H
#define COMMON_WRAPPED_H

#define WRAPPED(result, name, ...)                                                                 \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __real_##name(__VA_ARGS__)

#endif
