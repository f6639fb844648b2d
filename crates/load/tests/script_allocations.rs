//! A running client must not touch the heap: the generator would measure its own allocator.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pgclinic_load::script::{Builtin, Command, Names, Prng, Protocol, Script, Value, Variables};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above, so from the system allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn run_once(script: &Script, variables: &mut Variables, prng: &mut Prng, out: &mut Vec<u8>) {
    out.clear();
    for command in &script.commands {
        match command {
            Command::Set { slot, expr, .. } => {
                let value = expr.eval(variables, prng).unwrap();
                variables.set(*slot, value);
            }
            Command::Sql(sql) => {
                sql.render_simple(variables, out);
                sql.for_each_param(variables, |text| out.extend_from_slice(text.unwrap_or_default()));
            }
            other => panic!("not in this test: {other:?}"),
        }
    }
}

#[test]
fn a_transaction_allocates_nothing() {
    let every_type =
        "\\set a random_gaussian(1, 10 * :scale, 2.5) / 3.0\n\\set b case when :a > 2 then null else true end\n\
        \\set c hash(greatest(1, :text, 3), 7) % permute(3, 10)\nselect :a, :b, :c, :text, :scale;";
    let mut names = Names::new();
    let [tpcb, typed] = [Builtin::find("tpcb-like").unwrap().text, every_type]
        .map(|text| Script::parse("test.sql", text, Protocol::Prepared, &mut names).unwrap());
    let text = names.get("text").unwrap();
    let mut variables = Variables::new(&names);
    variables.set(Names::SCALE, Value::Int(10));
    variables.set(Names::DEFAULT_SEED, Value::Int(1));
    variables.set_text(text, b"1234");
    let mut prng = Prng::seeded(1);
    let mut out = Vec::with_capacity(4096);
    run_once(&typed, &mut variables, &mut prng, &mut out);
    let before = ALLOCATIONS.get();
    for _ in 0..1_000 {
        variables.set_text(text, b"0567");
        run_once(&tpcb, &mut variables, &mut prng, &mut out);
        run_once(&typed, &mut variables, &mut prng, &mut out);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
