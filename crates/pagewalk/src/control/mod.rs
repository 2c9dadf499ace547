//! Control of a run through a socket: requests and replies as lines of JSON. docs/control.md has the protocol.
//!
//! ```text
//! server.rs ─► listener.rs: the socket, and its file
//!     ├──────► client.rs: the lines of one connection
//!     └──────► request.rs, answer.rs: what is asked, and what the machine says
//! ```

mod answer;
mod client;
mod listener;
mod request;
mod server;

pub(crate) use answer::counted;
pub(crate) use listener::SocketAddress;
pub(crate) use request::Request;
pub(crate) use server::{Server, Snapshots};
