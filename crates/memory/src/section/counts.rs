//! What is counted of a section.

/// What it took to make a page of a section valid in one VM's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The page was valid already, for another VM: nothing but the table entry was missing.
    GlobalValid,
    /// A page of zeroes was taken.
    DemandZero,
    /// No VM mapped the page, but it was still in memory: on the free or the modified list.
    Listed,
    /// The page was read from the backing file.
    Disk,
}

/// Faults by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FaultCounts {
    /// [`FaultKind::GlobalValid`].
    pub global_valid: u64,
    /// [`FaultKind::DemandZero`].
    pub demand_zero: u64,
    /// [`FaultKind::Listed`].
    pub listed: u64,
    /// [`FaultKind::Disk`].
    pub disk: u64,
}

impl FaultCounts {
    /// Counts one fault.
    pub const fn count(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::GlobalValid => self.global_valid += 1,
            FaultKind::DemandZero => self.demand_zero += 1,
            FaultKind::Listed => self.listed += 1,
            FaultKind::Disk => self.disk += 1,
        }
    }

    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.global_valid + self.demand_zero + self.listed + self.disk
    }
}

/// Pages moved between memory and backing files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileCounts {
    /// Pages read.
    pub reads: u64,
    /// Pages written.
    pub writes: u64,
}

impl FileCounts {
    /// What was counted since `earlier`, the same counts at another time.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self { reads: self.reads.saturating_sub(earlier.reads), writes: self.writes.saturating_sub(earlier.writes) }
    }
}
