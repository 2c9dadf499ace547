//! The configuration of a run, for TOML files, for `--set key=value` and for the echo in reports.
//!
//! Each key is declared once, in the file of its owner: those without a table here, `disk.*` in `config/disk.rs`, and so on. Numbers of
//! the host model (`host.*`) are declared with the model, and [`KeyGroup`](keys::KeyGroup)s come from elsewhere.

mod balloon;
mod builder;
mod check;
mod disk;
mod faulty;
mod guest;
mod hardware;
mod isa;
mod mmu;
mod names;
mod native;
mod paging;
mod plic;
mod reference;
mod replacement;
mod sbi;
mod segment;
mod swap;
mod switch;

pub use balloon::BalloonKeys;
pub use builder::open::{HostSettings, OpenKeys};
pub(crate) use builder::read_value;
pub use builder::{ConfigBuilder, ConfigError};
pub use disk::DiskKeys;
pub use faulty::FaultyKeys;
pub use guest::{GuestKeys, HugePages};
pub use isa::IsaKeys;
pub use mmu::{AdName, MmuKeys};
pub use names::{AttributeName, EngineName, FastForwardName, FidelityName, FootprintName, GuestTimeName};
pub use paging::{GuestPaging, HostPaging, PagingKeys};
pub use plic::{PlicContextsName, PlicKeys};
pub use reference::{reference, table};
pub use replacement::ReplacementKeys;
pub use sbi::SbiKeys;
pub use segment::{FilterBits, FilterKeys, SegmentKeys};
pub use swap::SwapKeys;
pub use switch::Switch;

use crate::{
    host_model::DEFAULT_HOST,
    units::{ByteSize, PlacementName},
    warmup::Warmup,
};
use keys::{key, settings};
use schemes::{PagedScheme, ShadowKeys};

settings! {
    /// Every key, with its default.
    pub struct Config {
        pub host: String = DEFAULT_HOST.to_owned() => key(
            "a host model: `sandybridge-2012`, `xeon-2017`, `sapphirerapids-2023`, `p550-2024`, `sunway-1621`, `alpha-1997`, \
             `hitachi-1985`, or the path of a TOML file like those in `hosts/` (`pagewalk hosts NAME` prints one, with the sources of its numbers)"
        ),
        pub fidelity: FidelityName = FidelityName::Counts => key(
            "how time is kept: `counts`, a table reference has a fixed cost; `cycles`, data, instructions and table entries \
             come through modelled caches ([caches.md](caches.md)); `core`, through the same, and what waits for them \
             overlaps as in an out-of-order core ([core.md](core.md)). `compare` takes `core` where it is not set ([time.md](time.md))"
        ),
        pub fast_forward: FastForwardName = FastForwardName::Off => key(
            "where fidelity `cycles` or `core` models caches and cores: `off`, from the first instruction on; `warm`, caches as with `off`, and \
             cores from the start of a region of interest to its end; `on`, both from there to there, so that caches are empty when the first region \
             begins. Outside of regions an instruction waits for nothing where cores, or under `cycles` caches, are not modelled \
             ([time.md](time.md#fast-forward))"
        ),
        pub guest_time: GuestTimeName = GuestTimeName::Cycles => key(
            "what the guest's `time` and its timers follow: `cycles`, all that a pCPU takes; `instructions`, those of instructions \
             without translation and exits, so that no scheme changes when a timer is due ([record.md](record.md))"
        ),
        pub footprint: FootprintName = FootprintName::Off => key(
            "whether the hypervisor's own work displaces lines and TLB entries of guests: `off` or `on`, by `[footprint]` of the host model \
             ([footprint.md](footprint.md))"
        ).virtual_only(),
        pub scheme: PagedScheme = PagedScheme::default() => key(
            "a scheme of those below, with the guest's page size and, after a plus, that of the hypervisor's pages: \
             `native:2M`, `nested:4K+2M`. Sizes 4K, 2M, 1G. `compare` and `bench` take their schemes from `--scheme`"
        ),
        pub harts: u32 = 1 => key("1 to 64, each on a pCPU of its own").number(1, 64),
        pub memory: ByteSize = ByteSize(1 << 30) => key(
            "size, a multiple of 4K, at most 256G; vos reaches 253G"
        ).pages(4 << 10, 256 << 30).without("`1G` (`compare` with vos: `4G`)"),
        pub memory_attribute: AttributeName = AttributeName::Virtual => key(
            "how a virtual machine's memory lies in the host's, below; `native` has none"
        ).virtual_only(),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub host_memory: Option<ByteSize> = None => key("memory of the host: a size, a multiple of 4K, 8M to 1T")
            .pages(8 << 20, 1 << 40).without("as much as the guests can need").virtual_only(),
        pub frame_placement: PlacementName = PlacementName::default() => key(
            "which free frames of the host a page of a virtual machine's RAM gets. `lowest`: the first that fit, as on a host that has \
             just started. `random:SEED`: any, as on a host that has run for long; 0 is assumed. Their sets in caches follow from it"
        ).virtual_only().taking("`lowest` or `random:SEED`"),
        pub timeout: u64 = 0 => key("seconds of guest time after which the run ends as failed; 0 is never").unit("seconds"),
        pub warmup: Warmup = Warmup::None => key(
            "what comes before measurement: `none`; `touch`, all of the guest's memory has been mapped before its first \
             instruction, and no cost is charged for it; `snapshot`, the guest goes on with a snapshot as warm as it was there, \
             which is the default with `--restore`; or so many instructions of the region of interest, below"
        ).taking("`none`, `touch`, `snapshot` or a number of instructions"),
        pub seed: u64 = 1 => key("what the guest's random numbers start from"),
        pub quantum: u64 = 10_000 => key("how far the clocks of running processors may drift apart, in cycles; those of independent guests drift freely")
            .number(100, 1_000_000_000).unit("cycles"),
        pub engine: EngineName = EngineName::Compiled => key(
            "`threaded`; `match`, its oracle; `compiled`: threaded, with code of the host for warm blocks and hot loops \
             (x86-64; elsewhere there is none); or, for tests, `baseline-all`, which \
             makes code of each block by templates, and `compiled-all`, which compiles everything. All give the same results. A build with debug assertions uses `match` instead of `threaded`"
        ).speed_only(),
        /// Translation hardware.
        pub mmu: MmuKeys,
        /// Shadow tables.
        pub shadow: ShadowKeys,
        /// Direct segments.
        pub segment: SegmentKeys,
        /// Boot parameters of the guest.
        pub guest: GuestKeys,
        /// Paging modes.
        pub paging: PagingKeys,
        /// The file that the hypervisor pages guests out to.
        pub swap: SwapKeys,
        /// What guests with a memory balloon are asked for.
        pub balloon: BalloonKeys,
        /// Hard faults of the host's memory.
        pub faulty: FaultyKeys,
        /// Disks of guests.
        pub disk: DiskKeys,
        /// The interrupt controller.
        pub plic: PlicKeys,
        /// Extensions of the harts.
        pub isa: IsaKeys,
        /// Extensions of the supervisor binary interface.
        pub sbi: SbiKeys,
    }
    beside {
        /// Keys that are declared elsewhere: numbers of the host model, and groups that the builder was given.
        #[serde(flatten)]
        pub open: OpenKeys,
    }
}
