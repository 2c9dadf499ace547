//! Events as bytes.
//!
//! The first byte of an event has its class in the upper two bits: a load, a store or a fetch that is made, or another event. For the first
//! three, the lower six bits are the [code](Recent) of its page among the latest of the same side; 0 says that the page needs the next number of
//! the [content](Content)'s column. For other events they are the code of the event, whose fields follow.

use crate::content::Content;
use crate::error::ReadError;
use crate::event::{Counts, Ends, Event, Leaves, TABLE_WORDS};
use crate::recent::{PAGE_BITS, Recent};
use crate::varint::{put, take, unzigzag, zigzag};
use types::{Access, Asid, Gpa, Gva, PagingMode, Privilege, TranslationContext, Width};

/// The class of other events.
const OTHER: u8 = 3;

const FAULT: u8 = 0;
const TABLE_LOAD: u8 = 1;
const TABLE_STORE: u8 = 2;
const TABLE_ATOMIC: u8 = 3;
const TABLE_PAGE: u8 = 4;
const CONTEXT: u8 = 5;
const FENCE: u8 = 6;
const NESTED_TRAP: u8 = 7;
const INTERRUPT: u8 = 8;
const BEGIN: u8 = 9;
const END: u8 = 10;

/// What both sides know of the events before, within a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    /// Pages of loads and stores.
    data: Recent,
    /// Pages of fetches.
    fetch: Recent,
    /// Address of the latest access to a table.
    table: u64,
}

/// Makes bytes of events.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    pub(crate) content: Content,
    latest: Latest,
}

impl Encoder {
    /// Begins a frame.
    pub(crate) fn restart(&mut self) {
        self.content.clear();
        self.latest = Latest::default();
    }

    /// A load, store or fetch that is made.
    #[inline]
    pub(crate) fn access(&mut self, access: Access, page: u64) {
        let (class, latest) = match access {
            Access::Read => (0, &mut self.latest.data),
            Access::Write => (1, &mut self.latest.data),
            Access::Execute => (2, &mut self.latest.fetch),
        };
        let (code, far) = latest.encode(page);
        self.content.events.push(class << 6 | code);
        self.content.far.extend(far);
    }

    /// Any event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Access { access, page, ends: Ends::Done } => self.access(*access, *page),
            Event::Access { access, page, ends: Ends::Fault } => {
                self.code(FAULT);
                self.byte(*access as u8);
                self.number(*page);
            }
            Event::TableLoad { gva, width, value } => self.table(TABLE_LOAD, *gva, *width, *value),
            Event::TableStore { gva, width, value } => self.table(TABLE_STORE, *gva, *width, *value),
            Event::TableAtomic { gva, width, access, before, after } => {
                self.table(TABLE_ATOMIC, *gva, *width, *before);
                self.byte(*access as u8);
                self.number(after ^ before);
            }
            Event::TablePage { page, words } => {
                self.code(TABLE_PAGE);
                self.number(*page);
                let used = words.iter().filter(|word| **word != 0).count();
                self.number(used as u64);
                let mut next = 0;
                for (index, &word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
                    self.number((index - next) as u64);
                    self.number(word);
                    next = index + 1;
                }
            }
            Event::Context(context) => {
                self.code(CONTEXT);
                let flags = u8::from(context.sum) << 1 | u8::from(context.mxr) << 2;
                self.byte(context.privilege as u8 | flags | mode_code(context.mode) << 3);
                self.number(context.root.0);
                self.number(u64::from(context.asid.0));
            }
            Event::Fence { gva, asid } => {
                self.code(FENCE);
                self.byte(u8::from(gva.is_some()) | u8::from(asid.is_some()) << 1);
                gva.iter().for_each(|gva| self.number(gva.0));
                asid.iter().for_each(|asid| self.number(u64::from(asid.0)));
            }
            Event::NestedTrap => self.code(NESTED_TRAP),
            Event::Interrupt { pcpu } => {
                self.code(INTERRUPT);
                self.byte(*pcpu);
            }
            Event::Begin { hart } => {
                self.code(BEGIN);
                self.byte(*hart);
            }
            Event::End { leaves, counts } => self.end(leaves, counts),
        }
    }

    fn code(&mut self, code: u8) {
        self.byte(OTHER << 6 | code);
    }

    fn byte(&mut self, byte: u8) {
        self.content.events.push(byte);
    }

    fn number(&mut self, number: u64) {
        put(&mut self.content.events, number);
    }

    fn table(&mut self, code: u8, gva: Gva, width: Width, value: u64) {
        self.code(code);
        self.number(zigzag(gva.0.wrapping_sub(self.latest.table).cast_signed()));
        self.latest.table = gva.0;
        self.byte(width as u8);
        self.number(value);
    }

    fn end(&mut self, leaves: &Leaves, counts: &Counts) {
        self.code(END);
        match leaves {
            Leaves::Budget => self.byte(0),
            Leaves::Call(registers) => {
                self.byte(1);
                registers.iter().for_each(|&register| self.number(register));
            }
            Leaves::Wait => self.byte(2),
            Leaves::Marker(number) => {
                self.byte(3);
                self.number(u64::from(*number));
            }
            Leaves::TimerSet => self.byte(4),
        }
        counts.all().into_iter().for_each(|count| self.number(count));
    }
}

