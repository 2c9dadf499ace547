//! The walker: one source for every geometry, either dimension, any number of stages, and both the fast path and the general one.
//!
//! A walk is a sequence of *steps*, each a set of references that are made at once; the walk of radix tables has one reference in each step.
//!
//! * `tree.rs` goes down the levels of a radix tree (RISC-V Privileged 1.13, section 12.3.2), whatever its tables are read through.
//! * `map.rs` is the seam between stages: a [`Map`] translates addresses of one space to another. A stage reads its tables through a further
//!   one, so that stages compose: the walk of n levels through a stage of m levels makes (n + 1)(m + 1) − 1 references.
//! * `policy.rs` is the difference between the fast path and the general one: what is done where an entry is not plain.
//! * `journal.rs` is when a walk records what it has used: as it goes, or once the step that it is a part of is complete.

mod journal;
mod map;
mod policy;
mod settle;
pub(crate) mod software;
mod tables;
mod tree;

pub(crate) use journal::{Counts, Direct, Journal};
pub(crate) use map::{Address, Backing, GuestAddress, Map, Mapping, Ports, Request};
pub(crate) use policy::{FastPath, General, Policy, Recording};
pub(crate) use settle::apart;
pub(crate) use tables::{Dimension, GuestDimension, HostDimension, Tables, Through};
pub(crate) use tree::{Form, Halted, Leaf, Target, Tree};
