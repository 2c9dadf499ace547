//! What an access finds in the guest's tables, looked up once for all systems, and again only where something may have changed.

use crate::level::SIZES;
use crate::names::{Map, Names, Space};
use crate::obstacle::Obstacle;
use crate::tables::{Leaf, POINTERS, Tables, Walked};
use crate::walks::Path;
use types::{Access, Asid, Gpa, Gva, PageSize, PagingMode, TranslationContext};

/// Pages of 4K in a chunk: those of one table of the last level.
const CHUNK: usize = 512;
/// Chunks that are found without a search.
const RECENT: usize = 1024;

/// What is known of a page of 4K in an address space.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// In which generation it was walked to.
    generation: u32,
    /// Identifiers of its translation, and of its own 4K.
    whole: u32,
    base: u32,
    size: PageSize,
    /// Whether stores need no walk.
    dirty: bool,
}

/// The pages of 2M of an address space.
#[derive(Clone, Debug)]
struct Chunk {
    pages: Box<[Page; CHUNK]>,
    path: Path,
    /// Identifiers of the larger pages that it lies in, by size.
    larger: [u32; SIZES],
    /// When a page that is smaller than the chunk was walked to last.
    small: u64,
}

/// What an access finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The size of its translation.
    pub(crate) size: PageSize,
    /// Identifiers of its page and of the pieces of it that hold the address, by size.
    pub(crate) pages: [u32; SIZES],
    /// Where a walk goes.
    pub(crate) path: Path,
    /// Whether no TLB permits the access, though it may hold the page: the first store.
    pub(crate) refused: bool,
}

/// What an access that faults finds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Faulting {
    /// Nothing looks: no table translates the address.
    Unseen,
    /// A walk that goes so far.
    Walk(Path),
    /// The page is found: a device refuses.
    Found(Found),
}

/// The pages of a guest.
#[derive(Debug)]
pub(crate) struct Pages {
    tables: Tables,
    pub(crate) names: Names,
    context: TranslationContext,
    local: Space,
    /// The root of each space.
    roots: Map<u16, (PagingMode, Gpa)>,
    /// Rises whenever a table is written to, or a fence removes something.
    generation: u32,
    chunks: Vec<Chunk>,
    numbers: Map<(u64, Space), u32>,
    recent: Box<[(u64, Space, u32); RECENT]>,
    /// Sizes of which TLBs of some system hold pieces.
    fractured: [bool; SIZES],
    /// Sizes that were found.
    seen: u8,
}

impl Pages {
    pub(crate) fn new(tables: Tables, fractured: [bool; SIZES]) -> Self {
        Self {
            tables,
            names: Names::new(),
            context: TranslationContext::default(),
            local: Space::BARE,
            roots: Map::default(),
            generation: 1,
            chunks: Vec::new(),
            numbers: Map::default(),
            recent: Box::new([(u64::MAX, Space::BARE, 0); RECENT]),
            fractured,
            seen: 0,
        }
    }

    /// Sizes that were found, a bit each.
    pub(crate) const fn seen(&self) -> u8 {
        self.seen
    }

    /// The guest translates in another context.
    pub(crate) fn enter(&mut self, context: &TranslationContext) {
        self.context = *context;
        self.local = self.names.local(context);
        if self.local != Space::BARE {
            let root = (context.mode, context.root);
            if self.roots.insert(context.asid.0, root).is_some_and(|before| before != root) {
                self.generation += 1;
            }
        }
    }

    /// A page has become a table.
    pub(crate) fn put_table(&mut self, page: u64, words: &[u64; 512]) -> Result<(), Obstacle> {
        self.generation += 1;
        self.tables.put(page, words)
    }

    /// A store to a table.
    pub(crate) fn store(&mut self, gva: u64, bytes: u64, value: u64) -> Result<(), Obstacle> {
        let leaf = self.tables.walk(&self.context, gva)?.leaf.ok_or(Obstacle::Differs(gva))?;
        if self.tables.store(leaf.gpa, bytes, value)? {
            self.generation += 1;
        }
        Ok(())
    }