/// Makes events of the bytes of a frame.
#[derive(Debug)]
pub struct Decoder<'c> {
    content: &'c Content,
    at: Position,
}

impl<'c> Decoder<'c> {
    /// The events of a frame's content.
    #[must_use]
    pub fn new(content: &'c Content) -> Self {
        Self::resume(content, Position::default())
    }

    /// The events from a position on that [`Self::position`] gave, in the same frame.
    #[must_use]
    pub fn resume(content: &'c Content, at: Position) -> Self {
        Self { content, at }
    }

    /// Where it is.
    #[must_use]
    pub fn position(&self) -> Position {
        self.at
    }

    /// The next load, store or fetch that is made, if the next event is one: its kind and its page's number.
    #[inline]
    pub fn next_access(&mut self) -> Option<(Access, u64)> {
        let Position { event, far, latest } = &mut self.at;
        let first = *self.content.events.get(*event)?;
        let (access, latest) = match first >> 6 {
            0 => (Access::Read, &mut latest.data),
            1 => (Access::Write, &mut latest.data),
            2 => (Access::Execute, &mut latest.fetch),
            _ => return None,
        };
        let page = latest.decode(first & 63, || {
            let number = *self.content.far.get(*far)?;
            *far += 1;
            Some(number)
        })?;
        *event += 1;
        Some((access, page))
    }

    /// The next event; `None` at the end of the frame.
    ///
    /// # Errors
    /// [`ReadError::Event`].
    pub fn next_event(&mut self) -> Result<Option<Event>, ReadError> {
        if let Some((access, page)) = self.next_access() {
            return Ok(Some(Event::Access { access, page, ends: Ends::Done }));
        }
        let Some(&first) = self.content.events.get(self.at.event) else { return Ok(None) };
        if first >> 6 != OTHER {
            return Err(self.damaged("a page's number is cut off"));
        }
        self.at.event += 1;
        let event = match first & 63 {
            FAULT => {
                let access = self.access()?;
                Event::Access { access, page: self.page()?, ends: Ends::Fault }
            }
            TABLE_LOAD => {
                let (gva, width, value) = self.table()?;
                Event::TableLoad { gva, width, value }
            }
            TABLE_STORE => {
                let (gva, width, value) = self.table()?;
                Event::TableStore { gva, width, value }
            }
            TABLE_ATOMIC => {
                let (gva, width, before) = self.table()?;
                let access = self.access()?;
                let after = before ^ self.number()?;
                let aligned = gva.0.is_multiple_of(width.bytes()) && matches!(width, Width::Word | Width::Double);
                if !aligned || access == Access::Execute {
                    return Err(self.damaged("no such atomic operation"));
                }
                Event::TableAtomic { gva, width, access, before, after }
            }
            TABLE_PAGE => self.table_page()?,
            CONTEXT => self.context()?,
            FENCE => {
                let operands = self.byte()?;
                let gva = if operands & 1 != 0 { Some(Gva(self.number()?)) } else { None };
                let asid = if operands & 2 != 0 { Some(self.asid()?) } else { None };
                Event::Fence { gva, asid }
            }
            NESTED_TRAP => Event::NestedTrap,
            INTERRUPT => Event::Interrupt { pcpu: self.byte()? },
            BEGIN => Event::Begin { hart: self.byte()? },
            END => self.end()?,
            _ => return Err(self.damaged("unknown event")),
        };
        Ok(Some(event))
    }

