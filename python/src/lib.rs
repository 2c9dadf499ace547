//! The compiled module `pagewalk._native`: guests that a Python program runs piece by piece. What the rest of the package does, it does with the
//! command, which is in the same wheel.

mod error;
mod guest_thread;
mod machine;
mod stop;

use pyo3::prelude::*;

/// Guests that run in this process.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::error::{PagewalkError, UsageError};
    #[pymodule_export]
    use crate::machine::Machine;
    #[pymodule_export]
    use crate::stop::Stop;
    use pyo3::prelude::*;

    /// Refuses a processor that the module is not built for, before any of its code runs there.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        match pagewalk::processor::missing() {
            None => Ok(()),
            Some(feature) => Err(PagewalkError::new_err(format!(
                "this processor lacks {feature}; the build is for x86-64 of 2013 or later"
            ))),
        }
    }
}