    fn chunk(&mut self, gva: u64) -> usize {
        let (number, local) = (gva >> 21, self.local);
        let recent = &mut self.recent[number as usize % RECENT];
        if recent.0 == number && recent.1 == local {
            return recent.2 as usize;
        }
        let chunks = &mut self.chunks;
        let chunk = *self.numbers.entry((number, local)).or_insert_with(|| {
            let pages = Box::new([Page::default(); CHUNK]);
            chunks.push(Chunk { pages, path: Path::default(), larger: [0; SIZES], small: 0 });
            chunks.len() as u32 - 1
        });
        *recent = (number, local, chunk);
        chunk as usize
    }

    /// What an access finds that is made.
    #[inline(always)]
    pub(crate) fn find(&mut self, gva: u64, access: Access) -> Result<Found, Obstacle> {
        let chunk = self.chunk(gva);
        let page = &self.chunks[chunk].pages[(gva >> 12) as usize % CHUNK];
        let known = page.generation == self.generation && (page.dirty || access != Access::Write);
        let refused = if known { false } else { self.look(chunk, gva, access)? };
        let chunk = &self.chunks[chunk];
        let page = &chunk.pages[(gva >> 12) as usize % CHUNK];
        let mut pages = chunk.larger;
        pages[PageSize::Size4K as usize] = page.base;
        if page.size == PageSize::Size64K {
            pages[PageSize::Size64K as usize] = page.whole;
        }
        Ok(Found { size: page.size, pages, path: chunk.path, refused })
    }

    /// What an access finds that faults.
    pub(crate) fn find_faulting(&mut self, gva: u64, access: Access) -> Result<Faulting, Obstacle> {
        let unused = 64 - self.context.mode.address_bits();
        if ((gva << unused).cast_signed() >> unused).cast_unsigned() != gva {
            return Ok(Faulting::Unseen);
        }
        let walked = self.tables.walk(&self.context, gva)?;
        let path = self.path(gva, &walked)?;
        let mut page = 0;
        if let Some(leaf) = &walked.leaf {
            let permits = leaf.permits(&self.context, access);
            if permits && !self.tables.is_ram(leaf.gpa) {
                return Ok(Faulting::Found(self.find(gva, access)?));
            }
            if permits && leaf.is_touched(access) {
                return Err(Obstacle::Differs(gva));
            }
            page = self.names.page(gva, leaf.size, self.space(leaf));
            if self.names.live_entry(page).is_some_and(|entry| entry != leaf.entry.0) {
                return Err(Obstacle::Unfenced(gva));
            }
        }
        if self.names.has_other(gva, self.local, page) {
            return Err(Obstacle::Unfenced(gva));
        }
        Ok(Faulting::Walk(path))
    }

    /// An access while it is unknown which translations TLBs hold. The tables have to permit it, and stay as they are: else, what later accesses
    /// find is unknown as well.
    pub(crate) fn find_unknown(&mut self, gva: u64, access: Access) -> Result<(), Obstacle> {
        let leaf = self.tables.walk(&self.context, gva)?.leaf;
        let stays = leaf.is_some_and(|leaf| leaf.permits(&self.context, access) && leaf.is_touched(access));
        if stays { Ok(()) } else { Err(Obstacle::Unfenced(gva)) }
    }

    const fn space(&self, leaf: &Leaf) -> Space {
        if leaf.global { Space::GLOBAL } else { self.local }
    }

    /// The identifiers of the pointers of a walk.
    fn path(&mut self, gva: u64, walked: &Walked) -> Result<Path, Obstacle> {
        let bare = self.local == Space::BARE;
        let mut path = Path { pointers: [0; POINTERS], root: walked.root, last: walked.last, bare };
        if bare {
            return Ok(path);
        }
        for level in walked.last + 1..=walked.root {
            let pointer = walked.pointers[level as usize - 1];
            let space = if pointer.global { Space::GLOBAL } else { self.local };
            let pointer = self.names.pointer(gva, level, (self.local, space), pointer.table);
            path.pointers[level as usize - 1] = pointer.ok_or(Obstacle::Unfenced(gva))?;
        }
        if self.names.has_pointer(gva, walked.last, self.local) {
            return Err(Obstacle::Unfenced(gva));
        }
        Ok(path)
    }

