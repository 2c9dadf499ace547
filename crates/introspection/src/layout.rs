//! Where a kernel's structures have what is read of them.

use crate::btf::Btf;
use crate::maple::{MapleLayout, NodeLayout};

/// Parts of a node of a maple tree, at most: it has 256 bytes.
const MOST_PARTS: u64 = 32;

/// Offsets in bytes, each named by its structure and field.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) task_tasks: u64,
    pub(crate) task_mm: u64,
    pub(crate) task_tgid: u64,
    pub(crate) task_comm: u64,
    pub(crate) mm_pgd: u64,
    /// The root of the tree of areas.
    pub(crate) mm_areas: u64,
    pub(crate) mm_start_brk: u64,
    pub(crate) mm_brk: u64,
    pub(crate) mm_start_stack: u64,
    pub(crate) maple: MapleLayout,
    pub(crate) area_start: u64,
    pub(crate) area_end: u64,
    pub(crate) area_pages: u64,
    pub(crate) area_file: u64,
    pub(crate) area_operations: u64,
    pub(crate) area_private: u64,
    /// `CONFIG_ANON_VMA_NAME`
    pub(crate) area_name: Option<u64>,
    /// The text behind that.
    pub(crate) anonymous_name: Option<u64>,
    /// The name of a mapping that the kernel itself makes.
    pub(crate) special_name: u64,
    pub(crate) file_mount: u64,
    pub(crate) file_dentry: u64,
    pub(crate) dentry_parent: u64,
    pub(crate) dentry_name: u64,
    /// `struct vfsmount` in `struct mount`.
    pub(crate) mount_vfs: u64,
    pub(crate) mount_parent: u64,
    pub(crate) mount_mountpoint: u64,
    pub(crate) vfs_root: u64,
    pub(crate) kernel_page_offset: u64,
}

impl Layout {
    /// Of a kernel with these types; `None` if one of them is not as it is known here.
    pub(crate) fn of(btf: &Btf<'_>) -> Option<Self> {
        let node = |name: &str| {
            let (pivots, slots) = (btf.field(name, "pivot")?, btf.field(name, "slot")?);
            let count = btf.elements(slots).filter(|count| (2..=MOST_PARTS).contains(count))?;
            Some(NodeLayout { pivots: pivots.offset, slots: slots.offset, count })
        };
        Some(Self {
            task_tasks: btf.offset("task_struct", "tasks")?,
            task_mm: btf.offset("task_struct", "mm")?,
            task_tgid: btf.offset("task_struct", "tgid")?,
            task_comm: btf.offset("task_struct", "comm")?,
            mm_pgd: btf.offset("mm_struct", "pgd")?,
            mm_areas: btf.offset("mm_struct", "mm_mt.ma_root")?,
            mm_start_brk: btf.offset("mm_struct", "start_brk")?,
            mm_brk: btf.offset("mm_struct", "brk")?,
            mm_start_stack: btf.offset("mm_struct", "start_stack")?,
            maple: MapleLayout { range: node("maple_range_64")?, range_with_gaps: node("maple_arange_64")? },
            area_start: btf.offset("vm_area_struct", "vm_start")?,
            area_end: btf.offset("vm_area_struct", "vm_end")?,
            area_pages: btf.offset("vm_area_struct", "vm_pgoff")?,
            area_file: btf.offset("vm_area_struct", "vm_file")?,
            area_operations: btf.offset("vm_area_struct", "vm_ops")?,
            area_private: btf.offset("vm_area_struct", "vm_private_data")?,
            area_name: btf.offset("vm_area_struct", "anon_name"),
            anonymous_name: btf.offset("anon_vma_name", "name"),
            special_name: btf.offset("vm_special_mapping", "name")?,
            file_mount: btf.offset("file", "f_path.mnt")?,
            file_dentry: btf.offset("file", "f_path.dentry")?,
            dentry_parent: btf.offset("dentry", "d_parent")?,
            dentry_name: btf.offset("dentry", "d_name.name")?,
            mount_vfs: btf.offset("mount", "mnt")?,
            mount_parent: btf.offset("mount", "mnt_parent")?,
            mount_mountpoint: btf.offset("mount", "mnt_mountpoint")?,
            vfs_root: btf.offset("vfsmount", "mnt_root")?,
            kernel_page_offset: btf.offset("kernel_mapping", "page_offset")?,
        })
    }
}
