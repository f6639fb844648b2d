//! The server's byte stream, cut into messages. Bodies that nobody reads are skipped without being kept, so a row of
//! 100 MB costs no memory.

/// Bodies of errors and notices beyond this are cut: the code and the message come early.
const TEXT_MAX: usize = 64 * 1024;
/// No body is longer; the server itself stops at 1 GB.
const BODY_MAX: u32 = 1 << 30;
/// A kept body above this is freed after use.
const KEPT_CAPACITY_MAX: usize = 64 * 1024;
const HEADER: usize = 5;

/// One message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The kind of the message.
    pub tag: u8,
    /// The body without its length. Empty for kinds that nobody reads, cut for very long errors.
    pub body: &'a [u8],
}

/// The stream is not PostgreSQL's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server sent a message of kind {tag:#04x} with the impossible length {length}")]
pub struct FrameError {
    tag: u8,
    length: u32,
}

/// Finds the messages in a stream that arrives in chunks of any size.
#[derive(Debug, Default)]
pub struct Framer {
    /// The beginning of a header that was split.
    header: [u8; HEADER],
    header_length: usize,
    /// The kind of the message whose body was split.
    tag: u8,
    /// How much of that body is still to come; none if no body is split.
    missing: Option<usize>,
    /// How much of that body is to be kept.
    wanted: usize,
    kept: Vec<u8>,
}

impl Framer {
    /// Forgets everything: the connection is a new one.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// The next whole message, or none when `chunk` is used up. `rows` says whether rows, their descriptions and
    /// their number are read by somebody.
    pub fn next<'s, 'c: 's>(&'s mut self, chunk: &mut &'c [u8], rows: bool) -> Result<Option<Message<'s>>, FrameError> {
        if self.missing.is_some() {
            return Ok(self.finish_body(chunk));
        }
        let Some((tag, length)) = self.header(chunk)? else {
            return Ok(None);
        };
        let wanted = length.min(keep_at_most(tag, rows));
        if let Some((body, rest)) = chunk.split_at_checked(length) {
            *chunk = rest;
            return Ok(Some(Message {
                tag,
                body: body.get(..wanted).unwrap_or(body),
            }));
        }
        self.kept.clear();
        if self.kept.capacity() > KEPT_CAPACITY_MAX {
            self.kept = Vec::new();
        }
        self.tag = tag;
        self.wanted = wanted;
        self.missing = Some(length);
        Ok(self.finish_body(chunk))
    }

    /// Takes the header from the chunk, together with what an earlier chunk had of it.
    fn header(&mut self, chunk: &mut &[u8]) -> Result<Option<(u8, usize)>, FrameError> {
        if self.header_length == 0 {
            if let Some((header, rest)) = chunk.split_first_chunk::<HEADER>() {
                *chunk = rest;
                return read_header(*header).map(Some);
            }
        }
        while self.header_length < HEADER {
            let Some((byte, rest)) = chunk.split_first() else {
                return Ok(None);
            };
            if let Some(place) = self.header.get_mut(self.header_length) {
                *place = *byte;
            }
            self.header_length += 1;
            *chunk = rest;
        }
        self.header_length = 0;
        read_header(self.header).map(Some)
    }

    fn finish_body(&mut self, chunk: &mut &[u8]) -> Option<Message<'_>> {
        let missing = self.missing?;
        let (part, rest) = chunk.split_at_checked(missing).unwrap_or((chunk, &[]));
        let keep = part.len().min(self.wanted - self.kept.len());
        self.kept.extend_from_slice(part.get(..keep).unwrap_or(part));
        *chunk = rest;
        if part.len() < missing {
            self.missing = Some(missing - part.len());
            return None;
        }
        self.missing = None;
        Some(Message {
            tag: self.tag,
            body: &self.kept,
        })
    }
}

fn read_header(header: [u8; HEADER]) -> Result<(u8, usize), FrameError> {
    let [tag, a, b, c, d] = header;
    let length = u32::from_be_bytes([a, b, c, d]);
    if !(4..=BODY_MAX).contains(&length) {
        return Err(FrameError { tag, length });
    }
    Ok((tag, length as usize - 4))
}

/// How much of a body of this kind is worth keeping.
fn keep_at_most(tag: u8, rows: bool) -> usize {
    match tag {
        b'R' | b'K' | b'Z' => usize::MAX,
        b'E' | b'N' => TEXT_MAX,
        b'T' | b'D' | b'C' if rows => usize::MAX,
        _ => 0,
    }
}
