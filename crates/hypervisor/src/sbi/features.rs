//! FWFT, EID 0x46574654: firmware features (SBI 3.0, chapter 18).

use super::call::SbiCall;
use super::error::SbiError;

/// A feature that supervisor software may set or get. All are local: each hart has its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// MISALIGNED_EXC_DELEG: who handles misaligned loads and stores. They do not trap here.
    MisalignedDelegation,
    /// LANDING_PAD, of Zicfilp.
    LandingPad,
    /// SHADOW_STACK, of Zicfiss.
    ShadowStack,
    /// DOUBLE_TRAP, of Ssdbltrp.
    DoubleTrap,
    /// PTE_AD_HW_UPDATING, of Svadu: the walker sets A and D bits.
    HardwareAd,
    /// POINTER_MASKING_PMLEN, of Ssnpm.
    PointerMasking,
}

impl Feature {
    /// The feature of a 32-bit identifier (table "FWFT Feature Types"). Others are reserved, or of a platform that is not this one.
    const fn of(id: u32) -> Option<Self> {
        match id {
            0 => Some(Self::MisalignedDelegation),
            1 => Some(Self::LandingPad),
            2 => Some(Self::ShadowStack),
            3 => Some(Self::DoubleTrap),
            4 => Some(Self::HardwareAd),
            5 => Some(Self::PointerMasking),
            _ => None,
        }
    }
}

/// Set or get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeatureRequest {
    /// Set a feature's value.
    Set {
        /// Which.
        feature: Feature,
        /// To what.
        value: u64,
        /// As the guest passed them: bit 0 locks the value.
        flags: u64,
    },
    /// Return a feature's value.
    Get(Feature),
}

/// What a hart has of the features: those that its machine supports, with value and lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// Whether the walker sets A and D bits, if that can be switched at all.
    hardware_ad: Option<Switch>,
}

/// A feature with the values 0 and 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Switch {
    on: bool,
    locked: bool,
}

/// Flag LOCK: the value stays until the hart is reset.
const LOCK: u64 = 1;

impl Switch {
    fn set(&mut self, value: u64, flags: u64) -> Result<(), SbiError> {
        let on = match value {
            0 => false,
            1 => true,
            _ => return Err(SbiError::InvalidParam),
        };
        if flags & !LOCK != 0 {
            return Err(SbiError::InvalidParam);
        }
        if self.locked {
            return Err(SbiError::DeniedLocked);
        }
        *self = Self { on, locked: flags == LOCK };
        Ok(())
    }
}

impl Features {
    /// After a reset of the hart, of a machine whose walker can set A and D bits and leave it if `switchable_ad`.
    #[must_use]
    pub fn new(switchable_ad: bool) -> Self {
        Self { hardware_ad: switchable_ad.then(Switch::default) }
    }

    /// Serves a request; returns the feature's value, or 0 for one that was set.
    ///
    /// # Errors
    /// Those that the specification lists for the function; nothing has changed.
    pub fn serve(&mut self, request: FeatureRequest) -> Result<u64, SbiError> {
        let (FeatureRequest::Set { feature, .. } | FeatureRequest::Get(feature)) = request;
        let switch = match feature {
            Feature::HardwareAd => self.hardware_ad.as_mut().ok_or(SbiError::NotSupported)?,
            Feature::MisalignedDelegation
            | Feature::LandingPad
            | Feature::ShadowStack
            | Feature::DoubleTrap
            | Feature::PointerMasking => return Err(SbiError::NotSupported),
        };
        match request {
            FeatureRequest::Set { value, flags, .. } => switch.set(value, flags).map(|()| 0),
            FeatureRequest::Get(_) => Ok(u64::from(switch.on)),
        }
    }

    /// Whether the walker sets A and D bits; `None` where that is not for the guest to switch.
    #[must_use]
    pub fn hardware_ad(&self) -> Option<bool> {
        self.hardware_ad.map(|switch| switch.on)
    }

    /// Value and lock of the switch for A and D bits, for a snapshot.
    #[must_use]
    pub fn saved(&self) -> Option<(bool, bool)> {
        self.hardware_ad.map(|Switch { on, locked }| (on, locked))
    }

    /// Takes what [`saved`](Self::saved) gave; without effect where the machine does not have the switch.
    pub fn restore(&mut self, saved: Option<(bool, bool)>) {
        if let (Some(switch), Some((on, locked))) = (&mut self.hardware_ad, saved) {
            *switch = Switch { on, locked };
        }
    }
}

pub(super) fn decode(call: &SbiCall) -> Result<FeatureRequest, SbiError> {
    let [id, value, flags, ..] = call.args;
    // The identifier is 32 bits wide: the upper bits are not part of it.
    let feature = || Feature::of(id as u32).ok_or(SbiError::Denied);
    match call.fid {
        0 => Ok(FeatureRequest::Set { feature: feature()?, value, flags }),
        1 => Ok(FeatureRequest::Get(feature()?)),
        _ => Err(SbiError::NotSupported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AD: Feature = Feature::HardwareAd;

    fn set(features: &mut Features, value: u64, flags: u64) -> Result<u64, SbiError> {
        features.serve(FeatureRequest::Set { feature: AD, value, flags })
    }

    #[test]
    fn a_switch_takes_0_and_1_until_it_is_locked() {
        let mut features = Features::new(true);
        assert_eq!((features.serve(FeatureRequest::Get(AD)), features.hardware_ad()), (Ok(0), Some(false)));
        assert_eq!(set(&mut features, 1, 0), Ok(0));
        assert_eq!(features.serve(FeatureRequest::Get(AD)), Ok(1));
        for (value, flags) in [(2, 0), (0, 2), (1 << 32, 0), (0, 1 << 32)] {
            assert_eq!(set(&mut features, value, flags), Err(SbiError::InvalidParam));
        }
        assert_eq!(set(&mut features, 0, LOCK), Ok(0));
        for (value, flags) in [(0, 0), (1, 0), (1, LOCK)] {
            assert_eq!(set(&mut features, value, flags), Err(SbiError::DeniedLocked));
        }
        assert_eq!(features.hardware_ad(), Some(false));
        let mut restored = Features::new(true);
        restored.restore(features.saved());
        assert_eq!(restored, features);
    }

    #[test]
    fn what_the_machine_lacks_is_not_supported() {
        let mut features = Features::new(false);
        assert_eq!(set(&mut features, 1, 0), Err(SbiError::NotSupported));
        features.restore(Some((true, true)));
        assert_eq!(features.hardware_ad(), None);
        for id in [0, 1, 2, 3, 5] {
            let feature = Feature::of(id).unwrap();
            assert_eq!(Features::new(true).serve(FeatureRequest::Get(feature)), Err(SbiError::NotSupported));
        }
    }
}
