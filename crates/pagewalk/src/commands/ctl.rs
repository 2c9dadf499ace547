//! `pagewalk ctl`: asks something of a run that listens.

use crate::cli::{CtlArgs, CtlRequest};
use crate::control::Request;
use crate::error::Failure;
use crate::output::{json, print};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// How long a reply may take. Turns of a machine take milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest reply.
const LONGEST_REPLY: u64 = 16 << 20;

/// Runs the command.
///
/// # Errors
/// [`Failure::Run`]: nothing listens there, or the run refuses.
pub(super) fn run(arguments: &CtlArgs) -> Result<ExitCode, Failure> {
    let path = arguments.socket.strip_prefix("unix:").unwrap_or(&arguments.socket);
    let failed = |problem: String| Failure::Run(format!("{}: {problem}", path.display()));
    let reply = ask(path, request(&arguments.request)).map_err(|error| failed(error.to_string()))?;
    if reply.is_empty() {
        return Err(failed("the run ended without a reply".to_owned()));
    }
    let reply: Value = serde_json::from_slice(&reply).map_err(|error| failed(format!("no reply of a run: {error}")))?;
    match (reply.get("ok"), reply.get("error").and_then(Value::as_str)) {
        (Some(answer), _) => print(&String::from_utf8_lossy(&json(answer)?))?,
        (None, Some(problem)) => return Err(failed(problem.to_owned())),
        (None, None) => return Err(failed("no reply of a run".to_owned())),
    }
    Ok(ExitCode::SUCCESS)
}

const fn request(request: &CtlRequest) -> Request {
    match *request {
        CtlRequest::Status => Request::Status {},
        CtlRequest::Pause => Request::Pause {},
        CtlRequest::Resume => Request::Resume {},
        CtlRequest::Statistics => Request::Statistics {},
        CtlRequest::Snapshot => Request::Snapshot {},
        CtlRequest::Balloon { size } => Request::Balloon { bytes: size },
        CtlRequest::Quit { status } => Request::Quit { status },
    }
}

/// The line with which the run at `path` replies.
fn ask(path: &Path, request: Request) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut reply = Vec::new();
    BufReader::new(stream.take(LONGEST_REPLY)).read_until(b'\n', &mut reply)?;
    Ok(reply)
}
