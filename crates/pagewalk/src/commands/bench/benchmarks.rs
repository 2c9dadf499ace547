//! What `bench` runs: the workloads that stress translation, a boot, and ordinary programs.

use super::temporary::temporary;
use crate::cli::{FileSpec, LinuxArgs, WorkloadSpec};
use crate::error::Failure;
use crate::guest::{COMPUTE, Cache, Memory, fetched_sets};
use crate::runs::image::{GuestKind, Prepared, Work, prepare};
use keys::suggestion::unknown;
use std::os::unix::fs::PermissionsExt;

/// The name of all ordinary programs together.
const PROGRAMS: &str = "programs";

/// Where the programs that compute are in the guest.
const COMPUTE_PATH: &str = "/pagewalk-compute";

/// What a benchmark is.
enum Kind {
    /// A workload of `vos`: its size, and other options. Linux runs it as well.
    Workload { size: &'static str, others: &'static str },
    /// Linux, from its first instruction to a shell's command.
    Boot,
    /// A program that computes, with its options, in Linux.
    Compute { options: &'static str },
    /// A program of a package set, in Linux: what is not measured before it, and the command.
    Package { set: &'static str, before: &'static str, command: &'static str },
}

/// A benchmark.
pub(super) struct Benchmark {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    kind: Kind,
}

const fn workload(name: &'static str, size: &'static str, others: &'static str, about: &'static str) -> Benchmark {
    Benchmark { name, about, kind: Kind::Workload { size, others } }
}

const fn compute(name: &'static str, options: &'static str, about: &'static str) -> Benchmark {
    Benchmark { name, about, kind: Kind::Compute { options } }
}

const BENCHMARKS: [Benchmark; 18] = [
    workload("gups", "256M", "updates=20M", "random updates of 256 MiB"),
    workload("sieve", "16M", "", "sieve of Eratosthenes"),
    workload("triad", "64M", "", "3 arrays of 64 MiB, aligned to each other"),
    workload("triadp", "64M", "", "the same, staggered"),
    workload("qsort", "8M", "", "quicksort of 8 MiB"),
    Benchmark { name: "linux-boot", about: "Debian's kernel, to a command's end", kind: Kind::Boot },
    compute("crc", "iterations=512", "CRC-32, a bit at a time"),
    compute("matmul", "iterations=3000", "products of 32 x 32 doubles"),
    compute("list", "iterations=200000", "walks of a list in L1"),
    compute("states", "iterations=2000", "a state machine over a text"),
    compute("json", "iterations=300", "a parser of JSON"),
    compute("records", "iterations=60000", "records and calls, as in Dhrystone"),
    compute("core", "iterations=25000", "lists, matrices, CRCs, as in CoreMark"),
    compute("btree", "size=256K updates=4M", "lookups in a B-tree"),
    Benchmark {
        name: "python",
        about: "python3: dictionaries, lists and strings",
        kind: Kind::Package {
            set: "python",
            before: "",
            command: r#"python3 -S -c '
def words(n):
    counts = {}
    for i in range(n):
        word = "w%d" % (i * 7919 % 1000)
        counts[word] = counts.get(word, 0) + len(word)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

class Node:
    def __init__(self, value):
        self.value, self.left, self.right = value, None, None

    def insert(self, value):
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        child.insert(value) if child else setattr(self, side, Node(value))

root = Node(500000)
for i in range(20000):
    root.insert(i * 7919 % 1000003)
assert len(words(200000)) == 1000
'"#,
        },
    },
    Benchmark {
        name: "deflate",
        about: "gzip -9 of a program, and back",
        kind: Kind::Package {
            set: "compressors",
            before: "cat /usr/bin/busybox > /tmp/data",
            command: "/usr/bin/gzip -n -9 -c /tmp/data > /tmp/data.gz && /usr/bin/gzip -d -c /tmp/data.gz | cmp - /tmp/data",
        },
    },
    Benchmark {
        name: "sqlite",
        about: "sqlite3: insert, index and join in memory",
        kind: Kind::Package {
            set: "sqlite3",
            before: "",
            command: r#"test "$(sqlite3 :memory: '
CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
  INSERT INTO t SELECT i, i * 7919 % 10007, printf("name %d", i) FROM n;
CREATE INDEX by_k ON t (k);
SELECT count(*) FROM t a JOIN t b ON a.k = b.id AND length(b.name) > 8;')" = 36004"#,
        },
    },
    Benchmark {
        name: "gcc",
        about: "gcc -O2 of a file of 60 functions",
        kind: Kind::Package {
            set: "gcc",
            before: r#"i=0; while [ $i -lt 60 ]; do i=$((i + 1)); echo "
struct s$i { struct s$i *next; int key; long sum; };
long f$i(struct s$i *s, int *a, int n) { long t = 0; for (int i = 0; i < n; i++) { if (a[i] > $i) t += a[i] * $i;
else switch (a[i] & 7) { case 0: t ^= i; break; case 3: t -= n; break; case 5: t <<= 1; break; default: t++; } }
for (; s; s = s->next) { s->sum += t; if (s->key == n) break; } return t; }"; done > /tmp/many.c"#,
            command: "gcc -O2 -c /tmp/many.c -o /tmp/many.o",
        },
    },
];

/// The shell's words for a benchmark in Linux: what is not measured, and what is.
pub(super) struct Script {
    pub(super) before: String,
    pub(super) command: String,
}

/// A benchmark that was requested, with the user's size if one was given.
pub(super) struct Requested {
    pub(super) benchmark: &'static Benchmark,
    pub(super) size: Option<String>,
}

impl Requested {
    /// The size to check before a guest boots, of a workload.
    pub(super) fn size_of_workload(&self) -> Option<&str> {
        matches!(self.benchmark.kind, Kind::Workload { .. }).then_some(self.size.as_deref()).flatten()
    }

    /// Whether the region of interest is measured, rather than the whole run.
    pub(super) fn has_region(&self) -> bool {
        !matches!(self.benchmark.kind, Kind::Boot)
    }

    /// What Linux runs; `None` of the boot, which is no program.
    pub(super) fn script(&self) -> Option<Script> {
        let sized = |default: &str, others: &str| {
            let size = self.size.as_deref().unwrap_or(default);
            if size.is_empty() { others.to_owned() } else { format!("size={size} {others}") }
        };
        let name = self.benchmark.name;
        let (before, command) = match self.benchmark.kind {
            Kind::Boot => return None,
            Kind::Workload { size, others } => {
                (String::new(), format!("pagewalk-workloads {name} {}", sized(size, others)))
            }
            Kind::Compute { options } => (String::new(), format!("{COMPUTE_PATH} {name} {}", sized("", options))),
            Kind::Package { before, command, .. } => (before.to_owned(), command.to_owned()),
        };
        Some(Script { before, command })
    }

    /// The guest for the benchmark.
    ///
    /// # Errors
    /// [`Failure`], if it cannot be made ready.
    pub(super) fn prepared(&self, linux: &LinuxArgs) -> Result<Prepared, Failure> {
        match self.benchmark.kind {
            Kind::Workload { size, others } => {
                let options = format!("size={} {others}", self.size.as_deref().unwrap_or(size));
                let work = Work::Workload { name: self.benchmark.name.to_owned(), options };
                prepare(GuestKind::Vos, work, linux, Memory::OfKernel)
            }
            Kind::Boot => in_linux("true".to_owned(), linux),
            Kind::Compute { .. } | Kind::Package { .. } => {
                let Script { before, command } = self.script().expect("it is a program");
                let separator = if before.is_empty() { "" } else { "\n" };
                self.prepared_for(format!("{before}{separator}{command}"), linux)
            }
        }
    }

    /// Linux, with the files of the benchmark, that runs `text`.
    ///
    /// # Errors
    /// As [`Self::prepared`].
    pub(super) fn prepared_for(&self, text: String, linux: &LinuxArgs) -> Result<Prepared, Failure> {
        match self.benchmark.kind {
            Kind::Workload { .. } | Kind::Boot => in_linux(text, linux),
            Kind::Package { set, .. } => {
                self.check_set(set, linux)?;
                in_linux(text, linux)
            }
            Kind::Compute { .. } => {
                let program = temporary(COMPUTE)?;
                let executable = program.as_file().set_permissions(PermissionsExt::from_mode(0o755));
                executable.map_err(|error| Failure::Run(format!("a temporary file: {error}")))?;
                let file = FileSpec { host: program.path().to_owned(), guest: COMPUTE_PATH.to_owned() };
                in_linux(text, &LinuxArgs { files: vec![file], ..linux.clone() })
            }
        }
    }

    /// Refuses a program whose package set is not in the cache.
    fn check_set(&self, set: &str, linux: &LinuxArgs) -> Result<(), Failure> {
        let sets = fetched_sets(&Cache::locate(linux.cache.directory.as_deref())?)?;
        if sets.iter().any(|fetched| fetched.name == set) {
            return Ok(());
        }
        let name = self.benchmark.name;
        Err(Failure::Usage(format!("--workload: {name} needs programs: `pagewalk guest fetch {set}` brings them")))
    }
}

fn in_linux(text: String, linux: &LinuxArgs) -> Result<Prepared, Failure> {
    prepare(GuestKind::Linux, Work::Command(text), linux, Memory::OfKernel)
}

/// What is run where nothing is requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    /// The workloads that stress translation, and the boot.
    Stress,
    /// The ordinary programs, and random updates.
    Programs,
}

/// The requested benchmarks.
///
/// # Errors
/// [`Failure::Usage`]: one that does not exist, or has no size.
pub(super) fn requested(specs: &[WorkloadSpec], default: Selection) -> Result<Vec<Requested>, Failure> {
    let all = |wanted: &dyn Fn(&Benchmark) -> bool| {
        let found = BENCHMARKS.iter().filter(|benchmark| wanted(benchmark));
        found.map(|benchmark| Requested { benchmark, size: None }).collect::<Vec<_>>()
    };
    let is_program = |benchmark: &Benchmark| matches!(benchmark.kind, Kind::Compute { .. } | Kind::Package { .. });
    if specs.is_empty() {
        return Ok(match default {
            Selection::Stress => all(&|benchmark| !is_program(benchmark)),
            Selection::Programs => all(&|benchmark| is_program(benchmark) || benchmark.name == "gups"),
        });
    }
    let mut found = Vec::new();
    for spec in specs {
        if spec.name == PROGRAMS {
            found.extend(all(&is_program));
            continue;
        }
        let benchmark = BENCHMARKS.iter().find(|benchmark| benchmark.name == spec.name).ok_or_else(|| {
            let known = BENCHMARKS.iter().map(|benchmark| benchmark.name).chain([PROGRAMS]);
            Failure::Usage(format!("--workload: {}", unknown("benchmark", &spec.name, known)))
        })?;
        if spec.size.is_some() && matches!(benchmark.kind, Kind::Boot | Kind::Package { .. }) {
            return Err(Failure::Usage(format!("--workload: {} has no size", spec.name)));
        }
        found.push(Requested { benchmark, size: spec.size.clone() });
    }
    Ok(found)
}
