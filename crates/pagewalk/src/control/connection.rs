//! A client's side of the socket: requests go out, and replies come in.

use super::request::Request;
use crate::error::Failure;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a reply may take. Turns of a machine take milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest reply.
const LONGEST_REPLY: u64 = 16 << 20;

/// What a run replied.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// What was asked for.
    Answer(Value),
    /// The run has ended.
    Ended,
}

/// A connection to a run.
#[derive(Debug)]
pub(crate) struct Connection {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Connection {
    /// Connects to the socket at `path`, which may begin with `unix:`.
    ///
    /// # Errors
    /// [`Failure::Run`]: nothing listens there.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        // Of the text: `Path::strip_prefix` takes the slash of an absolute path away as well.
        let text = path.as_os_str().as_bytes();
        let path = PathBuf::from(OsStr::from_bytes(text.strip_prefix(b"unix:").unwrap_or(text)));
        match connect(&path) {
            Ok(stream) => Ok(Self { path, stream: BufReader::new(stream) }),
            Err(error) => Err(failed(&path, &error)),
        }
    }

    /// Sends a request, and waits for the reply.
    ///
    /// # Errors
    /// [`Failure::Run`]: the run refuses, or what listens is no run.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply, Failure> {
        let line = match self.exchange(request) {
            Ok(line) => line,
            Err(error) if has_ended(&error) => return Ok(Reply::Ended),
            Err(error) => return Err(failed(&self.path, &error)),
        };
        if line.is_empty() {
            return Ok(Reply::Ended);
        }
        let mut reply: Value = serde_json::from_slice(&line)
            .map_err(|error| failed(&self.path, &format!("no reply of a run: {error}")))?;
        if let Some(answer) = reply.get_mut("ok") {
            return Ok(Reply::Answer(answer.take()));
        }
        Err(failed(&self.path, &reply.get("error").and_then(Value::as_str).unwrap_or("no reply of a run")))
    }

    fn exchange(&mut self, request: &Request) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        let mut reply = Vec::new();
        (&mut self.stream).take(LONGEST_REPLY).read_until(b'\n', &mut reply)?;
        Ok(reply)
    }

    /// The failure of a run that ended before it replied.
    pub(crate) fn ended(&self) -> Failure {
        failed(&self.path, &"the run ended without a reply")
    }
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn has_ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn failed(path: &Path, problem: &dyn std::fmt::Display) -> Failure {
    Failure::Run(format!("{}: {problem}", path.display()))
}
