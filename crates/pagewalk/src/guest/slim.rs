//! Kernel modules without what only a debugger and a signature check read.
//!
//! RISC-V's assembler leaves a local label for nearly every line of code in a module's symbol table, since linker relaxation
//! may move any of them: 216 000 symbols of 24 bytes in ext4, of which relocations name 2 000. The kernel copies and walks
//! them all, twice, whenever it loads the module: 1.2 G guest instructions for ext4. Code, data and the symbols that
//! anything refers to stay as they are.

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64, Rela64, SectionHeader64, Sym64};
use object::pod::{bytes_of, bytes_of_slice};
use object::read::elf::{FileHeader, SectionHeader};

/// What ends a signed module; the signature's length stands before it, with what describes it (Linux
/// `include/linux/module_signature.h`).
const SIGNATURE_MARK: &[u8] = b"~Module signature appended~\n";
/// Length of `struct module_signature`, whose last four bytes are the signature's length, most significant first.
const SIGNATURE_HEADER: usize = 12;

/// `module` without its signature, which no longer fits, and without local labels that no relocation names. `None` if its
/// symbol table is referred to in a way that this does not rewrite; the module is then best left as it is.
pub(crate) fn slimmed(module: &[u8]) -> Option<Vec<u8>> {
    let module = unsigned(module);
    let header = FileHeader64::<LE>::parse(module).ok()?;
    let sections = header.section_headers(LE, module).ok()?;
    let (table, symbol_section) = only(sections, |section| section.sh_type.get(LE) == elf::SHT_SYMTAB)?;
    let rewritten =
        |section: &SectionHeader64<LE>| section.sh_link.get(LE) as usize != table || is_relocations(section);
    if !sections.iter().all(rewritten) {
        return None;
    }
    let symbols: &[Sym64<LE>] = symbol_section.data_as_array(LE, module).ok()?;
    let names = sections.get(symbol_section.sh_link.get(LE) as usize)?.data(LE, module).ok()?;

    let mut kept: Vec<bool> = symbols.iter().map(|symbol| !is_label(symbol, names)).collect();
    for section in sections.iter().filter(|section| is_relocations(section)) {
        let relocations: &[Rela64<LE>] = section.data_as_array(LE, module).ok()?;
        for relocation in relocations {
            *kept.get_mut(relocation.r_sym(LE, false) as usize)? = true;
        }
    }
    let mut renumbered = Vec::with_capacity(symbols.len());
    let mut next = 0;
    for &kept in &kept {
        renumbered.push(next);
        next += u32::from(kept);
    }
    // Local symbols come first in a table; sh_info is the number of the first global one.
    let locals = *renumbered.get(symbol_section.sh_info.get(LE) as usize)?;
    let symbols: Vec<Sym64<LE>> =
        symbols.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(symbol, _)| *symbol).collect();

    let mut output = bytes_of(header).to_vec();
    let mut headers = sections.to_vec();
    for (section, header) in sections.iter().zip(&mut headers) {
        let content = if section.sh_type.get(LE) == elf::SHT_SYMTAB {
            header.sh_info.set(LE, locals);
            bytes_of_slice(&symbols).to_vec()
        } else if is_relocations(section) {
            let mut relocations = section.data_as_array::<Rela64<LE>, _>(LE, module).ok()?.to_vec();
            for relocation in &mut relocations {
                let symbol = renumbered[relocation.r_sym(LE, false) as usize];
                relocation.set_r_info(LE, false, symbol, relocation.r_type(LE, false));
            }
            bytes_of_slice(&relocations).to_vec()
        } else {
            section.data(LE, module).ok()?.to_vec()
        };
        align(&mut output, section.sh_addralign.get(LE))?;
        header.sh_offset.set(LE, output.len() as u64);
        if section.sh_type.get(LE) != elf::SHT_NOBITS {
            header.sh_size.set(LE, content.len() as u64);
        }
        output.extend(content);
    }
    align(&mut output, 8)?;
    let mut header = *header;
    header.e_shoff.set(LE, output.len() as u64);
    output[..size_of::<FileHeader64<LE>>()].copy_from_slice(bytes_of(&header));
    output.extend(bytes_of_slice(&headers));
    Some(output)
}

fn unsigned(module: &[u8]) -> &[u8] {
    let cut = || {
        let signed = module.strip_suffix(SIGNATURE_MARK)?;
        let (rest, length) = signed.split_last_chunk::<4>()?;
        let signature = u32::from_be_bytes(*length) as usize + SIGNATURE_HEADER - length.len();
        rest.get(..rest.len().checked_sub(signature)?)
    };
    cut().unwrap_or(module)
}