    fn damaged(&self, problem: &'static str) -> ReadError {
        ReadError::Event { at: self.at.event, problem }
    }

    fn byte(&mut self) -> Result<u8, ReadError> {
        let byte = *self.content.events.get(self.at.event).ok_or(self.damaged("an event is cut off"))?;
        self.at.event += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, ReadError> {
        let mut at = self.at.event;
        let number = take(&self.content.events, &mut at).ok_or(self.damaged("a number is cut off or too long"))?;
        self.at.event = at;
        Ok(number)
    }

    fn page(&mut self) -> Result<u64, ReadError> {
        let page = self.number()?;
        if page >> PAGE_BITS != 0 { Err(self.damaged("no page has such a number")) } else { Ok(page) }
    }

    fn access(&mut self) -> Result<Access, ReadError> {
        Ok(match self.byte()? {
            0 => Access::Read,
            1 => Access::Write,
            2 => Access::Execute,
            _ => return Err(self.damaged("unknown kind of access")),
        })
    }

    fn asid(&mut self) -> Result<Asid, ReadError> {
        u16::try_from(self.number()?).map(Asid).map_err(|_| self.damaged("an ASID has 16 bits"))
    }

    fn table(&mut self) -> Result<(Gva, Width, u64), ReadError> {
        let gva = self.at.latest.table.wrapping_add_signed(unzigzag(self.number()?));
        self.at.latest.table = gva;
        let width = match self.byte()? {
            1 => Width::Byte,
            2 => Width::Half,
            4 => Width::Word,
            8 => Width::Double,
            _ => return Err(self.damaged("unknown width")),
        };
        Ok((Gva(gva), width, self.number()?))
    }

    fn table_page(&mut self) -> Result<Event, ReadError> {
        let page = self.page()?;
        let used = self.number()?;
        let mut words = Box::new([0; TABLE_WORDS]);
        let mut next = 0;
        for _ in 0..used {
            let skipped = self.number()?;
            let value = self.number()?;
            let index = usize::try_from(skipped).ok().and_then(|skipped| skipped.checked_add(next));
            let index = index.filter(|&index| index < TABLE_WORDS).ok_or(self.damaged("a table has 512 words"))?;
            words[index] = value;
            next = index + 1;
        }
        Ok(Event::TablePage { page, words })
    }

    fn context(&mut self) -> Result<Event, ReadError> {
        let flags = self.byte()?;
        let mode = match flags >> 3 {
            0 => PagingMode::Bare,
            1 => PagingMode::Sv39,
            2 => PagingMode::Sv48,
            3 => PagingMode::Sv57,
            _ => return Err(self.damaged("unknown paging mode")),
        };
        Ok(Event::Context(TranslationContext {
            mode,
            root: Gpa(self.number()?),
            asid: self.asid()?,
            privilege: if flags & 1 == 0 { Privilege::User } else { Privilege::Supervisor },
            sum: flags & 2 != 0,
            mxr: flags & 4 != 0,
        }))
    }

    fn end(&mut self) -> Result<Event, ReadError> {
        let leaves = match self.byte()? {
            0 => Leaves::Budget,
            1 => {
                let mut registers = [0; 8];
                for register in &mut registers {
                    *register = self.number()?;
                }
                Leaves::Call(registers)
            }
            2 => Leaves::Wait,
            3 => {
                let number = u16::try_from(self.number()?);
                Leaves::Marker(number.map_err(|_| self.damaged("a marker has 16 bits"))?)
            }
            4 => Leaves::TimerSet,
            _ => return Err(self.damaged("unknown end of a turn")),
        };
        let counts = Counts {
            instructions: self.number()?,
            loads: self.number()?,
            stores: self.number()?,
            page_faults: self.number()?,
            page_fault_instructions: self.number()?,
        };
        Ok(Event::End { leaves, counts })
    }
}

/// A position between two events of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Offset of the next event, in bytes.
    event: usize,
    /// Number of the next difference in the column.
    far: usize,
    latest: Latest,
}

const fn mode_code(mode: PagingMode) -> u8 {
    match mode {
        PagingMode::Bare => 0,
        PagingMode::Sv39 => 1,
        PagingMode::Sv48 => 2,
        PagingMode::Sv57 => 3,
    }
}
