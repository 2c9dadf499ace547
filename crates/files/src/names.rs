//! Files are looked up and forgotten, and links are read.

use crate::attributes::Attributes;
use crate::message::{Answer, Body};
use crate::state::{Place, State};
use rustix::io::Errno;

/// `FUSE_LOOKUP`.
pub(crate) fn look_up(state: &mut State, parent: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let name = body.name()?;
    let place = state.entry(parent, name)?;
    let (node, attributes) = known(state, parent, &place)?;
    Ok(attributes.entry(node))
}

/// The guest is told of what is at `place`, an entry of the directory `parent`.
pub(crate) fn known(state: &mut State, parent: u64, place: &Place) -> Result<(u64, Attributes), Errno> {
    let stat = place.stat()?;
    let node = state.nodes.look_up(parent, &place.name)?;
    let attributes = Attributes::of(&stat, state.nodes.inode(node), state.root.access())?;
    Ok((node, attributes))
}

/// `FUSE_FORGET`.
pub(crate) fn forget(state: &mut State, node: u64, body: &mut Body<'_>) -> Result<(), Errno> {
    state.nodes.forget(node, body.u64()?);
    Ok(())
}

/// `FUSE_BATCH_FORGET`.
pub(crate) fn forget_several(state: &mut State, body: &mut Body<'_>) -> Result<(), Errno> {
    let count = body.u32()?;
    body.skip::<4>()?;
    // A message ends before a count does that is not true.
    for _ in 0..count {
        let node = body.u64()?;
        state.nodes.forget(node, body.u64()?);
    }
    Ok(())
}

/// `FUSE_READLINK`. The link is the guest's to follow, among its own files.
pub(crate) fn read_link(state: &State, node: u64) -> Result<Answer, Errno> {
    let place = state.place(node)?;
    let target = rustix::fs::readlinkat(place.directory(), &place.name[..], Vec::new())?;
    Ok(Answer::default().bytes(target.as_bytes()))
}
