//! `pagewalk ctl`: asks something of a run that listens.

use crate::cli::{CtlArgs, CtlRequest};
use crate::control::{Connection, Reply, Request};
use crate::error::Failure;
use crate::output::{json, print};
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// [`Failure::Run`]: nothing listens there, or the run refuses.
pub(in crate::commands) fn run(arguments: &CtlArgs) -> Result<ExitCode, Failure> {
    let mut connection = Connection::open(&arguments.socket)?;
    match connection.ask(&request(&arguments.request))? {
        Reply::Answer(answer) => print(&String::from_utf8_lossy(&json(&answer)?))?,
        Reply::Ended => return Err(connection.ended()),
    }
    Ok(ExitCode::SUCCESS)
}

fn request(request: &CtlRequest) -> Request {
    match *request {
        CtlRequest::Status => Request::Status {},
        CtlRequest::Pause => Request::Pause {},
        CtlRequest::Resume => Request::Resume {},
        CtlRequest::Statistics => Request::Statistics {},
        CtlRequest::Snapshot => Request::Snapshot {},
        CtlRequest::Balloon { size } => Request::Balloon { bytes: size },
        CtlRequest::Free(ref reservation) => Request::Free { name: reservation.name.clone(), group: reservation.group },
        CtlRequest::Quit { status } => Request::Quit { status },
    }
}
