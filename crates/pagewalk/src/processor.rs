//! Whether this processor has what this program was built for.

/// A feature that the build takes for granted, and that this processor or its system lacks; `None` if the program can run.
///
/// `is_x86_feature_detected!` answers for the build: where a feature is taken for granted, it says yes without a look. So this asks the
/// processor itself (Intel SDM, volume 2A, CPUID). It is called before anything else, and must not itself be compiled into what may be
/// missing: no arrays, no loops.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[must_use]
pub fn missing() -> Option<&'static str> {
    use std::arch::x86_64::__cpuid;
    let has = |register: u32, bit: u32| register >> bit & 1 != 0;
    let basic = __cpuid(1).ecx;
    let structured = if __cpuid(0).eax >= 7 { __cpuid(7).ebx } else { 0 };
    let extended = if __cpuid(0x8000_0000).eax > 0x8000_0000 { __cpuid(0x8000_0001).ecx } else { 0 };
    // Bit 27 is OSXSAVE: the system saves the registers of AVX too.
    let avx = has(basic, 27) && has(basic, 28);
    if cfg!(target_feature = "avx2") && !(avx && has(structured, 5)) {
        Some("AVX2")
    } else if cfg!(target_feature = "fma") && !(avx && has(basic, 12)) {
        Some("FMA")
    } else if cfg!(target_feature = "bmi1") && !has(structured, 3) {
        Some("BMI1")
    } else if cfg!(target_feature = "bmi2") && !has(structured, 8) {
        Some("BMI2")
    } else if cfg!(target_feature = "movbe") && !has(basic, 22) {
        Some("MOVBE")
    } else if cfg!(target_feature = "lzcnt") && !has(extended, 5) {
        Some("LZCNT")
    } else {
        None
    }
}

/// Other processors: the build asks for nothing beyond what all of them have.
#[cfg(not(target_arch = "x86_64"))]
#[must_use]
pub fn missing() -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_processor_that_runs_this_test_has_all_of_it() {
        assert_eq!(super::missing(), None);
    }
}
