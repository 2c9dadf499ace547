//! The types that a kernel has of itself (BTF, Linux `Documentation/bpf/btf.rst`): at which offset a structure has a field.
//!
//! The format is small, and of the crates that read it one is under the LGPL, which Pagewalk's licence does not go with, and another reads files alone,
//! and no memory.

/// The magic number, the version, the flags and the length of the header, little-endian.
const HEADER: [u8; 8] = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0];
const HEADER_BYTES: usize = 24;
/// Bytes that every type begins with: name, kind and count, size or type.
const TYPE_BYTES: usize = 12;
/// Bytes of a member of a structure: name, type, offset in bits.
const MEMBER_BYTES: usize = 12;
/// More types than any kernel has.
const MOST_TYPES: usize = 1 << 22;
/// Headers that are tried: the bytes of one may be part of something else.
const MOST_HEADERS: usize = 16;
/// How deep structures without a name may lie in each other, and how many times a type may be another name for one.
const DEEPEST: usize = 16;

/// Kinds of types (`BTF_KIND_` in `include/uapi/linux/btf.h`).
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VAR: u32 = 14;
    pub(super) const DATASEC: u32 = 15;
    pub(super) const DECL_TAG: u32 = 17;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM64: u32 = 19;
}

/// The types of a kernel.
pub(crate) struct Btf<'i> {
    types: &'i [u8],
    strings: &'i [u8],
    /// Where each type begins, by its number less one.
    starts: Vec<u32>,
}

/// A type.
#[derive(Clone, Copy)]
struct Type {
    name: u32,
    kind: u32,
    /// Whether offsets of members have the size of a bit field in them.
    flag: bool,
    count: usize,
    /// The size of a structure, or the type that another one is made of.
    size_or_type: u32,
    /// Where what follows lies.
    more: usize,
}

/// A field of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    /// Bytes from the beginning of the structure.
    pub(crate) offset: u64,
    /// The number of its type.
    ty: u32,
}

impl<'i> Btf<'i> {
    /// The types in an image of a kernel; `None` if there are none.
    pub(crate) fn find(image: &'i [u8]) -> Option<Self> {
        let headers = image.windows(HEADER.len()).enumerate().filter(|(_, window)| *window == HEADER);
        headers.take(MOST_HEADERS).find_map(|(at, _)| Self::at(image, at))
    }

    /// The types whose header is at `at`.
    fn at(image: &'i [u8], at: usize) -> Option<Self> {
        let part = |offset: usize| {
            let (start, bytes) = (word(image, at + offset)? as usize, word(image, at + offset + 4)? as usize);
            let start = (at + HEADER_BYTES).checked_add(start)?;
            image.get(start..start.checked_add(bytes)?)
        };
        let mut btf = Self { types: part(8)?, strings: part(16)?, starts: Vec::new() };
        let mut at = 0;
        while at < btf.types.len() {
            let found = btf.read(at)?;
            btf.starts.push(at as u32);
            at = found.more.checked_add(found.bytes_of_more())?;
            if btf.starts.len() > MOST_TYPES {
                return None;
            }
        }
        (at == btf.types.len() && !btf.starts.is_empty()).then_some(btf)
    }

    /// The type at a place.
    fn read(&self, at: usize) -> Option<Type> {
        let info = word(self.types, at + 4)?;
        Some(Type {
            name: word(self.types, at)?,
            kind: info >> 24 & 0x1f,
            flag: info >> 31 == 1,
            count: (info & 0xffff) as usize,
            size_or_type: word(self.types, at + 8)?,
            more: at + TYPE_BYTES,
        })
    }

    /// The type of a number, or what it is another name for.
    fn resolved(&self, number: u32) -> Option<Type> {
        let mut number = number;
        for _ in 0..DEEPEST {
            let found = self.read(*self.starts.get((number as usize).checked_sub(1)?)? as usize)?;
            match found.kind {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    number = found.size_or_type;
                }
                _ => return Some(found),
            }
        }
        None
    }

    fn is_named(&self, offset: u32, name: &str) -> bool {
        let string = self.strings.get(offset as usize..).unwrap_or_default();
        string.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
    }

    /// The field at the end of `path`, names with dots between them, in the structure `name`. Of several structures of this name it is the first that
    /// has it.
    pub(crate) fn field(&self, name: &str, path: &str) -> Option<Field> {
        let structures = self.starts.iter().filter_map(|&at| self.read(at as usize));
        let mut structures = structures.filter(|found| found.kind == kind::STRUCT && self.is_named(found.name, name));
        structures.find_map(|structure| {
            let mut names = path.split('.');
            let first = self.member(structure, names.next()?, DEEPEST)?;
            names.try_fold(first, |field, name| {
                let inner = self.member(self.resolved(field.ty)?, name, DEEPEST)?;
                Some(Field { offset: field.offset + inner.offset, ..inner })
            })
        })
    }

    /// The offset of a [field](Self::field).
    pub(crate) fn offset(&self, name: &str, path: &str) -> Option<u64> {
        self.field(name, path).map(|field| field.offset)
    }

    /// The number of elements of a field that is an array.
    pub(crate) fn elements(&self, field: Field) -> Option<u64> {
        let array = self.resolved(field.ty).filter(|found| found.kind == kind::ARRAY)?;
        word(self.types, array.more + 8).map(u64::from)
    }

    /// A member of a structure or union, or of one without a name in it.
    fn member(&self, of: Type, name: &str, deepest: usize) -> Option<Field> {
        if ![kind::STRUCT, kind::UNION].contains(&of.kind) {
            return None;
        }
        let deeper = deepest.checked_sub(1)?;
        (0..of.count).find_map(|number| {
            let at = of.more + MEMBER_BYTES * number;
            let (named, ty, bits) = (word(self.types, at)?, word(self.types, at + 4)?, word(self.types, at + 8)?);
            let bits = if of.flag { bits & 0xff_ffff } else { bits };
            let offset = u64::from(bits / 8);
            if self.is_named(named, name) {
                return Some(Field { offset, ty });
            }
            let inner = self.resolved(ty).filter(|_| self.is_named(named, ""))?;
            self.member(inner, name, deeper).map(|field| Field { offset: offset + field.offset, ..field })
        })
    }
}

