//! The process that an address space is of.

use crate::linux::Linux;
use crate::memory::{KernelMemory, half, non_null, pointer, string};
use types::{Gpa, Gva};

/// Processes that are looked at to find one.
const MOST_PROCESSES: usize = 1 << 14;
/// The bytes of a name (`TASK_COMM_LEN`).
const NAME_BYTES: u64 = 16;

/// A process, as it was when it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name (`comm`).
    pub name: String,
    /// `struct task_struct` of its first thread.
    task: u64,
    /// `struct mm_struct`
    pub(crate) mm: u64,
}

impl Linux {
    /// The process whose root table is at `root`. `before` is the one that it was when this was asked last.
    pub fn process(&self, memory: &impl KernelMemory, root: Gpa, before: Option<&Process>) -> Option<Process> {
        let same = before.filter(|process| self.mm(memory, process.task, root) == Some(process.mm));
        if let Some(process) = same {
            return self.describe(memory, process.task, process.mm);
        }
        let layout = &self.layout;
        let first = self.init_task.wrapping_add(layout.task_tasks);
        let mut entry = pointer(memory, first)?;
        for _ in 0..MOST_PROCESSES {
            if entry == first {
                return None;
            }
            let task = entry.wrapping_sub(layout.task_tasks);
            if let Some(mm) = self.mm(memory, task, root) {
                return self.describe(memory, task, mm);
            }
            entry = pointer(memory, entry)?;
        }
        None
    }

    /// The memory of a task, if its root table is at `root`.
    fn mm(&self, memory: &impl KernelMemory, task: u64, root: Gpa) -> Option<u64> {
        let mm = non_null(memory, task.wrapping_add(self.layout.task_mm))?;
        let table = non_null(memory, mm.wrapping_add(self.layout.mm_pgd))?;
        (memory.physical(Gva(table)) == Some(root)).then_some(mm)
    }

    fn describe(&self, memory: &impl KernelMemory, task: u64, mm: u64) -> Option<Process> {
        let pid = half(memory, task.wrapping_add(self.layout.task_tgid))?;
        let name = string(memory, task.wrapping_add(self.layout.task_comm), NAME_BYTES)?;
        Some(Process { pid, name, task, mm })
    }
}

#[cfg(test)]
impl Process {
    /// A process whose memory is described at `mm`, for tests.
    pub(crate) fn at(mm: u64) -> Self {
        Self { pid: 1, name: String::new(), task: 0, mm }
    }
}
