//! The TOML file of `pagewalk run`; its keys are documented in docs/hosting-howto.md.

use super::allocation::AllocationKey;
use super::change::ChangeKeys;
use super::sections::{self, SectionKeys, SharingKeys, WindowKeys};
use crate::cli::{DiskSpec, FileSpec, LinuxArgs, NetKind, ShareSpec};
use crate::error::Failure;
use crate::input;
use crate::profile::NameSources;
use crate::runs::image::{GuestKind, Work, prepare, program_memory};
use config::host_model::HostModel;
use config::toml_problem;
use config::units::{ByteSize, PageSizeName};
use config::{Config, ConfigBuilder, FastForwardName};
use keys::suggestion::unknown;
use machine::registry::{Registry, document as registry_text};
use machine::sched::{PauseLoopLimits, spin::SpinMethod};
use machine::{GuestPlan, HostPlan, PlannedChange};
use serde::Deserialize;
use std::path::Path;
use std::str::FromStr;
use types::Cycles;

/// The most guests on a switch: addresses of a network.
const MOST_ON_SWITCH: usize = 254;

/// The longest latency of a switch, a second.
const MOST_NET_LATENCY_US: u64 = 1_000_000;

/// The most pCPUs, vcpu ones and guests of a host.
const MOST: usize = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostFile {
    processors: usize,
    #[serde(default = "default_slice")]
    slice_us: u64,
    #[serde(default)]
    config: toml::Table,
    pause: Option<PauseKeys>,
    guest: Vec<GuestKeys>,
    #[serde(default)]
    change: Vec<ChangeKeys>,
    #[serde(default)]
    section: Vec<SectionKeys>,
    /// The host's reservations, in place of those of a registry's file.
    reservation: Option<toml::value::Array>,
    granularity: Option<PageSizeName>,
    net: Option<NetKey>,
    #[serde(default = "default_net_latency")]
    net_latency_us: u64,
}

/// What the guests' network cards are connected to.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum NetKey {
    /// Each other.
    Switch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PauseKeys {
    gap: u64,
    window: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuestKeys {
    name: String,
    #[serde(default = "default_kernel")]
    guest: String,
    workload: Option<String>,
    #[serde(default)]
    options: String,
    run: Option<String>,
    #[serde(default)]
    append: String,
    #[serde(default)]
    programs: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    disks: Vec<String>,
    #[serde(default)]
    shares: Vec<String>,
    #[serde(default = "one")]
    processors: u32,
    memory: Option<ByteSize>,
    #[serde(default = "default_weight")]
    weight: u32,
    #[serde(default)]
    allocation: AllocationKey,
    #[serde(default = "default_spin")]
    spin: String,
    #[serde(default)]
    background: bool,
    #[serde(default = "one")]
    count: u32,
    #[serde(default)]
    sections: Vec<WindowKeys>,
    group: Option<u32>,
    quota: Option<ByteSize>,
}

impl GuestKeys {
    /// The name of the guest of this number.
    fn numbered(&self, number: u32) -> String {
        if self.count == 1 { self.name.clone() } else { format!("{}-{number}", self.name) }
    }

    fn sharing(&self) -> SharingKeys<'_> {
        SharingKeys { sections: &self.sections, group: self.group, quota: self.quota }
    }
}

const fn default_slice() -> u64 {
    1000
}

fn default_kernel() -> String {
    "vos".to_owned()
}

/// About what two hosts in one rack have between them.
const fn default_net_latency() -> u64 {
    20
}

const fn default_weight() -> u32 {
    100
}

/// What a KVM host does with a vCPU that spins.
fn default_spin() -> String {
    SpinMethod::DirectedYield.name().to_owned()
}

const fn one() -> u32 {
    1
}

/// A host as its file has it, ready to be put together.
#[derive(Clone)]
pub(crate) struct MultiVm {
    pub(crate) config: Config,
    pub(crate) model: HostModel,
    pub(crate) plan: HostPlan,
    /// By guest.
    pub(crate) names: Vec<String>,
    /// By guest: what it does.
    pub(crate) work: Vec<String>,
    /// By guest: what a profile's names are made of.
    pub(crate) sources: Vec<NameSources>,
}

/// Reads the file at `path`; `settings` are keys of the configuration that replace the file's.
///
/// # Errors
/// [`Failure::Usage`], naming the file and the key; or what the guests' images fail with.
pub(crate) fn read(path: &Path, settings: &[(String, String)], registry: Registry) -> Result<MultiVm, Failure> {
    let name = path.display().to_string();
    let text = input::toml(path)?;
    of_text(&name, &text, settings, registry)
}

