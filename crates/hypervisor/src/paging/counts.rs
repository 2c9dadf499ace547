//! What paging has done.

/// Base pages, by what happened to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct PagingCounts {
    /// Written to the swap file, and taken away.
    pub out: u64,
    /// Taken away unwritten: what the swap file has of them is still right.
    pub clean: u64,
    /// Taken away unwritten: they were all zeroes.
    pub zero: u64,
    /// Read back from the swap file.
    pub in_: u64,
    /// Given up by the guest's balloon, with a frame to return.
    pub ballooned: u64,
}

impl PagingCounts {
    /// Pages that the hypervisor took away for want of frames.
    #[must_use]
    pub const fn taken(&self) -> u64 {
        self.out + self.clean + self.zero
    }

    /// Each count with its name in reports, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { out, clean, zero, in_, ballooned } = *self;
        [("out", out), ("clean", clean), ("zero", zero), ("in", in_), ("ballooned", ballooned)].into_iter()
    }

    /// What was counted since `earlier`, a copy of the same counts.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            out: self.out - earlier.out,
            clean: self.clean - earlier.clean,
            zero: self.zero - earlier.zero,
            in_: self.in_ - earlier.in_,
            ballooned: self.ballooned - earlier.ballooned,
        }
    }

    /// Adds other counts.
    pub const fn add(&mut self, other: &Self) {
        self.out += other.out;
        self.clean += other.clean;
        self.zero += other.zero;
        self.in_ += other.in_;
        self.ballooned += other.ballooned;
    }
}
