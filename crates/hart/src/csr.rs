//! Control and status registers of S-mode and U-mode (Privileged 1.13, chapter 12; Zicsr, Zicntr, Sstc).

mod access;

pub(crate) use access::{CsrAccess, InPlace, is_read};

use types::{Asid, Gpa, PagingMode, Privilege, TranslationContext};

/// `sstatus.FS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub(crate) enum FloatUnit {
    #[default]
    Off = 0,
    Initial = 1,
    Clean = 2,
    Dirty = 3,
}

impl FloatUnit {
    const fn from_field(bits: u64) -> Self {
        match bits & 3 {
            0 => Self::Off,
            1 => Self::Initial,
            2 => Self::Clean,
            _ => Self::Dirty,
        }
    }
}

/// The registers behind the CSR numbers, fields apart where they are used apart.
#[derive(Clone, Debug)]
pub(crate) struct Csrs {
    /// `sstatus.SIE`, `SPIE`, `SPP`, `FS`, `SUM`, `MXR`.
    pub(crate) sie: bool,
    pub(crate) spie: bool,
    pub(crate) spp: Privilege,
    pub(crate) float: FloatUnit,
    pub(crate) sum: bool,
    pub(crate) mxr: bool,
    /// `sie` and `sip`.
    pub(crate) enabled: u64,
    pub(crate) pending: u64,
    pub(crate) stvec: u64,
    pub(crate) sepc: u64,
    pub(crate) scause: u64,
    pub(crate) stval: u64,
    pub(crate) sscratch: u64,
    pub(crate) scounteren: u64,
    pub(crate) senvcfg: u64,
    mode: PagingMode,
    asid: Asid,
    root: Gpa,
    /// `stimecmp`; no timer interrupt until the guest, or the hypervisor, has set it.
    pub(crate) timer: Option<u64>,
}

impl Default for Csrs {
    /// All zero, but that U-mode may read the counters: firmware leaves it so, and Linux without a PMU relies on it for its vDSO.
    fn default() -> Self {
        Self {
            sie: false,
            spie: false,
            spp: Privilege::User,
            float: FloatUnit::Off,
            sum: false,
            mxr: false,
            enabled: 0,
            pending: 0,
            stvec: 0,
            sepc: 0,
            scause: 0,
            stval: 0,
            sscratch: 0,
            scounteren: 7,
            senvcfg: 0,
            mode: PagingMode::Bare,
            asid: Asid(0),
            root: Gpa(0),
            timer: None,
        }
    }
}

/// The CSR does not exist, is read-only, or is not for this privilege.
#[derive(Debug)]
pub(crate) struct IllegalCsr;

mod number {
    pub(super) const FFLAGS: u32 = 0x001;
    pub(super) const FRM: u32 = 0x002;
    pub(super) const FCSR: u32 = 0x003;
    pub(super) const SSTATUS: u32 = 0x100;
    pub(super) const SIE: u32 = 0x104;
    pub(super) const STVEC: u32 = 0x105;
    pub(super) const SCOUNTEREN: u32 = 0x106;
    pub(super) const SENVCFG: u32 = 0x10a;
    pub(super) const SSCRATCH: u32 = 0x140;
    pub(super) const SEPC: u32 = 0x141;
    pub(super) const SCAUSE: u32 = 0x142;
    pub(super) const STVAL: u32 = 0x143;
    pub(super) const SIP: u32 = 0x144;
    pub(super) const STIMECMP: u32 = 0x14d;
    pub(super) const SATP: u32 = 0x180;
    pub(super) const CYCLE: u32 = 0xc00;
    pub(super) const TIME: u32 = 0xc01;
    pub(super) const INSTRET: u32 = 0xc02;
    pub(super) const HPMCOUNTER31: u32 = 0xc1f;
}

mod sstatus {
    pub(super) const SIE: u32 = 1;
    pub(super) const SPIE: u32 = 5;
    pub(super) const SPP: u32 = 8;
    pub(super) const FS: u32 = 13;
    pub(super) const SUM: u32 = 18;
    pub(super) const MXR: u32 = 19;
    /// `UXL` reads 2: U-mode is 64 bits wide.
    pub(super) const UXL_64: u64 = 2 << 32;
    pub(super) const SD: u32 = 63;
}

impl Csrs {
    /// How accesses at `privilege` translate.
    pub(crate) fn context(&self, privilege: Privilege) -> TranslationContext {
        TranslationContext {
            mode: self.mode,
            root: self.root,
            asid: self.asid,
            privilege,
            sum: self.sum,
            mxr: self.mxr,
        }
    }

    pub(crate) fn sstatus(&self) -> u64 {
        let dirty = self.float == FloatUnit::Dirty;
        u64::from(self.sie) << sstatus::SIE
            | u64::from(self.spie) << sstatus::SPIE
            | (self.spp as u64) << sstatus::SPP
            | (self.float as u64) << sstatus::FS
            | u64::from(self.sum) << sstatus::SUM
            | u64::from(self.mxr) << sstatus::MXR
            | sstatus::UXL_64
            | u64::from(dirty) << sstatus::SD
    }

    pub(crate) fn set_sstatus(&mut self, value: u64, has_float: bool) {
        let bit = |at: u32| value >> at & 1 != 0;
        self.sie = bit(sstatus::SIE);
        self.spie = bit(sstatus::SPIE);
        self.spp = if bit(sstatus::SPP) { Privilege::Supervisor } else { Privilege::User };
        self.float = if has_float { FloatUnit::from_field(value >> sstatus::FS) } else { FloatUnit::Off };
        self.sum = bit(sstatus::SUM);
        self.mxr = bit(sstatus::MXR);
    }

    pub(crate) fn satp(&self) -> u64 {
        let mode = match self.mode {
            PagingMode::Bare => 0,
            PagingMode::Sv39 => 8,
            PagingMode::Sv48 => 9,
            PagingMode::Sv57 => 10,
        };
        mode << 60 | u64::from(self.asid.0) << 44 | self.root.number()
    }

    /// A write of a mode that is not supported has no effect at all (section 12.1.11).
    pub(crate) fn set_satp(&mut self, value: u64, highest: PagingMode) {
        let mode = match value >> 60 {
            0 => PagingMode::Bare,
            8 => PagingMode::Sv39,
            9 => PagingMode::Sv48,
            10 => PagingMode::Sv57,
            _ => return,
        };
        if mode <= highest {
            self.mode = mode;
            self.asid = Asid((value >> 44) as u16);
            self.root = Gpa((value & ((1 << 44) - 1)) << 12);
        }
    }
}
