//! What a request is told apart by.

/// Enough that a number comes again only when nothing of its old connection is left.
const GENERATIONS: u32 = (1 << 28) - 1;

/// What a completion is about: kind, connection and slot, as the 64 bits that the kernel hands back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(pub(super) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    Staged,
    Backlog,
    Connect,
}

impl Token {
    pub(super) fn new(kind: Kind, generation: u32, slot: usize) -> Self {
        Self((kind as u64) << 60 | u64::from(generation & GENERATIONS) << 32 | slot as u64 & u64::from(u32::MAX))
    }

    pub(super) fn kind(self) -> Kind {
        match self.0 >> 60 {
            0 => Kind::Receive,
            1 => Kind::Staged,
            2 => Kind::Backlog,
            _ => Kind::Connect,
        }
    }

    /// Whether it is about the connection with this number.
    pub(super) fn is_of(self, generation: u32) -> bool {
        (self.0 >> 32) as u32 & GENERATIONS == generation & GENERATIONS
    }

    pub(super) fn slot(self) -> usize {
        (self.0 & u64::from(u32::MAX)) as usize
    }
}
