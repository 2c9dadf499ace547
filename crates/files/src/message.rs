//! Messages as bytes: little-endian, as the guest has them.

use rustix::io::Errno;

/// Bytes of `struct fuse_in_header`.
pub(crate) const REQUEST_HEADER: usize = 40;

/// Bytes of `struct fuse_out_header`.
pub(crate) const ANSWER_HEADER: usize = 16;

/// What is used of the header of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// The operation's number.
    pub(crate) opcode: u32,
    /// What the answer has to repeat.
    pub(crate) unique: u64,
    /// The file that it is about.
    pub(crate) node: u64,
}

impl Header {
    /// The header of `message`, and what follows; `None` if the message is shorter than it says, or than a header.
    pub(crate) fn read(message: &[u8]) -> Option<(Self, Body<'_>)> {
        let mut body = Body(message);
        let length = body.u32().ok()?;
        let opcode = body.u32().ok()?;
        let unique = body.u64().ok()?;
        let node = body.u64().ok()?;
        let length = usize::try_from(length).ok()?;
        let rest = message.get(REQUEST_HEADER..length)?;
        Some((Self { opcode, unique, node }, Body(rest)))
    }
}

/// The part of a request behind its header, read from its beginning on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'m>(&'m [u8]);

impl<'m> Body<'m> {
    /// The next `N` bytes.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// The next number.
    pub(crate) fn u32(&mut self) -> Result<u32, Errno> {
        self.take().map(u32::from_le_bytes)
    }

    /// The next number.
    pub(crate) fn u64(&mut self) -> Result<u64, Errno> {
        self.take().map(u64::from_le_bytes)
    }

    /// Passes over `N` bytes.
    pub(crate) fn skip<const N: usize>(&mut self) -> Result<(), Errno> {
        self.take::<N>().map(|_| ())
    }

    /// The next text, which ends with a zero byte.
    pub(crate) fn text(&mut self) -> Result<&'m [u8], Errno> {
        let end = self.0.iter().position(|&byte| byte == 0).ok_or(Errno::INVAL)?;
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Ok(text)
    }

    /// The next name: a text that can be the name of one entry of a directory, and is neither `.` nor `..`.
    pub(crate) fn name(&mut self) -> Result<&'m [u8], Errno> {
        let name = self.text()?;
        match name {
            [] | b"." | b".." => Err(Errno::INVAL),
            _ if name.contains(&b'/') => Err(Errno::INVAL),
            _ if name.len() > LONGEST_NAME => Err(Errno::NAMETOOLONG),
            _ => Ok(name),
        }
    }

    /// The next `length` bytes.
    pub(crate) fn bytes(&mut self, length: u32) -> Result<&'m [u8], Errno> {
        let length = usize::try_from(length).map_err(|_| Errno::INVAL)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(bytes)
    }
}

/// `NAME_MAX`.
const LONGEST_NAME: usize = 255;

/// An answer's body under construction.
#[derive(Default, Debug)]
pub(crate) struct Answer(Vec<u8>);

impl Answer {
    /// Adds a number.
    pub(crate) fn u16(mut self, number: u16) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds a number.
    pub(crate) fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds a number.
    pub(crate) fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// Adds bytes.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Adds this many zeroes.
    pub(crate) fn zeroes(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// How many bytes there are.
    pub(crate) const fn length(&self) -> usize {
        self.0.len()
    }

    /// The bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A whole answer: its header, and its body if there is no error.
pub(crate) fn framed(unique: u64, result: Result<Answer, Errno>) -> Vec<u8> {
    let (error, body) = match result {
        Ok(answer) => (0, answer.into_bytes()),
        Err(error) => (-error.raw_os_error(), Vec::new()),
    };
    let length = (ANSWER_HEADER + body.len()) as u32;
    let header = Answer::default().u32(length).u32(error as u32).u64(unique);
    header.bytes(&body).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_entry_of_a_directory() {
        let name = |text: &[u8]| Body(text).name().map(<[u8]>::to_vec);
        assert_eq!(name(b"a b\0rest"), Ok(b"a b".to_vec()));
        assert_eq!(name(b"...\0"), Ok(b"...".to_vec()));
        for wrong in [&b"\0"[..], b".\0", b"..\0", b"a/b\0", b"/\0", b"../x\0", b"no end"] {
            assert_eq!(name(wrong), Err(Errno::INVAL), "{wrong:?}");
        }
        assert_eq!(name(&[[b'n'; 256].as_slice(), &[0]].concat()), Err(Errno::NAMETOOLONG));
    }

    #[test]
    fn a_message_shorter_than_it_says_is_none() {
        let mut message = [0; REQUEST_HEADER + 4];
        message[0] = REQUEST_HEADER as u8 + 4;
        assert!(Header::read(&message).is_some());
        message[0] += 1;
        assert_eq!(Header::read(&message).map(|(header, _)| header), None);
        message[0] = REQUEST_HEADER as u8 - 1;
        assert_eq!(Header::read(&message).map(|(header, _)| header), None);
        assert_eq!(Header::read(&[]).map(|(header, _)| header), None);
    }

    #[test]
    fn an_answer_says_its_length_and_its_error() {
        assert_eq!(framed(7, Ok(Answer::default().u32(5)))[..4], 20_u32.to_le_bytes());
        let error = framed(7, Err(Errno::NOENT));
        assert_eq!((error.len(), &error[4..8]), (16, &(-2_i32).to_le_bytes()[..]));
    }
}
