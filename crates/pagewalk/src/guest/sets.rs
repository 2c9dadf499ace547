//! Which Debian packages make which part of the Linux guest.

/// What `boot --guest linux` needs: kernel, modules and busybox.
pub const BASE: &str = "base";

/// The shared libraries of Debian's compilers, for a user's own program.
pub const LIBRARIES: &str = "libraries";

/// The metapackage that depends on the newest kernel.
pub(crate) const KERNEL_METAPACKAGE: &str = "linux-image-riscv64";

/// A group of packages under one name.
#[derive(Clone, Copy, Debug)]
pub struct PackageSet {
    /// Its name in commands.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// The requested packages; apt adds what they depend on.
    pub packages: &'static [&'static str],
    /// Whether a plain `guest fetch` brings it.
    pub fetched_by_default: bool,
    /// Variables that its programs need, exported before the user's command runs.
    pub environment: &'static [(&'static str, &'static str)],
    /// Files that its programs look for, by guest path.
    pub files: &'static [(&'static str, &'static str)],
}

const PLAIN: PackageSet =
    PackageSet { name: "", summary: "", packages: &[], fetched_by_default: true, environment: &[], files: &[] };

/// Brought only where it is named.
const EXTRA: PackageSet = PackageSet { fetched_by_default: false, ..PLAIN };

/// The sets that Pagewalk knows; any other name is taken for a Debian package.
pub const PACKAGE_SETS: &[PackageSet] = &[
    PackageSet {
        name: BASE,
        summary: "Linux kernel, its virtio and ext4 modules, busybox",
        packages: &[KERNEL_METAPACKAGE, "busybox-static"],
        ..PLAIN
    },
    PackageSet {
        name: LIBRARIES,
        summary: "C, C++, OpenMP and zlib shared libraries, for your own programs",
        packages: &["libc6", "libgcc-s1", "libstdc++6", "libgomp1", "libatomic1", "zlib1g"],
        ..PLAIN
    },
    PackageSet {
        name: "memcached",
        summary: "key-value cache, with the load generator memcaslap",
        packages: &["memcached", "libmemcached-tools"],
        ..PLAIN
    },
    PackageSet {
        name: "redis",
        summary: "in-memory database, with redis-benchmark",
        packages: &["redis-server", "redis-tools"],
        ..PLAIN
    },
    PackageSet { name: "sqlite", summary: "SQL database and its shell", packages: &["sqlite3"], ..PLAIN },
    PackageSet {
        name: "hpcc",
        summary: "HPC Challenge: RandomAccess, STREAM, LINPACK",
        packages: &["hpcc", "openmpi-common"],
        environment: &[
            // BLAS, LAPACK and Open MPI stand beside the library path and are found through ldconfig's cache, which only
            // an installation writes.
            (
                "LD_LIBRARY_PATH",
                "/usr/lib/riscv64-linux-gnu/blas:/usr/lib/riscv64-linux-gnu/lapack:/usr/lib/riscv64-linux-gnu/openmpi/lib",
            ),
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ],
        files: &[("hpccinf.txt", include_str!("hpccinf.txt"))],
        ..PLAIN
    },
    PackageSet { name: "stress-ng", summary: "stressors of each part of a kernel", packages: &["stress-ng"], ..EXTRA },
    PackageSet { name: "gcc", summary: "C compiler, with headers", packages: &["gcc", "libc6-dev"], ..EXTRA },
    PackageSet {
        name: "rt-tests",
        summary: "hackbench, and latency tests of schedulers",
        packages: &["rt-tests"],
        ..EXTRA
    },
    PackageSet {
        name: "sysbench",
        summary: "benchmarks of threads, memory, mutexes",
        packages: &["sysbench"],
        ..EXTRA
    },
    PackageSet {
        name: "perf",
        summary: "counts of events of a program or the system, by the SBI's counters",
        packages: &["linux-perf"],
        ..EXTRA
    },
    PackageSet { name: "ssh", summary: "dropbear, a server and client for ssh", packages: &["dropbear-bin"], ..EXTRA },
    PackageSet { name: "perl", summary: "Perl interpreter", packages: &["perl-base"], ..EXTRA },
    PackageSet { name: "python", summary: "Python interpreter", packages: &["python3-minimal"], ..EXTRA },
    PackageSet { name: "lua", summary: "Lua interpreter", packages: &["lua5.4"], ..EXTRA },
    PackageSet {
        name: "compressors",
        summary: "xz, zstd, bzip2, gzip",
        packages: &["xz-utils", "zstd", "bzip2", "gzip"],
        ..EXTRA
    },
];

/// Packages taken for installed, so that apt leaves them out of whatever depends on them: they serve installation scripts and
/// system services, which a guest without installation never runs, plug-ins that open graphics, databases, sanitizers. Each would
/// bring megabytes into every guest. A set that names one still brings it.
pub(crate) const STAND_INS: &[&str] = &[
    "adduser",
    "base-passwd",
    "coreutils",
    "debconf",
    "debconf-2.0",
    "dpkg",
    "init-system-helpers",
    "initramfs-tools",
    "kmod",
    "libasan8",
    "libcc1-0",
    "libcrypt-dev",
    "libdrm-amdgpu1",
    "libegl-mesa0",
    "libgprofng0",
    "libhwloc-plugins",
    "libitm1",
    "libllvm19",
    "liblsan0",
    "libpam-modules",
    "libpam-modules-bin",
    "libpam0g",
    "libtsan2",
    "libubsan1",
    "libwayland-server0",
    "libx11-xcb1",
    "libxcb-dri3-0",
    "libxcb-present0",
    "libxcb-randr0",
    "libxcb-sync1",
    "libxcb-xfixes0",
    "libxcb1",
    "libxshmfence1",
    "linux-base",
    "login.defs",
    "lsb-base",
    "mariadb-common",
    "mount",
    "mpi-default-bin",
    "mysql-common",
    "openmpi-bin",
    "openssh-client",
    "openssl-provider-legacy",
    "passwd",
    "perl",
    "perl-base",
    "python3",
    "readline-common",
    "rpcsvc-proto",
    "systemd",
    "sysvinit-utils",
    "tar",
    "ucf",
    "udev",
];

/// The set of the kernel of `release`, as `uname -r` prints it: Debian's package of that kernel.
pub(crate) fn kernel_set(release: &str) -> String {
    format!("linux-image-{release}")
}

/// The built-in set called `name`.
#[must_use]
pub fn package_set(name: &str) -> Option<&'static PackageSet> {
    PACKAGE_SETS.iter().find(|set| set.name == name)
}

/// The packages to ask apt for under `name`: those of a built-in set, or the Debian package of that name.
pub(crate) fn packages_of(name: &str) -> Vec<&str> {
    package_set(name).map_or_else(|| vec![name], |set| set.packages.to_vec())
}
