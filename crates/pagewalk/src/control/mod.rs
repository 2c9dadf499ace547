//! Control of a run through a socket: requests and replies as lines of JSON. docs/control.md has the protocol.
//!
//! ```text
//! server.rs ─► listener.rs: the socket, and its file
//!     ├──────► client.rs: the lines of one connection
//!     ├──────► request.rs, answer.rs: what a client may request, and what the machine replies
//!     └──────► freed.rs: a reservation that was freed
//! connection.rs: a client's side, for `ctl` and `top`
//! ```

mod answer;
mod client;
mod connection;
mod freed;
mod listener;
mod request;
mod server;

pub(crate) use answer::{Guests, counted};
pub(crate) use connection::{Connection, Reply};
pub(crate) use freed::{FreedReservation, section_name};
pub(crate) use listener::SocketAddress;
pub(crate) use request::Request;
pub(crate) use server::{Server, Snapshots};
