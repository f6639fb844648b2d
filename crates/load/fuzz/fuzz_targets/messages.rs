//! Any bytes in any chunks: the reader gives the same messages as for one chunk, or refuses the stream, and keeps no
//! more than its bounds; whatever is in a body, the decoders answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgclinic_load::wire::{backend, Framer};

fn read(chunks: &[&[u8]], rows: bool) -> (Vec<(u8, usize)>, bool) {
    let mut framer = Framer::default();
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            match framer.next(&mut rest, rows) {
                Ok(Some(message)) => {
                    backend::server_error(message.body);
                    backend::cancel_key(message.body);
                    assert!(backend::column_names(message.body).count() <= message.body.len());
                    assert!(backend::row_values(message.body).count() <= message.body.len());
                    seen.push((message.tag, message.body.len()));
                }
                Ok(None) => break,
                Err(_) => return (seen, true),
            }
        }
    }
    (seen, false)
}

fuzz_target!(|input: (&[u8], u8, bool)| {
    let (bytes, size, rows) = input;
    let chunks: Vec<_> = bytes.chunks(usize::from(size).max(1)).collect();
    assert_eq!(read(&chunks, rows), read(&[bytes], rows));
});
