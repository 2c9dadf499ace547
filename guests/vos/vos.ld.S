/* Text and read-only data lie in the first 2 MiB page of the image, data in the second, so that the
 * kernel maps each with one large page with its permissions. Entered at a physical address. */
#include "layout.h"

OUTPUT_ARCH(riscv)
ENTRY(entry_physical)

PHDRS
{
    text PT_LOAD FLAGS(5);
    data PT_LOAD FLAGS(6);
    stack PT_GNU_STACK FLAGS(6);
}

SECTIONS
{
    entry_physical = IMAGE_BASE;
    . = LINEAR_BASE + IMAGE_BASE;
    image_begin = .;
    .text : AT(ADDR(.text) - LINEAR_BASE) {
        KEEP(*(.text.boot))
        *(.text .text.*)
    } :text
    .rodata : AT(ADDR(.rodata) - LINEAR_BASE) {
        *(.rodata .rodata.* .srodata .srodata.*)
    } :text
    .enter_once : AT(ADDR(.enter_once) - LINEAR_BASE) {
        KEEP(*(.enter_once))
    } :text
    . = ALIGN(MEGAPAGE_BYTES);
    image_data = .;
    .data : AT(ADDR(.data) - LINEAR_BASE) {
        *(.data .data.* .sdata .sdata.*)
        . = ALIGN(8);
    } :data
    .bss : AT(ADDR(.bss) - LINEAR_BASE) {
        bss_begin = .;
        *(.sbss .sbss.* .bss .bss.*)
        . = ALIGN(8);
        bss_end = .;
        *(.uncleared)
    } :data
    image_end = .;
    /DISCARD/ : { *(.comment) *(.riscv.attributes) *(.eh_frame) *(.note.*) }
}
