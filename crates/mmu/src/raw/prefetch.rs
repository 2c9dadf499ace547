//! Asks the processor for a line before it is needed.

/// Begins to load the line at `address`, of which nothing is demanded: a line that cannot be had is not fetched. A miss has some
/// hundred instructions left to do when it learns where the byte lies, and memory takes as long.
#[inline(always)]
pub(crate) fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch neither faults nor changes anything that a program can see; SSE is part of the architecture.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
