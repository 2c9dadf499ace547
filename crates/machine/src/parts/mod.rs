//! What a machine is made of beside processors and guests. What is here knows nothing of the machine: what happens to it is in `machine/` and `state/`.

pub(crate) mod address_spaces;
pub(crate) mod balloon;
pub(crate) mod debug;
pub(crate) mod disk;
pub(crate) mod dispatch;
pub(crate) mod faulty;
pub(crate) mod footprint;
pub(crate) mod instruction_sink;
pub(crate) mod intervals;
pub(crate) mod network;
pub(crate) mod page_watch;
pub(crate) mod primary_region;
pub(crate) mod record;
pub(crate) mod recorder;
pub(crate) mod shadow_intervals;
pub(crate) mod steal;
pub(crate) mod switch;
pub(crate) mod tracer;
pub(crate) mod vcpu;
