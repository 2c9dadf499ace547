//! Traces for Perfetto (docs/over-time.md): packets of `protos/perfetto/trace/trace_packet.proto`.

mod packets;
mod protobuf;
mod slices;
mod tracks;

pub(super) use tracks::write;
