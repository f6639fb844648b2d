//! The load engine of pgclinic: pgbench scripts, or TPC-C, against PostgreSQL, measured without fooling oneself.
//!
//! ```text
//! LoadSpec ──> Program (scripts parsed once)                                      spec.rs, program.rs, script/
//!     │    or TPC-C: a terminal for each client instead of scripts                  tpcc/, client/tpcc.rs
//!     └──> threads, each an event loop over its clients                           engine.rs, worker/
//!              Pace says when the next transaction is due                         pace/
//!              Client runs commands; bytes in, requests out, no socket            client/
//!              wire cuts and writes messages, tls seals their bytes               wire/, tls/
//!              io is the only door to the kernel's sockets                        io/
//!              commands of the shell run beside, each watched by a thread         shell.rs
//!              Recorder counts; owned by its thread                               record/
//!              what clients and the server say goes to the Observer at once       event.rs, client/words.rs
//!          the calling thread follows: a second at a time to the Observer         follow.rs, progress.rs
//!     └──> recorders merged ──> LoadResult                                        summary.rs, result.rs
//! ```
//!
//! Invariants: nothing blocks but the one wait of each event loop, and that has a limit. Latency counts from the time
//! at which a transaction was due. What happens counts in the second in which it ended. Connecting, warm-up and
//! draining are never part of a figure. In a steady state no transaction allocates memory.

mod build;
mod client;
mod clock;
mod drawn;
mod engine;
mod error;
mod event;
mod follow;
mod io;
mod listing;
mod os;
pub mod outline;
mod pace;
mod program;
mod progress;
mod pulse;
mod record;
pub mod result;
pub mod rows;
pub mod script;
mod shell;
pub mod spec;
mod stage;
mod summary;
mod tls;
pub mod tpcc;
mod windows;
pub mod wire;
mod worker;

pub use build::{IO, PROFILE, VERSION};
pub use engine::run;
pub use error::LoadError;
pub use event::{Event, EventKind};
pub use program::check_script;
pub use progress::{Observer, Progress, Stopper};
pub use result::LoadResult;
pub use spec::LoadSpec;
