//! A prefetcher that follows strides within pages: all pages that it knows, the one used longest ago first.

/// The shape of such a prefetcher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamShape {
    /// Pages known at a time.
    pub pages: usize,
    /// Most lines for one request.
    pub degree: usize,
    /// Most strides ahead.
    pub distance: i64,
    /// Lines of a page.
    pub lines_of_page: u64,
    /// Whether it goes on in the next page of virtual addresses.
    pub crosses: bool,
}

struct Page {
    number: u64,
    /// All lines asked for.
    asked: Vec<i64>,
    /// The furthest line brought since the stride changed last.
    brought: Option<i64>,
    /// The page in which it goes on, if it has been there since the stride changed last.
    next: Option<u64>,
}

impl Page {
    /// The stream, in the page that it has crossed into.
    fn moved_to(mut self, number: u64, lines: i64) -> Self {
        let direction = match self.asked[..] {
            [.., second, third] => (third - second).signum(),
            _ => 0,
        };
        self.asked.iter_mut().chain(&mut self.brought).for_each(|line| *line -= direction * lines);
        Self { number, next: None, ..self }
    }

    /// A line has been requested: whether its stride is that of the line before.
    fn goes_on(&mut self) -> bool {
        let [.., first, second, third] = self.asked[..] else { return false };
        let stride = third - second;
        if second - first != stride {
            (self.brought, self.next) = (None, None);
            return false;
        }
        self.brought = match self.brought {
            Some(brought) if (brought - third) * stride > 0 => Some(brought),
            Some(_) | None => Some(third),
        };
        true
    }
}

/// The prefetcher.
pub(crate) struct Streams {
    shape: StreamShape,
    pages: Vec<Page>,
}

impl Streams {
    pub(crate) fn new(shape: StreamShape) -> Self {
        Self { shape, pages: Vec::new() }
    }

    /// A line is requested: whether lines are to be prefetched.
    pub(crate) fn request(&mut self, line: u64) -> bool {
        if self.shape.pages == 0 {
            return false;
        }
        let of_page = self.shape.lines_of_page;
        let (number, at) = (line / of_page, (line % of_page) as i64);
        let mut page = match self.pages.iter().position(|page| page.number == number) {
            Some(place) => self.pages.remove(place),
            None => match self.pages.iter().position(|page| page.next == Some(number)) {
                Some(place) => self.pages.remove(place).moved_to(number, of_page as i64),
                None => Page { number, asked: Vec::new(), brought: None, next: None },
            },
        };
        let again = page.asked.last() == Some(&at);
        if !again {
            page.asked.push(at);
        }
        let goes_on = !again && page.goes_on();
        self.pages.push(page);
        if self.pages.len() > self.shape.pages {
            self.pages.remove(0);
        }
        goes_on
    }

    /// The next line to bring for the request. `neighbour` says which page is behind the one of the access (1) or before it (-1).
    pub(crate) fn next(&mut self, neighbour: &mut dyn FnMut(i64) -> Option<u64>) -> Option<u64> {
        let StreamShape { distance, lines_of_page, crosses, .. } = self.shape;
        let lines = lines_of_page as i64;
        let page = self.pages.last()?;
        let [.., second, third] = page.asked[..] else { return None };
        let next = page.brought? + (third - second);
        if (next - third) / (third - second) > distance {
            return None;
        }
        let direction = next.div_euclid(lines);
        let number = match direction {
            0 => page.number,
            -1 | 1 if crosses => match page.next {
                Some(number) => number,
                None => {
                    let number = neighbour(direction).filter(|&number| number != page.number)?;
                    self.pages.iter_mut().filter(|page| page.next == Some(number)).for_each(|page| page.next = None);
                    self.pages.last_mut()?.next = Some(number);
                    number
                }
            },
            _ => return None,
        };
        Some(number * lines_of_page + next.rem_euclid(lines) as u64)
    }

    /// The next line has been brought.
    pub(crate) fn brought(&mut self) {
        if let Some(Page { asked, brought: Some(brought), .. }) = self.pages.last_mut()
            && let [.., second, third] = asked[..]
        {
            *brought += third - second;
        }
    }
}