    /// Walks to a page, as something may have changed. Whether no TLB permits the access.
    #[inline(never)]
    fn look(&mut self, chunk: usize, gva: u64, access: Access) -> Result<bool, Obstacle> {
        let walked = self.tables.walk(&self.context, gva)?;
        let path = self.path(gva, &walked)?;
        let mut leaf = walked.leaf.ok_or(Obstacle::Differs(gva))?;
        if !leaf.permits(&self.context, access) {
            return Err(Obstacle::Differs(gva));
        }
        let (size, space) = (leaf.size, self.space(&leaf));
        self.seen |= 1 << size as u8;
        let whole = self.names.page(gva, size, space);
        let at = (gva >> 12) as usize % CHUNK;
        let live = self.names.live_entry(whole);
        if live.is_some_and(|entry| entry != leaf.entry.0) {
            return Err(Obstacle::Unfenced(gva));
        }
        if (live.is_none() || self.chunks[chunk].pages[at].whole != whole)
            && self.names.has_other(gva, self.local, whole)
        {
            return Err(Obstacle::Unfenced(gva));
        }
        if live.is_none() && size >= PageSize::Size2M && space != Space::BARE && self.has_smaller(gva, size) {
            return Err(Obstacle::Unfenced(gva));
        }
        let refused = access == Access::Write && !leaf.is_dirty();
        if refused && self.fractured[size as usize] {
            return Err(Obstacle::Pieces(size));
        }
        self.tables.touch(&mut leaf, access)?;
        self.names.page_lives(whole, size, leaf.entry.0);
        let base = if size == PageSize::Size4K { whole } else { self.names.page(gva, PageSize::Size4K, space) };
        let generation = self.generation;
        let found = &mut self.chunks[chunk];
        found.path = path;
        found.pages[at] = Page { generation, whole, base, size, dirty: leaf.is_dirty() };
        if size < PageSize::Size2M {
            found.small = self.names.now();
        } else {
            let sizes = PageSize::ALL.into_iter().filter(|&piece| piece >= PageSize::Size2M && piece <= size);
            for piece in sizes {
                found.larger[piece as usize] = self.names.page(gva, piece, space);
            }
        }
        Ok(refused)
    }

    /// Whether pages within a larger one may be live that are smaller than 2M.
    fn has_smaller(&self, gva: u64, size: PageSize) -> bool {
        let first = gva >> size.shift() << (size.shift() - 21);
        let count = 1_u64 << (size.shift() - 21);
        let live = |chunk: &Chunk| {
            self.names.is_since(self.local, chunk.small) || self.names.is_since(Space::GLOBAL, chunk.small)
        };
        if count > self.numbers.len() as u64 {
            let within = |(number, space): &(u64, Space)| number.wrapping_sub(first) < count && *space == self.local;
            return self.numbers.iter().any(|(key, &chunk)| within(key) && live(&self.chunks[chunk as usize]));
        }
        (first..first + count).any(|number| {
            self.numbers.get(&(number, self.local)).is_some_and(|&chunk| live(&self.chunks[chunk as usize]))
        })
    }

    /// A fence. Calls `removed` for each page that TLBs may hold of an address, with its size; where the fence names no address, the caller removes what is of the
    /// spaces that this returns.
    pub(crate) fn fence(
        &mut self,
        gva: Option<Gva>,
        asid: Option<Asid>,
        mut removed: impl FnMut(PageSize, u32),
    ) -> Option<Vec<Space>> {
        self.generation += 1;
        let spaces: Vec<Space> = match asid {
            Some(asid) => self.names.of_asid(asid).into_iter().collect(),
            None => self.names.translated().collect(),
        };
        let all = match gva {
            None => {
                spaces.iter().for_each(|&space| self.names.clear(Some(space)));
                Some(spaces)
            }
            Some(gva) => {
                for (size, &space) in
                    PageSize::ALL.iter().flat_map(|&size| spaces.iter().map(move |space| (size, space)))
                {
                    let Some(page) = self.names.find_page(gva.0, size, space) else { continue };
                    removed(size, page);
                    // Other pieces of a page stay, and so does what they are pieces of.
                    if !self.fractured[size as usize] {
                        self.names.page_ends(page);
                    }
                }
                None
            }
        };
        self.names.fenced();
        all
    }
}