/// As [`read`], from the `text` of the file that errors call `name`.
///
/// # Errors
/// [`Failure::Usage`], naming the file and the key.
pub(crate) fn of_text(
    name: &str,
    text: &str,
    settings: &[(String, String)],
    registry: Registry,
) -> Result<MultiVm, Failure> {
    let wrong = |problem: String| Failure::Usage(format!("{name}: {problem}"));
    let file: HostFile = toml::from_str(text).map_err(|error| wrong(toml_problem::of_text(text, &error)))?;
    let mut builder =
        ConfigBuilder::default().table(name, file.config).map_err(|error| Failure::Usage(error.to_string()))?;
    for (key, value) in settings {
        builder = builder.set(key, value).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let config = builder.build().map_err(|error| Failure::Usage(error.to_string()))?;
    if config.fast_forward != FastForwardName::Off {
        return Err(wrong("fast_forward: the guests of `run` are measured from start to end".to_owned()));
    }
    let model = config.host_model()?;
    if !(1..=MOST).contains(&file.processors) {
        return Err(wrong(format!("processors: 1 to {MOST}")));
    }
    let cycles =
        |us: u64| Cycles((u128::from(us) * u128::from(model.clock_hz) / 1_000_000).min(u128::from(u64::MAX)) as u64);
    let mut multi_vm = MultiVm {
        config,
        names: Vec::new(),
        work: Vec::new(),
        sources: Vec::new(),
        plan: HostPlan::default(),
        model: model.clone(),
    };
    multi_vm.plan.registry = file.reservation.map_or(Ok(registry), reservations).map_err(wrong)?;
    multi_vm.plan.granularity = file.granularity.map(|size| size.0);
    let windows: Vec<&WindowKeys> = file.guest.iter().flat_map(|guest| &guest.sections).collect();
    multi_vm.plan.sections = sections::host(&file.section, &windows).map_err(wrong)?;
    let network = match file.net {
        None => LinuxArgs::default(),
        Some(NetKey::Switch) => {
            if !(1..=MOST_NET_LATENCY_US).contains(&file.net_latency_us) {
                return Err(wrong(format!("net_latency_us: 1 to {MOST_NET_LATENCY_US}")));
            }
            multi_vm.plan.switch = Some(cycles(file.net_latency_us));
            LinuxArgs { net: Some(NetKind::Switch), hosts: hosts(&file.guest).map_err(wrong)?, ..LinuxArgs::default() }
        }
    };
    for keys in &file.guest {
        multi_vm.add(keys, &network).map_err(|failure| match failure {
            Failure::Usage(problem) => wrong(format!("guest `{}`: {problem}", keys.name)),
            other => other,
        })?;
    }
    if multi_vm.names.is_empty() || multi_vm.plan.guests.iter().all(|guest| guest.background) {
        return Err(wrong("guest: no guest in the foreground, so that the run would be over at once".to_owned()));
    }
    for keys in &file.change {
        let change = keys.change(&multi_vm.names).map_err(wrong)?;
        multi_vm.plan.changes.push(PlannedChange { at: cycles(keys.at_us), change });
    }
    multi_vm.plan.pcpus = file.processors;
    multi_vm.plan.slice = cycles(file.slice_us).max(Cycles(1));
    multi_vm.plan.pause_limits = file.pause.map_or_else(PauseLoopLimits::default, |keys| PauseLoopLimits {
        gap: Cycles(keys.gap),
        window: Cycles(keys.window),
    });
    Ok(multi_vm)
}

/// The reservations of a host's file, whose keys are those of a registry's file.
fn reservations(entries: toml::value::Array) -> Result<Registry, String> {
    let version = toml::Value::Integer(registry_text::VERSION);
    let table = toml::Table::from_iter([
        ("version".to_owned(), version),
        ("reservation".to_owned(), toml::Value::Array(entries)),
    ]);
    // Lines of this text are not those of the file.
    registry_text::read(&table.to_string()).map_err(|damaged| {
        let key = damaged.key.map_or_else(String::new, |key| format!("{key}: "));
        format!("reservation: {key}{}", damaged.problem)
    })
}

/// The guests as lines of hosts(5): each has the address that ends in its number. A name that no host can have is left out.
fn hosts(guests: &[GuestKeys]) -> Result<String, String> {
    let names = || guests.iter().flat_map(|keys| (1..=keys.count).map(|number| keys.numbered(number)));
    if names().take(MOST_ON_SWITCH + 1).count() > MOST_ON_SWITCH {
        return Err(format!("net: a switch has room for {MOST_ON_SWITCH} guests"));
    }
    let is_host =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let lines = names().enumerate().filter(|(_, name)| is_host(name));
    Ok(lines.map(|(index, name)| format!("10.0.3.{} {name}\n", index + 1)).collect())
}

/// The values of a key that has them as text.
fn parsed<T: FromStr<Err = String>>(key: &str, texts: &[String]) -> Result<Vec<T>, Failure> {
    let parse = |text: &String| text.parse().map_err(|problem| Failure::Usage(format!("{key}: {problem}")));
    texts.iter().map(parse).collect()
}

impl MultiVm {
    /// Adds the guests of one entry.
    fn add(&mut self, keys: &GuestKeys, network: &LinuxArgs) -> Result<(), Failure> {
        let usage = |problem: String| Err(Failure::Usage(problem));
        let Some(spin) = SpinMethod::of(&keys.spin) else {
            return usage(unknown("spin method", &keys.spin, SpinMethod::ALL.map(SpinMethod::name)));
        };
        if !(1..=64).contains(&keys.processors) {
            return usage("processors: 1 to 64".to_owned());
        }
        if keys.count == 0 || self.names.len() + keys.count as usize > MOST {
            return usage(format!("count: 1 to {MOST} guests in all"));
        }
        let (work, description) = match (&keys.workload, &keys.run) {
            (Some(name), None) => (
                Work::Workload { name: name.clone(), options: keys.options.clone() },
                format!("{name} {}", keys.options),
            ),
            (None, Some(command)) => (Work::Command(command.clone()), command.clone()),
            _ => return usage("one of the keys workload and run says what it does".to_owned()),
        };
        let files: Vec<FileSpec> = parsed("files", &keys.files)?;
        let disks: Vec<DiskSpec> = parsed("disks", &keys.disks)?;
        if let Some(shared) = disks.iter().find(|disk| disk.write && keys.count > 1) {
            return usage(format!("disks: {} guests cannot all write to {}", keys.count, shared.path.display()));
        }
        let shares: Vec<ShareSpec> = parsed("shares", &keys.shares)?;
        let arguments = LinuxArgs {
            files,
            disks,
            shares,
            append: (!keys.append.is_empty()).then(|| keys.append.clone()),
            programs: keys.programs.clone(),
            ..network.clone()
        };
        let memory = keys.memory.unwrap_or(self.config.memory);
        let config = Config { harts: keys.processors, memory, ..self.config.clone() };
        let prepared = prepare(GuestKind::parse(&keys.guest), work, &arguments, program_memory(&config))?;
        let sources = NameSources::of_boot(&prepared, &arguments.files);
        let plan = GuestPlan {
            image: prepared.image(&config)?,
            harts: keys.processors,
            memory,
            memory_attribute: self.config.memory_attribute,
            weight: keys.weight,
            allocation: keys.allocation.allocation(),
            spin,
            background: keys.background,
            sections: sections::guest(&self.plan.sections, &self.config, memory, &keys.sharing())
                .map_err(Failure::Usage)?,
        };
        for number in 1..=keys.count {
            let name = keys.numbered(number);
            if self.names.contains(&name) {
                return usage("two guests have this name".to_owned());
            }
            self.names.push(name);
            self.sources.push(sources.clone());
            self.work.push(description.trim().to_owned());
            self.plan.guests.push(plan.clone());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::sched::Allocation;

    fn read_text(text: &str) -> Result<MultiVm, Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path(), &[], Registry::default())
    }

    const GUEST: &str = "[[guest]]\nname = 'a'\nworkload = 'qsort'\nprocessors = 2\n";

    #[test]
    fn a_host_is_read_with_its_defaults() {
        let multi_vm =
            read_text(&format!("processors = 2\n{GUEST}count = 3\n[[guest]]\nname = 'b'\nrun = 'hello'")).unwrap();
        assert_eq!(multi_vm.names, ["a-1", "a-2", "a-3", "b"]);
        let first = &multi_vm.plan.guests[0];
        assert_eq!((first.harts, first.weight, first.spin), (2, 100, SpinMethod::DirectedYield));
        assert_eq!(first.allocation, Allocation::Shared);
        assert_eq!(multi_vm.plan.slice, Cycles(2_400_000));
    }

    #[test]
    fn what_is_wrong_is_named_with_the_file() {
        for (text, word) in [
            ("processors = 0\n", "guest"),
            (&format!("processors = 0\n{GUEST}"), "processors"),
            (&format!("processors = 1\n{GUEST}spin = 'wap'"), "wapd"),
            (&format!("processors = 1\n{GUEST}colour = 1"), "colour"),
            (&format!("processors = 1\n{GUEST}run = 'x'"), "workload"),
            (&format!("processors = 1\n{GUEST}background = true"), "foreground"),
            (&format!("processors = 1\n{GUEST}disks = [',write']"), "disks"),
            (&format!("processors = 1\n{GUEST}files = ['/']"), "files"),
            (&format!("processors = 1\n{GUEST}shares = ['d:a b']"), "shares"),
            (&format!("processors = 1\n{GUEST}shares = ['/:root']"), "vos has no files"),
            (&format!("processors = 1\n{GUEST}count = 2\ndisks = ['d.img,write']"), "d.img"),
            (&format!("processors = 1\n{GUEST}{GUEST}"), "two guests"),
            (&format!("processors = 1\n{GUEST}[[change]]\nat_us = 1\nguest = 'c'\nallocation = 'shared'"), "`c`"),
            (
                &format!("processors = 1\n[config]\nscheme = 'nested'\n{GUEST}sections = [{{ name = 'x' }}]"),
                "no section x",
            ),
            (&format!("processors = 1\n{GUEST}sections = [{{ name = 'x', acess = 'rw' }}]"), "acess"),
            (&format!("processors = 1\n{GUEST}[config]\nscheem = 1"), "scheem"),
        ] {
            let failure = read_text(text).err().unwrap_or_else(|| panic!("{text} is accepted")).to_string();
            assert!(failure.contains(word), "{text}: {failure}");
        }
    }
}
