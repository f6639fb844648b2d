//! However the stream is chunked, the same messages come out; and nothing that comes in makes the parsers fail.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use pgclinic_load::wire::{backend, Framer};
use proptest::collection::vec;
use proptest::prelude::*;

type Seen = Vec<(u8, Vec<u8>)>;

fn feed(chunks: &[&[u8]], rows: bool) -> (Seen, bool) {
    read(chunks, rows, |_, _| ())
}

/// What comes out when `before` has the chunk first, each time.
fn read(chunks: &[&[u8]], rows: bool, before: impl Fn(&Framer, &mut &[u8])) -> (Seen, bool) {
    let mut framer = Framer::default();
    let mut seen = Vec::new();
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            before(&framer, &mut rest);
            match framer.next(&mut rest, rows) {
                Ok(Some(message)) => seen.push((message.tag, message.body.to_vec())),
                Ok(None) => break,
                Err(_) => return (seen, true),
            }
        }
    }
    (seen, false)
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop::sample::select(b"RKZTDCESNAItnG12".to_vec());
    let body = prop_oneof![9 => vec(any::<u8>(), 0..40), 1 => vec(any::<u8>(), 60_000..70_000)];
    vec((tag, body), 0..20).prop_map(|messages| {
        let mut bytes = Vec::new();
        for (tag, body) in messages {
            bytes.push(tag);
            bytes.extend_from_slice(&u32::try_from(body.len() + 4).unwrap().to_be_bytes());
            bytes.extend_from_slice(&body);
        }
        bytes
    })
}

fn cut(bytes: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = (*sizes.next().unwrap()).min(rest.len());
        chunks.push(rest[..size].to_vec());
        rest = &rest[size..];
    }
    chunks
}

#[test]
fn an_answer_in_one_piece_begins_with_its_end_when_nobody_reads_its_rows() {
    let answer = b"2\0\0\0\x04T\0\0\0\x06\0\0D\0\0\0\x06\0\0D\0\0\0\x06\0\0C\0\0\0\x0dSELECT 2\0Z\0\0\0\x05I";
    for (rows, first) in [(false, b'C'), (true, b'T')] {
        let mut rest = answer.as_slice();
        Framer::default().pass_unread(&mut rest, rows);
        assert_eq!(rest.first(), Some(&first));
    }
}

proptest! {
    #[test]
    fn chunks_do_not_matter(bytes in stream(), sizes in vec(1_usize..5_000, 1..8), rows: bool) {
        let whole = feed(&[&bytes], rows);
        let chunks = cut(&bytes, &sizes);
        let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(feed(&chunks, rows), whole);
    }

    #[test]
    fn one_byte_at_a_time_is_the_same(bytes in stream(), rows: bool) {
        let bytes = &bytes[..bytes.len().min(3_000)];
        let whole = feed(&[bytes], rows);
        let chunks: Vec<_> = bytes.chunks(1).collect();
        prop_assert_eq!(feed(&chunks, rows), whole);
    }

    #[test]
    fn what_is_passed_over_is_what_nobody_reads(bytes in stream(), sizes in vec(1_usize..5_000, 1..8), rows: bool) {
        let is_read = |tag: u8| tag != b'2' && (rows || !matches!(tag, b'T' | b'D'));
        let pass = |framer: &Framer, rest: &mut &[u8]| framer.pass_unread(rest, rows);
        let (whole, failed) = feed(&[&bytes], rows);
        let read_of = |seen: Seen| seen.into_iter().filter(|(tag, _)| is_read(*tag)).collect::<Seen>();
        let chunks = cut(&bytes, &sizes);
        let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
        let (seen, failed_too) = read(&chunks, rows, pass);
        prop_assert_eq!((read_of(seen), failed_too), (read_of(whole), failed));
    }

    #[test]
    fn noise_is_refused_or_waited_for_never_a_panic(bytes in vec(any::<u8>(), 0..200), sizes in vec(1_usize..9, 1..5)) {
        let whole = feed(&[&bytes], true);
        let chunks = cut(&bytes, &sizes);
        let chunks: Vec<_> = chunks.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(feed(&chunks, true), whole);
    }

    #[test]
    fn bodies_of_noise_are_read_without_a_panic(body in vec(any::<u8>(), 0..200)) {
        backend::server_error(&body);
        backend::cancel_key(&body);
        prop_assert!(backend::column_names(&body).count() <= 200);
        prop_assert!(backend::row_values(&body).count() <= 200);
    }
}
