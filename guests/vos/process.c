#include "process.h"

#include "../common/bytes.h"
#include "csr.h"
#include "frames.h"
#include "hart_offsets.h"
#include "memory.h"
#include "panic.h"
#include "program.h"

_Static_assert(offsetof(struct process, frame) == 0, "trap.S");
_Static_assert(offsetof(struct frame, pc) == FRAME_PC, "hart_offsets.h");
_Static_assert(offsetof(struct frame, status) == FRAME_STATUS, "hart_offsets.h");
_Static_assert(sizeof(struct process) <= PAGE_BYTES, "a process has a frame of its own");

/* The stack's pages are never larger: a stack of one gigapage would be a waste. */
static enum page_size stack_page(enum page_size page)
{
    return page == PAGE_1G ? PAGE_2M : page;
}

static void add_areas(struct space *space, enum page_size page)
{
    struct area heap = {
        .begin = USER_HEAP_BASE,
        .end = USER_HEAP_BASE,
        .permissions = PTE_R | PTE_W,
        .page_size = page,
    };
    struct area stack = {
        .begin = USER_STACK_TOP - USER_STACK_BYTES,
        .end = USER_STACK_TOP,
        .permissions = PTE_R | PTE_W,
        .page_size = stack_page(page),
    };

    if (!space_add_area(space, heap))
        panic("program: too many segments");
    space->heap = &space->areas[space->area_count - 1];
    if (!space_add_area(space, stack))
        panic("program: too many segments");
}

/* Within one page. */
static void copy_to_user(struct space *space, uint64_t to, const void *from, size_t bytes)
{
    void *pointer = space_user_pointer(space, to, ACCESS_STORE);

    if (pointer == NULL)
        panic("out of memory for a stack page");
    memcpy(pointer, from, bytes);
}

/* As Linux lays it out: the strings on top, below them argc, argv, NULL, and an empty environment and
 * auxiliary vector. The result is the stack pointer. */
static uint64_t push_arguments(struct space *space, const struct options *options)
{
    enum { AFTER_ARGV = 4 };
    uint64_t vector[1 + OPTIONS_ARGUMENTS + AFTER_ARGV] = {options->argument_count};
    uint64_t words = 1 + options->argument_count + 1 + AFTER_ARGV;
    uint64_t string = USER_STACK_TOP;
    uint64_t sp;

    for (unsigned i = 0; i < options->argument_count; i++) {
        size_t bytes = string_length(options->arguments[i]) + 1;

        string -= bytes;
        if (string < USER_STACK_TOP - PAGE_BYTES / 2)
            panic("command line: too long for the program");
        copy_to_user(space, string, options->arguments[i], bytes);
        vector[1 + i] = string;
    }
    sp = round_down(string - words * sizeof(uint64_t), 16);
    copy_to_user(space, sp, vector, words * sizeof(uint64_t));
    return sp;
}

struct process *process_create(const struct options *options)
{
    static unsigned last_id;
    unsigned id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    uint64_t frame = frames_take(ORDER_4K);
    struct process *process = linear(frame);

    if (frame == FRAME_NONE)
        panic("out of memory for process %u", id);
    if (!space_create(&process->space))
        panic("out of memory for process %u", id);
    process->id = id;
    process->options = options;
    process->frame.pc = program_load(&process->space);
    add_areas(&process->space, options->page);
    process->frame.x[REGISTER_SP] = push_arguments(&process->space, options);
    process->frame.status = SSTATUS_SPIE | SSTATUS_FS_INITIAL;
    return process;
}

void process_destroy(struct process *process)
{
    space_destroy(&process->space);
    frames_give(physical_address(process), ORDER_4K);
}
