//! The buffers that the kernel receives into. It takes the next one when bytes come, not when a receive is armed, so
//! ten thousand idle connections need no memory of their own.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::Submitter;

/// What one receive brings at most.
pub(super) const SIZE: usize = 16 * 1024;
/// The kernel knows these buffers by this number.
pub(super) const GROUP: u16 = 0;
const PAGE: usize = 4096;

/// See the module.
pub(super) struct Buffers {
    /// Shared with the kernel: what is free.
    entries: NonNull<BufRingEntry>,
    /// `count` times [`SIZE`] bytes.
    memory: NonNull<u8>,
    count: u16,
    tail: u16,
    leaked: bool,
}

impl Buffers {
    /// Buffers that the ring of this submitter uses from now on; `count` is a power of two, at most 32768.
    #[allow(unsafe_code)]
    pub(super) fn register(submitter: &Submitter<'_>, count: u16) -> io::Result<Self> {
        let mut buffers = Self {
            entries: zeroed(entries_layout(count)?).cast(),
            memory: zeroed(memory_layout(count)?),
            count,
            tail: 0,
            leaked: false,
        };
        // SAFETY: the entries are page-aligned, have room for `count` of them, and live until the ring is closed: see
        // `Drop` of the owner, which drops the ring first.
        unsafe { submitter.register_buf_ring_with_flags(buffers.entries.as_ptr() as u64, count, GROUP, 0)? };
        for id in 0..count {
            buffers.free(id);
        }
        Ok(buffers)
    }

    /// What the kernel has written into a buffer that it gave us.
    #[allow(unsafe_code)]
    pub(super) fn bytes(&self, id: u16, length: usize) -> &[u8] {
        if id >= self.count {
            return &[];
        }
        // SAFETY: the buffer lies within `memory`, is initialised, and is ours until it is freed, which needs
        // `&mut self`: the kernel does not write to it meanwhile.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(usize::from(id) * SIZE), length.min(SIZE)) }
    }

    /// The kernel may use this buffer again.
    #[allow(unsafe_code)]
    pub(super) fn free(&mut self, id: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        // SAFETY: `place` is below `count`, and the kernel reads an entry only after the tail has passed it. The tail
        // lies in the first entry, where the kernel's layout has it, aligned for 16 bits; only this thread writes it.
        // The setters leave the tail's bytes alone.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(place);
            entry.set_addr(self.memory.as_ptr().add(usize::from(id) * SIZE) as u64);
            entry.set_len(SIZE as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }

    /// The kernel may still write to the memory: it is never given back.
    pub(super) fn leak(&mut self) {
        self.leaked = true;
    }
}

impl Drop for Buffers {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.leaked {
            return;
        }
        if let (Ok(entries), Ok(memory)) = (entries_layout(self.count), memory_layout(self.count)) {
            // SAFETY: both were allocated with these layouts, and nobody else has them any more.
            unsafe {
                dealloc(self.entries.as_ptr().cast(), entries);
                dealloc(self.memory.as_ptr(), memory);
            }
        }
    }
}

fn entries_layout(count: u16) -> io::Result<Layout> {
    let size = usize::from(count.max(1)) * std::mem::size_of::<BufRingEntry>();
    Layout::from_size_align(size, PAGE).map_err(io::Error::other)
}

/// Not aligned to pages: large zeroed memory then comes from the kernel untouched, and costs nothing before its use.
fn memory_layout(count: u16) -> io::Result<Layout> {
    Layout::from_size_align(usize::from(count.max(1)) * SIZE, 16).map_err(io::Error::other)
}

#[allow(unsafe_code)]
fn zeroed(layout: Layout) -> NonNull<u8> {
    // SAFETY: both layouts above have a size above zero.
    NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}
