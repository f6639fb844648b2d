//! Which stream belongs to whom: everything random in a run grows from one seed, in a fixed order.

use super::random::Prng;

/// The streams of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadStreams {
    /// Which script comes next.
    pub choice: Prng,
    /// The gaps of `--rate`.
    pub throttle: Prng,
    /// Which transactions are logged under `--sampling-rate`.
    pub sampling: Prng,
}

/// All streams of a run.
#[derive(Clone, Debug)]
pub struct SeedPlan {
    /// One for the random functions of each client.
    pub clients: Vec<Prng>,
    /// `:default_seed`, unless the user sets it.
    pub default_seed: Option<i64>,
    /// One set for each thread.
    pub threads: Vec<ThreadStreams>,
}

impl SeedPlan {
    /// Draws the streams in pgbench's order: clients, `:default_seed` (only if `draw_default_seed`), threads.
    pub fn draw(seed: u64, clients: usize, threads: usize, draw_default_seed: bool) -> Self {
        let mut base = Prng::seeded(seed);
        let clients = (0..clients).map(|_| Prng::seeded(base.next_u64())).collect();
        let default_seed = draw_default_seed.then(|| base.next_u64() as i64);
        let threads = (0..threads).map(|_| thread_streams(&mut base)).collect();
        Self {
            clients,
            default_seed,
            threads,
        }
    }
}

fn thread_streams(base: &mut Prng) -> ThreadStreams {
    let choice = Prng::seeded(base.next_u64());
    let throttle = Prng::seeded(base.next_u64());
    let sampling = Prng::seeded(base.next_u64());
    ThreadStreams {
        choice,
        throttle,
        sampling,
    }
}

/// The index of the next script, by weight in option order. A single script draws nothing.
pub fn choose_script(weights: &[i64], stream: &mut Prng) -> usize {
    if weights.len() < 2 {
        return 0;
    }
    let total: i64 = weights.iter().sum();
    let mut rest = stream.uniform(0, total - 1);
    for (index, weight) in weights.iter().enumerate() {
        rest -= weight;
        if rest < 0 {
            return index;
        }
    }
    weights.len() - 1
}
