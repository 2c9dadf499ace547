//! The programs, their sizes, and what an operation of each is.

/// A program of `guests/`, built for the guest and for this machine from one source.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// What it does, in a few words.
    pub(crate) about: &'static str,
    pub(crate) sizes: [&'static str; 3],
    /// Its other options.
    options: &'static str,
    /// What an operation is.
    pub(crate) operation: &'static str,
    operations: Operations,
    /// Whether models may be tuned by it.
    pub(crate) tuning: Tuning,
}

/// Whether models may be tuned by a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tuning {
    /// They may.
    Allowed,
    /// They may not, so that it says how well a model does on what it was not made for.
    HeldOut,
}

/// How many operations a run has made, by the figures that it prints.
#[derive(Clone, Copy, Debug)]
enum Operations {
    /// The figure of this name.
    Figure(&'static str),
    /// The sum of two.
    Sum(&'static str, &'static str),
    /// Words of 8 bytes of an array, for each of its iterations, and of this many loops in an iteration.
    Words(u64),
}

/// All of them.
pub(crate) const PROGRAMS: [Program; 11] = [
    Program {
        name: "gups",
        about: "random updates",
        sizes: ["16M", "64M", "256M"],
        options: "updates=1M",
        operation: "update",
        operations: Operations::Figure("updates"),
        tuning: Tuning::Allowed,
    },
    Program {
        name: "chase",
        about: "dependent loads",
        sizes: ["16M", "64M", "256M"],
        options: "updates=1M",
        operation: "load",
        operations: Operations::Figure("operations"),
        tuning: Tuning::Allowed,
    },
    Program {
        name: "stream",
        about: "copy, scale, add, triad",
        sizes: ["4M", "16M", "64M"],
        options: "iterations=2",
        operation: "element",
        operations: Operations::Words(4),
        tuning: Tuning::Allowed,
    },
    Program {
        name: "triad",
        about: "three arrays aligned to one another",
        sizes: ["4M", "16M", "64M"],
        options: "iterations=2",
        operation: "element",
        operations: Operations::Words(1),
        tuning: Tuning::Allowed,
    },
    Program {
        name: "bfs",
        about: "breadth-first search",
        sizes: ["13", "15", "17"],
        options: "iterations=1",
        operation: "edge",
        operations: Operations::Figure("edges"),
        tuning: Tuning::HeldOut,
    },
    Program {
        name: "kv",
        about: "hash table under Zipf keys",
        sizes: ["16M", "64M", "256M"],
        options: "iterations=200K",
        operation: "request",
        operations: Operations::Sum("gets", "sets"),
        tuning: Tuning::HeldOut,
    },
    Program {
        name: "sieve",
        about: "sieve of Eratosthenes",
        sizes: ["4M", "16M", "32M"],
        options: "",
        operation: "number",
        operations: Operations::Figure("limit"),
        tuning: Tuning::Allowed,
    },
    Program {
        name: "qsort",
        about: "quicksort",
        sizes: ["1M", "4M", "16M"],
        options: "",
        operation: "element",
        operations: Operations::Figure("elements"),
        tuning: Tuning::Allowed,
    },
    Program {
        name: "hashjoin",
        about: "probes of a hash join",
        sizes: ["16M", "64M", "256M"],
        options: "updates=512K",
        operation: "probe",
        operations: Operations::Figure("operations"),
        tuning: Tuning::HeldOut,
    },
    Program {
        name: "btree",
        about: "lookups in a B+-tree",
        sizes: ["16M", "64M", "256M"],
        options: "updates=256K",
        operation: "lookup",
        operations: Operations::Figure("operations"),
        tuning: Tuning::HeldOut,
    },
    Program {
        name: "spmv",
        about: "sparse matrix times vector",
        sizes: ["2M", "8M", "16M"],
        options: "iterations=1",
        operation: "element",
        operations: Operations::Figure("operations"),
        tuning: Tuning::HeldOut,
    },
];

/// A program at one of its sizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) program: &'static Program,
    pub(crate) size: &'static str,
}

/// The programs of these names, or all, at this many of their sizes.
pub(crate) fn points(programs: &[&'static Program], sizes: usize) -> Vec<Point> {
    let of_program =
        |&program: &&'static Program| program.sizes[..sizes].iter().map(move |size| Point { program, size });
    programs.iter().flat_map(of_program).collect()
}

/// What a run has printed of its measured part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Figures {
    /// Nanoseconds of an operation.
    pub(crate) ns: f64,
}

impl Point {
    /// `size=…` and the program's other options, separated by spaces.
    pub(crate) fn options(&self) -> String {
        let Self { program, size } = self;
        format!("size={size} {}", program.options).trim_end().to_owned()
    }

    /// What reports call it.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.program.name, self.size)
    }

    /// Reads the line that the program prints at its end.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn figures(&self, output: &str) -> Result<Figures, String> {
        let name = self.program.name;
        let line = output.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        let line = line.ok_or_else(|| format!("{name} printed no result"))?;
        let figures = line.strip_prefix("ok ").ok_or_else(|| format!("{name}: {line}"))?;
        let figure = |key: &str| {
            let pairs = || figures.split_whitespace().filter_map(|word| word.split_once('='));
            let value = pairs().find(|(name, _)| *name == key).and_then(|(_, value)| value.parse::<u64>().ok());
            value.ok_or_else(|| format!("{name} printed no {key}="))
        };
        let operations = match self.program.operations {
            Operations::Figure(key) => figure(key)?,
            Operations::Sum(a, b) => figure(a)? + figure(b)?,
            Operations::Words(loops) => figure("array")? / 8 * figure("iterations")? * loops,
        };
        Ok(Figures { ns: figure("ns")? as f64 / operations.max(1) as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str) -> Point {
        let program = PROGRAMS.iter().find(|program| program.name == name).unwrap();
        Point { program, size: program.sizes[0] }
    }

    #[test]
    fn operations_follow_from_what_programs_print() {
        let ns = |name: &str, line: &str| point(name).figures(line).map(|figures| figures.ns);
        assert_eq!(ns("gups", "gups: ok table=16777216 updates=1000 errors=0 ns=5000 gups=0.2\n"), Ok(5.0));
        assert_eq!(ns("kv", "vos: booted\nkv: ok items=8 gets=300 sets=100 ns=800 requests_s=1\n"), Ok(2.0));
        assert_eq!(ns("stream", "stream: ok array=800 iterations=2 ns=1600 copy_mb_s=1.0\n"), Ok(2.0));
        assert_eq!(ns("sieve", "sieve: FAILED 3\n"), Err("sieve: FAILED 3".to_owned()));
        assert!(ns("bfs", "bfs: ok scale=13 ns=1\n").unwrap_err().contains("edges="));
        assert!(ns("bfs", "").unwrap_err().contains("no result"));
    }

    #[test]
    fn there_are_ten_programs_and_four_are_held_out() {
        assert!(PROGRAMS.len() >= 10);
        assert!(PROGRAMS.iter().filter(|program| program.tuning == Tuning::HeldOut).count() >= 4);
        assert_eq!(points(&PROGRAMS.iter().collect::<Vec<_>>(), 3).len(), 33);
        assert_eq!(point("gups").options(), "size=16M updates=1M");
        assert_eq!(point("qsort").options(), "size=1M");
    }
}
