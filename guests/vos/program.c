#include "program.h"

#include "../common/bytes.h"
#include "image.h"
#include "memory.h"
#include "panic.h"

/* ELF-64 Object File Format, version 1.5. */
struct elf_header {
    uint8_t identification[16];
    uint16_t type;
    uint16_t machine;
    uint32_t version;
    uint64_t entry;
    uint64_t program_headers;
    uint64_t section_headers;
    uint32_t flags;
    uint16_t header_bytes;
    uint16_t program_header_bytes;
    uint16_t program_header_count;
    uint16_t section_header_bytes;
    uint16_t section_header_count;
    uint16_t section_names;
};

struct elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t virtual;
    uint64_t physical;
    uint64_t file_bytes;
    uint64_t memory_bytes;
    uint64_t alignment;
};

enum { ELF_EXECUTABLE = 2, ELF_RISCV = 243, ELF_LOAD = 1 };
enum { ELF_X = 1, ELF_W = 2, ELF_R = 4 };

static unsigned permissions(uint32_t flags)
{
    return ((flags & ELF_R) != 0 ? PTE_R : 0) | ((flags & ELF_W) != 0 ? PTE_W : 0) |
           ((flags & ELF_X) != 0 ? PTE_X : 0);
}

static struct area segment_area(const struct elf_segment *segment)
{
    uint64_t begin = round_down(segment->virtual, PAGE_BYTES);
    uint64_t lead = segment->virtual - begin;

    return (struct area){
        .begin = begin,
        .end = round_up(segment->virtual + segment->memory_bytes, PAGE_BYTES),
        .permissions = permissions(segment->flags),
        .page_size = PAGE_4K,
        .file = user_program + segment->offset - lead,
        .file_bytes = segment->file_bytes == 0 ? 0 : segment->file_bytes + lead,
    };
}

uint64_t program_load(struct space *space)
{
    const struct elf_header *header = (const struct elf_header *)user_program;
    const struct elf_segment *segments;

    if (memcmp(header->identification, "\177ELF\2\1\1", 7) != 0 ||
        header->type != ELF_EXECUTABLE || header->machine != ELF_RISCV)
        panic("program: not a static RV64 executable");
    segments = (const struct elf_segment *)(user_program + header->program_headers);
    for (unsigned i = 0; i < header->program_header_count; i++)
        if (segments[i].type == ELF_LOAD && !space_add_area(space, segment_area(&segments[i])))
            panic("program: too many segments");
    return header->entry;
}
