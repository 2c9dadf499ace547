//! Counters by their numbers, and the events that they can count.

use serde::{Deserialize, Serialize};

/// Numbers of counters, the gap included.
pub const COUNTERS: usize = 27;

/// The counters of hardware events, by the number of their CSR less that of `cycle`.
pub const HARDWARE_COUNTERS: u32 = 11;

/// What would be `time`, and is no counter.
pub(super) const TIME: u32 = 1;

/// Whether there is a counter of that number.
#[must_use]
pub const fn exists(counter: u32) -> bool {
    (counter as usize) < COUNTERS && counter != TIME
}

/// Whether that counter counts firmware events.
#[must_use]
pub const fn is_firmware(counter: u32) -> bool {
    counter >= HARDWARE_COUNTERS && (counter as usize) < COUNTERS
}

/// What a counter can count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PmuEvent {
    /// General event CPU_CYCLES: cycles in which the hart did not wait.
    Cycles,
    /// General event INSTRUCTIONS: instructions retired.
    Instructions,
    /// Cache event DTLB, READ, MISS: loads and stores, which are not told apart, that no L1 data TLB entry answers.
    DataTlbMisses,
    /// Cache event ITLB, READ, MISS: fetches that no L1 instruction TLB entry answers.
    InstructionTlbMisses,
    /// Raw event 1: L1 misses that the L2 TLB answers.
    SecondLevelHits,
    /// Raw event 2: L1 misses that the L2 TLB does not answer.
    SecondLevelMisses,
    /// Raw event 3: walks.
    Walks,
    /// Raw event 4: entries of the guest's tables read by walks.
    GuestReferences,
    /// Raw event 5: entries of the second stage's tables read by walks.
    HostReferences,
    /// A firmware event.
    Firmware(FirmwareEvent),
}

/// A firmware event; the discriminant is its code. Events of traps that the guest handles itself, and of a hypervisor in the guest, are absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum FirmwareEvent {
    /// The timer was set.
    SetTimer = 5,
    /// An interrupt was sent to other harts.
    IpiSent = 6,
    /// One was received.
    IpiReceived = 7,
    /// A `fence.i` was asked of other harts.
    FenceISent = 8,
    /// One was received.
    FenceIReceived = 9,
    /// An `sfence.vma` was asked of other harts.
    SfenceSent = 10,
    /// One was received.
    SfenceReceived = 11,
    /// An `sfence.vma` of an ASID was asked of other harts.
    SfenceAsidSent = 12,
    /// One was received.
    SfenceAsidReceived = 13,
}

impl FirmwareEvent {
    pub(super) const ALL: [Self; 9] = [
        Self::SetTimer,
        Self::IpiSent,
        Self::IpiReceived,
        Self::FenceISent,
        Self::FenceIReceived,
        Self::SfenceSent,
        Self::SfenceReceived,
        Self::SfenceAsidSent,
        Self::SfenceAsidReceived,
    ];

    /// Where its count is kept.
    pub(super) const fn index(self) -> usize {
        self as usize - Self::SetTimer as usize
    }
}

impl PmuEvent {
    /// The event of an `event_idx` with its `event_data`; `None` for one that no counter can count.
    #[must_use]
    pub fn of(index: u64, data: u64) -> Option<Self> {
        const RAW: [PmuEvent; 5] = [
            PmuEvent::SecondLevelHits,
            PmuEvent::SecondLevelMisses,
            PmuEvent::Walks,
            PmuEvent::GuestReferences,
            PmuEvent::HostReferences,
        ];
        const DTLB: u64 = 3;
        const ITLB: u64 = 4;
        const READ_MISS: u64 = 1;
        let (kind, code) = (index >> 16, index & 0xffff);
        match (kind, code) {
            (0, 1) if data == 0 => Some(Self::Cycles),
            (0, 2) if data == 0 => Some(Self::Instructions),
            (1, _) if data == 0 && code == DTLB << 3 | READ_MISS => Some(Self::DataTlbMisses),
            (1, _) if data == 0 && code == ITLB << 3 | READ_MISS => Some(Self::InstructionTlbMisses),
            (2 | 3, 0) => RAW.get(usize::try_from(data.checked_sub(1)?).ok()?).copied(),
            (0xf, _) if data == 0 => {
                FirmwareEvent::ALL.into_iter().find(|&event| event as u64 == code).map(Self::Firmware)
            }
            _ => None,
        }
    }
}
