//! Random streams recorded from pgbench 18.6 with `--random-seed=42`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod interpreter;

use pgclinic_load::script::{
    choose_script, Builtin, Command, Names, Prng, Protocol, Script, SeedPlan, Value, Variables,
};

fn value_of(expression: &str) -> String {
    let outcome = interpreter::run("golden.sql", &format!("\\set x debug({expression})")).unwrap();
    outcome.debug.concat()
}

#[test]
fn the_first_client_draws_what_pgbench_draws() {
    let mut prng = SeedPlan::draw(42, 1, 1, true).clients[0];
    assert_eq!(prng.uniform(1, 1_000_000), 668_251);
    assert_eq!(prng.uniform(1, 1_000_000), 855_542);
    assert_eq!(prng.gaussian(1, 1_000_000, 2.5), Ok(397_788));
    assert_eq!(prng.exponential(1, 1_000_000, 5.0), Ok(69_302));
    assert_eq!(prng.zipfian(1, 1_000_000, 1.07), Ok(385));
    assert_eq!(prng.uniform(-10, 10), -1);
}

#[test]
fn the_default_seed_comes_after_the_clients() {
    assert_eq!(
        SeedPlan::draw(42, 1, 1, true).default_seed,
        Some(4_306_334_408_478_191_133)
    );
    let without = SeedPlan::draw(42, 1, 1, false);
    assert_eq!(without.default_seed, None);
    assert_eq!(without.threads[0].choice, Prng::seeded(4_306_334_408_478_191_133));
}

#[test]
fn hashes_and_permutations_are_those_of_pgbench() {
    assert_eq!(value_of("hash(10, 5432)"), "int -5817877081768721676");
    assert_eq!(value_of("hash(10, 5432)"), value_of("hash_murmur2(10, 5432)"));
    let order: Vec<_> = (0..10)
        .map(|value| value_of(&format!("permute({value}, 10, 5)")))
        .collect();
    assert_eq!(
        order,
        [6, 4, 8, 9, 2, 1, 5, 0, 3, 7].map(|place| format!("int {place}"))
    );
}

#[test]
fn tpcb_like_updates_the_same_rows() {
    let mut names = Names::new();
    let builtin = Builtin::find("tpcb").unwrap();
    let script = Script::parse(builtin.name, builtin.text, Protocol::Prepared, &mut names).unwrap();
    let mut prng = SeedPlan::draw(42, 1, 1, true).clients[0];
    let mut variables = Variables::new(&names);
    variables.set(Names::SCALE, Value::Int(1));
    let mut transactions = Vec::new();
    for _ in 0..3 {
        for command in &script.commands {
            if let Command::Set { slot, expr, .. } = command {
                let value = expr.eval(&mut variables, &mut prng).unwrap();
                variables.set(*slot, value);
            }
        }
        let [aid, tid, delta] = ["aid", "tid", "delta"].map(|name| variables.get(names.get(name).unwrap()).unwrap());
        transactions.push((aid.as_int().unwrap(), tid.as_int().unwrap(), delta.as_int().unwrap()));
    }
    assert_eq!(transactions, [(83_532, 1, -170), (86_390, 5, -253), (452, 2, 4_776)]);
}

#[test]
fn scripts_are_chosen_in_the_same_order() {
    // pgbench -c 1 -f a@1 -f b@3 -f c@0
    let mut stream = SeedPlan::draw(42, 1, 1, true).threads[0].choice;
    let chosen: String = (0..40)
        .map(|_| (choose_script(&[1, 3, 0], &mut stream) + 1).to_string())
        .collect();
    assert_eq!(chosen, "2122222211221222122212222222222222222222");
    // pgbench -c 3 -j 2 -f a@1 -f b@1
    let mut threads = SeedPlan::draw(42, 3, 2, true).threads;
    let first = [(); 12].map(|()| choose_script(&[1, 1], &mut threads[0].choice));
    assert_eq!(first, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    let second = [(); 12].map(|()| choose_script(&[1, 1], &mut threads[1].choice));
    assert_eq!(second, [1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0]);
}

#[test]
fn a_single_script_draws_nothing() {
    let mut stream = Prng::seeded(1);
    assert_eq!(choose_script(&[7], &mut stream), 0);
    assert_eq!(stream, Prng::seeded(1));
}

#[test]
fn the_gaps_of_a_rate_are_the_same() {
    // pgbench -c 3 -j 2 -R 200: each thread starts 100 a second. Its log shows the gaps from the second on, and reads
    // the clock twice for each line, so that the first gaps are some microseconds off.
    const CLOCK_US: u64 = 60;
    let plan = SeedPlan::draw(42, 3, 2, true);
    let gaps = |thread: usize| {
        let mut stream = plan.threads[thread].throttle;
        stream.poisson_gap_us(10_000.0);
        [(); 7].map(|()| stream.poisson_gap_us(10_000.0))
    };
    let recorded = [
        [1_011, 14_923, 4_354, 4_593, 8_385, 7_829, 9_810],
        [515, 2_188, 16_494, 1_464, 1_081, 5_140, 1_813],
    ];
    for (thread, recorded) in recorded.iter().enumerate() {
        for (ours, theirs) in gaps(thread).iter().zip(recorded) {
            assert!(i64::abs_diff(*ours, *theirs) <= CLOCK_US, "{ours} {theirs}");
        }
    }
}

#[test]
fn builtins_are_found_by_an_unambiguous_beginning() {
    assert_eq!(Builtin::find("s"), None);
    assert_eq!(Builtin::find("se").unwrap().name, "select-only");
    assert_eq!(Builtin::find("simple-update").unwrap().name, "simple-update");
    assert_eq!(Builtin::find("tpcc"), None);
}
