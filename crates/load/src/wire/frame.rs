//! The server's byte stream, cut into messages. Bodies that nobody reads are skipped without being kept, so a row of
//! 100 MB costs no memory; those that are read are kept up to a bound for each kind.

/// Bodies of errors and notices beyond this are cut: the code and the message come early.
const TEXT_MAX: usize = 64 * 1024;
/// The longest row that is kept for somebody who reads it. Longer ones are cut, and marked so.
pub const ROW_MAX: usize = 4 * 1024 * 1024;
/// The longest description of rows that is kept: 1,664 columns, each with the longest name, take an eighth.
const DESCRIPTION_MAX: usize = 1024 * 1024;
/// No body is longer; the server itself stops at 1 GB.
const BODY_MAX: u32 = 1 << 30;
/// Bodies that are short by their nature; libpq takes the same length for the sign of a stream that is out of step.
const SHORT_MAX: u32 = 30_000;
/// A kept body above this is freed after use.
const KEPT_CAPACITY_MAX: usize = 64 * 1024;
const HEADER: usize = 5;

/// One message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The kind of the message.
    pub tag: u8,
    /// The body without its length. Empty for kinds that nobody reads, cut where it is longer than what is kept.
    pub body: &'a [u8],
    /// Something was cut off that is read.
    pub is_cut: bool,
}

/// The stream is not PostgreSQL's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("the server sent a message of kind {tag:#04x} with the impossible length {length}")]
    Length { tag: u8, length: u32 },
    #[error("the server sent a message of the unknown kind {tag:#04x}")]
    Kind { tag: u8 },
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
    is_cut: bool,
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
        self.kept.clear();
        if self.kept.capacity() > KEPT_CAPACITY_MAX {
            self.kept = Vec::new();
        }
        if let Some((body, rest)) = chunk.split_at_checked(length) {
            *chunk = rest;
            return Ok(Some(Message {
                tag,
                body: body.get(..wanted).unwrap_or(body),
                is_cut: (1..length).contains(&wanted),
            }));
        }
        self.tag = tag;
        self.is_cut = (1..length).contains(&wanted);
        self.wanted = wanted;
        self.missing = Some(length);
        Ok(self.finish_body(chunk))
    }

    /// Passes over the messages at the front of `chunk` that nobody reads: answers to Bind, and rows and what they look
    /// like unless `rows`. Whatever is split, long or wrong is left to [`Framer::next`].
    pub fn pass_unread(&self, chunk: &mut &[u8], rows: bool) {
        if self.missing.is_some() || self.header_length > 0 {
            return;
        }
        while let [tag, a, b, c, d, ..] = **chunk {
            let length = u32::from_be_bytes([a, b, c, d]);
            let is_unread = tag == b'2' || (!rows && matches!(tag, b'T' | b'D'));
            let rest = chunk.get(1 + length as usize..);
            let (true, 4..=SHORT_MAX, Some(rest)) = (is_unread, length, rest) else {
                return;
            };
            *chunk = rest;
        }
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
            is_cut: self.is_cut,
        })
    }
}

fn read_header(header: [u8; HEADER]) -> Result<(u8, usize), FrameError> {
    let [tag, a, b, c, d] = header;
    let length = u32::from_be_bytes([a, b, c, d]);
    let most = longest(tag).ok_or(FrameError::Kind { tag })?;
    if !(4..=most).contains(&length) {
        return Err(FrameError::Length { tag, length });
    }
    Ok((tag, length as usize - 4))
}

/// The greatest length of a message of this kind; none if a server has no such message.
fn longest(tag: u8) -> Option<u32> {
    match tag {
        b'T' | b'D' | b'd' | b'E' | b'N' | b'A' | b'V' | b't' => Some(BODY_MAX),
        b'R' | b'K' | b'Z' | b'C' | b'I' | b'S' | b'v' | b'1' | b'2' | b'3' | b'n' | b's' | b'G' | b'H' | b'W'
        | b'c' => Some(SHORT_MAX),
        _ => None,
    }
}

/// How much of a body of this kind is worth keeping.
fn keep_at_most(tag: u8, rows: bool) -> usize {
    match tag {
        b'R' | b'K' | b'Z' => usize::MAX,
        b'E' | b'N' => TEXT_MAX,
        b'T' if rows => DESCRIPTION_MAX,
        b'D' if rows => ROW_MAX,
        b'C' if rows => usize::MAX,
        _ => 0,
    }
}
