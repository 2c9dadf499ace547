/* Where things are, in virtual and guest physical memory. Also read by assembler and linker script.
 *
 * The linear map lies at the same virtual addresses under Sv39, Sv48 and Sv57: the upper half of
 * Sv39 is the top of the upper halves of the others. So the kernel can change modes while it runs. */
#ifndef VOS_LAYOUT_H
#define VOS_LAYOUT_H

#define PAGE_BYTES 0x1000
#define MEGAPAGE_BYTES 0x200000
#define GIGAPAGE_BYTES 0x40000000

/* Virtual address of guest physical address 0. */
#define LINEAR_BASE 0xffffffc000000000
/* So many bytes of guest physical memory can be reached. */
#define LINEAR_BYTES 0x3fc0000000

/* Guest physical address at which the image is loaded and entered: RAM base + 2 MiB. */
#define IMAGE_BASE 0x80200000

/* User addresses: below 2^38, so that they fit every mode. */
#define USER_HEAP_BASE 0x1000000000
#define USER_STACK_TOP 0x2000000000
#define USER_STACK_BYTES 0x800000
/* Sections, one behind the other. */
#define USER_SECTION_BASE 0x2000000000
#define USER_SECTION_END 0x3000000000
/* Pageable segments: a space's own, and the common one, which has the same addresses in all spaces. */
#define USER_SEGMENT_BASE 0x3000000000
#define USER_COMMON_BASE 0x3800000000
#define USER_SEGMENT_MOST_BYTES 0x100000000
#define USER_END 0x4000000000

#define KERNEL_STACK_BYTES 0x4000

#endif