/// The one section that `wanted` names, with its number; `None` if there is none, or more.
fn only(
    sections: &[SectionHeader64<LE>],
    wanted: impl Fn(&SectionHeader64<LE>) -> bool,
) -> Option<(usize, &SectionHeader64<LE>)> {
    let mut found = sections.iter().enumerate().filter(|(_, section)| wanted(section));
    let first = found.next();
    if found.next().is_none() { first } else { None }
}

fn is_relocations(section: &SectionHeader64<LE>) -> bool {
    section.sh_type.get(LE) == elf::SHT_RELA
}

/// Whether `symbol` is a compiler's label (`.L…`) or marks where code and data begin (`$x…`, `$d`).
fn is_label(symbol: &Sym64<LE>, names: &[u8]) -> bool {
    let name = names.get(symbol.st_name.get(LE) as usize..).unwrap_or_default();
    symbol.st_bind() == elf::STB_LOCAL
        && symbol.st_type() == elf::STT_NOTYPE
        && (name.starts_with(b".L") || name.starts_with(b"$"))
}

/// Pads `output` to a multiple of `alignment`, where 0 stands for 1. `None` if that is no alignment of a section.
fn align(output: &mut Vec<u8>, alignment: u64) -> Option<()> {
    const LARGEST: u64 = 1 << 16;
    if alignment > LARGEST {
        return None;
    }
    output.resize(output.len().next_multiple_of(alignment.max(1) as usize), 0);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::elf::ElfFile64;
    use object::write::{Object as Output, Relocation, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, Object, ObjectSection, ObjectSymbol};
    use object::{RelocationFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

    /// A module with labels that are referred to, and ten times as many that are not.
    fn module() -> Vec<u8> {
        let mut output = Output::new(BinaryFormat::Elf, Architecture::Riscv64, Endianness::Little);
        let text = output.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        output.append_section_data(text, &[0x13; 400], 4);
        let symbol = |name: String, value, scope| Symbol {
            name: name.into_bytes(),
            value,
            size: 0,
            kind: SymbolKind::Label,
            scope,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        };
        for index in 0..100_u64 {
            let label = output.add_symbol(symbol(format!(".L{index}"), 4 * index, SymbolScope::Compilation));
            if index % 10 == 3 {
                let flags = RelocationFlags::Elf { r_type: elf::R_RISCV_CALL_PLT };
                let relocation = Relocation { offset: index, symbol: label, addend: index as i64, flags };
                output.add_relocation(text, relocation).unwrap();
            }
        }
        output.add_symbol(symbol("local".to_owned(), 8, SymbolScope::Compilation));
        output.add_symbol(symbol("global".to_owned(), 12, SymbolScope::Linkage));
        output.write().unwrap()
    }

    /// Name and address of every relocation's symbol, with its place and addend.
    fn relocations(module: &[u8]) -> Vec<(u64, i64, String, u64)> {
        let elf = ElfFile64::<LE>::parse(module).unwrap();
        let text = elf.section_by_name(".text").unwrap();
        text.relocations()
            .map(|(offset, relocation)| {
                let object::RelocationTarget::Symbol(index) = relocation.target() else { panic!("a symbol") };
                let symbol = elf.symbol_by_index(index).unwrap();
                (offset, relocation.addend(), symbol.name().unwrap().to_owned(), symbol.address())
            })
            .collect()
    }

    #[test]
    fn what_is_referred_to_stays_and_the_rest_goes() {
        let before = module();
        let after = slimmed(&before).unwrap();
        assert_eq!(relocations(&after), relocations(&before));
        let (old, new) = (ElfFile64::<LE>::parse(&*before).unwrap(), ElfFile64::<LE>::parse(&*after).unwrap());
        assert_eq!(new.section_by_name(".text").unwrap().data(), old.section_by_name(".text").unwrap().data());
        let names: Vec<_> = new.symbols().filter_map(|symbol| symbol.name().ok()).collect();
        assert_eq!(names.iter().filter(|name| name.starts_with(".L")).count(), 10);
        assert!(names.contains(&"local") && names.contains(&"global"));
        assert_eq!(slimmed(&after), Some(after.clone()), "there is nothing more to take away");
    }

    #[test]
    fn a_signature_goes() {
        let plain = module();
        let signed = [&plain, &b"signature".repeat(3)[..], &[0; 8], &27_u32.to_be_bytes(), SIGNATURE_MARK].concat();
        assert_eq!(unsigned(&signed), plain);
        let lying = [&plain, &u32::MAX.to_be_bytes()[..], SIGNATURE_MARK].concat();
        assert_eq!(unsigned(&lying), lying, "a length beyond the file is not believed");
    }

    #[test]
    fn damaged_modules_are_left_alone() {
        let whole = module();
        for length in 0..whole.len() {
            slimmed(&whole[..length]);
        }
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 0xff;
            slimmed(&damaged);
        }
        assert_eq!(slimmed(b"no module"), None);
    }
}
