//! A guest that a Python program runs piece by piece.

use crate::error::{UsageError, exception};
use crate::guest_thread::GuestThread;
use crate::stop::Stop;
use pagewalk::error::Failure;
use pagewalk::interactive::{AddressSpace, DataKind, DataWatch, Interactive, Until};
use pyo3::prelude::*;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// The most bytes of one read.
const MOST_BYTES: usize = 1 << 30;

/// A guest; `pagewalk.Machine` is a layer over it that takes keywords.
#[pyclass(frozen, module = "pagewalk._native")]
pub(crate) struct Machine {
    guest: GuestThread,
}

fn usage(problem: impl Into<String>) -> PyErr {
    UsageError::new_err(problem.into())
}

fn space(name: &str) -> PyResult<AddressSpace> {
    match name {
        "virtual" => Ok(AddressSpace::GuestVirtual),
        "guest" => Ok(AddressSpace::GuestPhysical),
        "host" => Ok(AddressSpace::HostPhysical),
        other => Err(usage(format!("there is no address space `{other}`: it is `virtual`, `guest` or `host`"))),
    }
}

fn watch((first, bytes, kind): (u64, u64, String)) -> PyResult<DataWatch> {
    let kind = match kind.as_str() {
        "read" => DataKind::Read,
        "write" => DataKind::Write,
        "any" => DataKind::Any,
        other => return Err(usage(format!("there is no access `{other}`: it is `read`, `write` or `any`"))),
    };
    Ok(DataWatch::new(first, bytes, kind))
}

#[pymethods]
impl Machine {
    #[new]
    fn new(py: Python<'_>, options: Vec<String>, workload: Option<String>) -> PyResult<Self> {
        Ok(Self { guest: GuestThread::start(py, move || Interactive::new(&options, workload.as_deref()))? })
    }

    /// Runs the guest, without the lock of the interpreter.
    fn run(
        &self,
        py: Python<'_>,
        instructions: Option<u64>,
        breakpoints: Vec<u64>,
        data: Vec<(u64, u64, String)>,
        step: Option<usize>,
    ) -> PyResult<Stop> {
        let data = data.into_iter().map(watch).collect::<PyResult<_>>()?;
        let until = Until { instructions, breakpoints, data, step };
        let stop = self.guest.call(py, move |guest, stop| guest.run(&until, || !stop.load(Ordering::Relaxed)))?;
        stop.map(|stop| Stop::new(&stop)).map_err(|error| exception(&error))
    }

    fn outcome(&self, py: Python<'_>) -> PyResult<Option<(String, u8)>> {
        self.look(py, |guest| guest.outcome().map(|outcome| (outcome.to_string(), outcome.status())))
    }

    fn system(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |guest| guest.system())
    }

    fn work(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |guest| guest.work().to_owned())
    }

    fn harts(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, Interactive::harts)
    }

    fn elapsed(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, |guest| guest.elapsed())
    }

    fn take_output(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.look(py, Interactive::take_output)
    }

    fn type_keys(&self, py: Python<'_>, keys: Vec<u8>) -> PyResult<()> {
        self.look(py, move |guest| guest.type_keys(&keys))
    }

    fn registers(&self, py: Python<'_>, hart: usize) -> PyResult<String> {
        self.attempt(py, move |guest| guest.registers(hart).map(|value| value.to_string()))
    }

    fn set_registers(&self, py: Python<'_>, hart: usize, changes: &str) -> PyResult<()> {
        match serde_json::from_str(changes) {
            Ok(Value::Object(changes)) => self.attempt(py, move |guest| guest.set_registers(hart, &changes)),
            Ok(_) | Err(_) => Err(usage("registers are given by name")),
        }
    }

    fn read(&self, py: Python<'_>, space_name: &str, address: u64, bytes: usize, hart: usize) -> PyResult<Vec<u8>> {
        if bytes > MOST_BYTES {
            return Err(usage(format!("at most {MOST_BYTES} bytes are read at once")));
        }
        let space = space(space_name)?;
        self.attempt(py, move |guest| guest.read(space, address, bytes, hart))
    }

    fn write(&self, py: Python<'_>, address: u64, bytes: Vec<u8>, hart: usize) -> PyResult<()> {
        self.attempt(py, move |guest| guest.write(address, &bytes, hart))
    }

    fn walk(&self, py: Python<'_>, address: u64, hart: usize) -> PyResult<String> {
        self.attempt(py, move |guest| guest.walk(address, hart).map(|value| value.to_string()))
    }

    fn tlb(&self, py: Python<'_>, hart: usize) -> PyResult<String> {
        self.attempt(py, move |guest| guest.tlb(hart).map(|value| value.to_string()))
    }

    fn statistics(&self, py: Python<'_>) -> PyResult<String> {
        self.look(py, |guest| guest.statistics().to_string())
    }

    fn snapshot(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.attempt(py, move |guest| guest.snapshot(&path))
    }
}

impl Machine {
    fn look<R: Send + 'static>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mut Interactive) -> R + Send + 'static,
    ) -> PyResult<R> {
        self.guest.call(py, |guest, _| look(guest))
    }

    fn attempt<R: Send + 'static>(
        &self,
        py: Python<'_>,
        attempt: impl FnOnce(&mut Interactive) -> Result<R, Failure> + Send + 'static,
    ) -> PyResult<R> {
        self.look(py, attempt)?.map_err(|error| exception(&error))
    }
}
