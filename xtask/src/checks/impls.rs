//! In how many files a type's inherent `impl` blocks live: a type that gains a method in every file of its crate has no boundary of its own.
//! Blocks that implement a trait do not count, nor does test code.

use super::cycles::{ModuleTree, crate_roots};
use crate::failure::Failure;
use crate::process::root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Item, Type};

/// The most files with inherent `impl` blocks of a type.
const MOST_FILES: usize = 3;

/// Types that have more, each with its crate and how many: the number may fall, and may not rise.
const KNOWN: &[(&str, &str, usize)] = &[
    ("config", "Config", 5),
    ("config", "HostModel", 6),
    ("hart", "Emitter", 6),
    ("hart", "Hart", 5),
    ("hypervisor", "RadixShadow", 6),
    ("hypervisor", "Scheduler", 4),
    ("hypervisor", "SectionManager", 5),
    ("hypervisor", "Shadow", 14),
    ("hypervisor", "Vm", 7),
    ("hypervisor", "VmMemory", 6),
    ("machine", "Machine", 20),
    ("mmu", "Mmu", 8),
];

/// A type's name, how many types of the crate have it, and the files with its blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Blocks {
    /// Types of one name cannot be told apart here, so each adds to how many files there may be.
    definitions: usize,
    files: BTreeSet<PathBuf>,
}

/// No type of the workspace has inherent `impl` blocks in too many files.
pub(crate) fn check() -> Result<(), Failure> {
    let mut scattered = 0;
    for (name, root_file) in crate_roots(&root())? {
        for (kind, blocks) in find_scattered(&name, &root_file)? {
            let known = KNOWN.iter().find(|known| (known.0, known.1) == (name.as_str(), kind.as_str()));
            let most = known.map_or(MOST_FILES * blocks.definitions.max(1), |known| known.2);
            if blocks.files.len() <= most {
                continue;
            }
            println!("{name}: `{kind}` has impl blocks in {} files, of at most {most}", blocks.files.len());
            for file in &blocks.files {
                println!("    {}", file.strip_prefix(root()).unwrap_or(file).display());
            }
            scattered += 1;
        }
    }
    if scattered == 0 { Ok(()) } else { Err(format!("impl blocks of {scattered} types are in too many files")) }
}

/// The types of the crate `name` whose blocks are in too many files.
fn find_scattered(name: &str, root_file: &Path) -> Result<BTreeMap<String, Blocks>, Failure> {
    let tree = ModuleTree::read(name, root_file)?;
    let mut types: BTreeMap<String, Blocks> = BTreeMap::new();
    for (_, module) in tree.modules() {
        for item in &module.items {
            match item {
                Item::Struct(item) => types.entry(item.ident.to_string()).or_default().definitions += 1,
                Item::Enum(item) => types.entry(item.ident.to_string()).or_default().definitions += 1,
                Item::Union(item) => types.entry(item.ident.to_string()).or_default().definitions += 1,
                Item::Impl(block) if block.trait_.is_none() => {
                    if let Type::Path(path) = &*block.self_ty
                        && let Some(segment) = path.path.segments.last()
                    {
                        types.entry(segment.ident.to_string()).or_default().files.insert(module.file.clone());
                    }
                }
                // Other items define no type and have no blocks; `Item` may grow.
                _ => {}
            }
        }
    }
    types.retain(|_, blocks| blocks.files.len() > MOST_FILES * blocks.definitions.max(1));
    Ok(types)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_with_blocks_in_a_fourth_file_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        let root_file = directory.path().join("lib.rs");
        write("lib.rs", "mod a; mod b; mod c; struct Wide; struct Fine; impl Wide {} impl Fine {} impl Wide {}");
        write("a.rs", "impl crate::Wide {} impl crate::Fine {}");
        write("b.rs", "impl crate::Wide {} impl crate::Fine {} impl Clone for crate::Wide {}");
        write("c.rs", "#[cfg(test)] mod tests { impl crate::Fine {} } impl Clone for crate::Wide {}");
        assert_eq!(find_scattered("crate", &root_file).unwrap(), BTreeMap::new());
        write("c.rs", "mod inner { impl<'a> crate::Wide {} }");
        let found = find_scattered("crate", &root_file).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["Wide"]);
        assert_eq!(found["Wide"].files.len(), MOST_FILES + 1);
    }
}