impl Type {
    /// Bytes that follow.
    const fn bytes_of_more(self) -> usize {
        match self.kind {
            kind::INT | kind::VAR | kind::DECL_TAG => 4,
            kind::ARRAY => 12,
            kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * self.count,
            kind::ENUM | kind::FUNC_PROTO => 8 * self.count,
            _ => 0,
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Types as `pahole` writes them, for tests.
    #[derive(Default)]
    pub(crate) struct Writer {
        types: Vec<u8>,
        strings: Vec<u8>,
        number: u32,
    }

    impl Writer {
        fn name(&mut self, name: &str) -> u32 {
            if self.strings.is_empty() {
                self.strings.push(0);
            }
            if name.is_empty() {
                return 0;
            }
            let at = self.strings.len() as u32;
            self.strings.extend(name.bytes().chain([0]));
            at
        }

        /// Adds a type; returns its number.
        pub(crate) fn add(&mut self, name: &str, kind: u32, count: usize, size_or_type: u32, more: &[u32]) -> u32 {
            let name = self.name(name);
            let words = [name, kind << 24 | count as u32, size_or_type];
            self.types.extend(words.iter().chain(more).flat_map(|word| word.to_le_bytes()));
            self.number += 1;
            self.number
        }

        /// Adds a structure, or a union, with these members: name, type and offset in bytes.
        pub(crate) fn structure(&mut self, name: &str, kind: u32, members: &[(&str, u32, u32)]) -> u32 {
            let more: Vec<u32> =
                members.iter().flat_map(|&(name, ty, offset)| [self.name(name), ty, 8 * offset]).collect();
            self.add(name, kind, members.len(), 64, &more)
        }

        /// The whole, with a header.
        pub(crate) fn finish(self) -> Vec<u8> {
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            let words = [0, types, types, strings];
            let header = HEADER.into_iter().chain(words.iter().flat_map(|word| word.to_le_bytes()));
            header.chain(self.types).chain(self.strings).collect()
        }
    }

    fn sample() -> Vec<u8> {
        let mut writer = Writer::default();
        let long = writer.add("long", kind::INT, 0, 8, &[64]);
        let array = writer.add("", kind::ARRAY, 0, 0, &[long, long, 15]);
        let inner = writer.structure("", kind::UNION, &[("start", long, 0), ("pivot", array, 0)]);
        let hidden = writer.structure("", kind::STRUCT, &[("a", long, 0), ("", inner, 8)]);
        let alias = writer.add("alias_t", kind::TYPEDEF, 0, hidden, &[]);
        writer.structure("other", kind::STRUCT, &[("nothing", long, 0)]);
        writer.structure("area", kind::STRUCT, &[("first", long, 0), ("", hidden, 16), ("named", alias, 64)]);
        [vec![0x55; 77], writer.finish()].concat()
    }

    #[test]
    fn fields_are_found_through_structures_without_names_and_other_names() {
        let image = sample();
        let btf = Btf::find(&image).expect("types");
        assert_eq!(btf.offset("area", "first"), Some(0));
        assert_eq!(btf.offset("area", "start"), Some(24));
        assert_eq!(btf.offset("area", "named.pivot"), Some(72));
        assert_eq!(btf.elements(btf.field("area", "pivot").unwrap()), Some(15));
        assert_eq!(btf.elements(btf.field("area", "first").unwrap()), None);
        for (name, path) in [("area", "missing"), ("missing", "first"), ("area", "first.start"), ("are", "first")] {
            assert_eq!(btf.offset(name, path), None, "{name}.{path}");
        }
    }

    #[test]
    fn what_is_cut_off_or_none_at_all_has_none() {
        let image = sample();
        for bytes in 0..image.len() {
            assert!(Btf::find(&image[..bytes]).is_none(), "{bytes} bytes");
        }
        assert!(Btf::find(&[0; 1000]).is_none());
    }

    #[test]
    fn types_that_name_each_other_in_a_circle_end() {
        let mut writer = Writer::default();
        writer.add("one", kind::TYPEDEF, 0, 2, &[]);
        writer.add("two", kind::TYPEDEF, 0, 1, &[]);
        writer.structure("", kind::STRUCT, &[("", 3, 0), ("", 3, 0)]);
        writer.structure("area", kind::STRUCT, &[("circle", 1, 0), ("", 3, 0)]);
        let image = writer.finish();
        let btf = Btf::find(&image).expect("types");
        assert_eq!(btf.offset("area", "circle.field"), None);
        assert_eq!(btf.offset("area", "field"), None);
    }
}
