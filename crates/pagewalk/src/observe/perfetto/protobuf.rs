//! Messages of protocol buffers, as they are encoded (<https://protobuf.dev/programming-guides/encoding/>).
//!
//! A trace needs four kinds of fields and nothing is read. What declares messages to a library, and generates code for them, would be longer than this.

/// The encoded fields of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// How a field is encoded.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
}

impl Message {
    /// With an integer, a boolean or an enumeration.
    pub(super) fn uint(mut self, field: u32, value: u64) -> Self {
        self.tag(field, Wire::Varint);
        self.varint(value);
        self
    }

    /// With a floating-point number.
    pub(super) fn double(mut self, field: u32, value: f64) -> Self {
        self.tag(field, Wire::Fixed64);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// With a text.
    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// With a message in it.
    pub(super) fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// As encoded.
    pub(super) fn encoded(&self) -> &[u8] {
        &self.0
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.tag(field, Wire::Bytes);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn tag(&mut self, field: u32, wire: Wire) {
        self.varint(u64::from(field) << 3 | wire as u64);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the page on the encoding.
    #[test]
    fn fields_are_encoded_as_specified() {
        assert_eq!(Message::default().uint(1, 150).encoded(), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing");
        assert_eq!(text.encoded(), b"\x12\x07testing");
        let inner = Message::default().uint(1, 150);
        assert_eq!(Message::default().message(3, &inner).encoded(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().uint(1, u64::MAX).encoded().len(), 1 + 10);
        assert_eq!(Message::default().double(16, 1.0).encoded(), [0x81, 0x01, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    }
}
