/* Things that only a hostile or broken kernel does, for tests of the hypervisor under it. */
#ifndef VOS_MISBEHAVE_H
#define VOS_MISBEHAVE_H

enum misbehaviour {
    MISBEHAVE_NOT,
    /* Panics. */
    MISBEHAVE_PANIC,
    /* Jumps to an unmapped address, with the trap vector unmapped too. */
    MISBEHAVE_JUMP,
    /* Loops for ever with interrupts off. */
    MISBEHAVE_SPIN,
    /* Waits for an interrupt that never comes. */
    MISBEHAVE_SLEEP,
    /* Loads from guest physical memory that does not exist. */
    MISBEHAVE_LOAD,
    /* Puts the root page table where no memory is, and goes on. */
    MISBEHAVE_SATP,
    /* Writes ones, then zeroes, to every register of the PLIC, and goes on to the workload. */
    MISBEHAVE_PLIC,
    /* Sets up every virtio queue with addresses outside memory and rings that point at themselves,
     * notifies, and goes on to the workload. */
    MISBEHAVE_VIRTIO,
    /* Calls every SBI extension with arguments of all ones, and goes on to the workload. */
    MISBEHAVE_SBI,
    /* Asks for segments that it may not have, prints the answers, and goes on to the workload. */
    MISBEHAVE_SEGMENT,
};

/* Called when the kernel is up, before the first process. */
void misbehave(enum misbehaviour misbehaviour);

#endif
