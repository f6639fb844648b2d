//! The pgbench script language, as pgbench 18 behaves: a pure library without I/O, clock or sockets.
//!
//! The engine parses every script once, before the run, and then only indexes:
//!
//! ```text
//! Names::new() ──> Script::parse(name, text, protocol, &mut names) ──> Script { commands: Vec<Command> }
//!                                                                          │ one program counter per client
//! Variables::new(&names) ── one per client ───────────────────────────────┤
//! SeedPlan::draw(seed, clients, threads, true) ── Prng per client, streams per thread
//! ```
//!
//! * [`Names`] maps a variable name to a [`Slot`]; all scripts of a run share one, so nothing is hashed at run time.
//! * [`Command::Sql`] carries a template cut at parse time: [`SqlCommand::render_simple`] writes the message text,
//!   [`SqlCommand::prepared_text`] and [`SqlCommand::for_each_param`] serve the extended and prepared protocols.
//! * `\if`, `\elif`, `\else` and `\endif` become [`Command::If`] and [`Command::Jump`]: a client that meets `If`
//!   evaluates the condition ([`Expr::is_true`]) and continues with the next command or at `otherwise`; a client that meets
//!   `Jump` continues at `target`. A program counter equal to `commands.len()` is the end of the script.
//! * [`Expr::eval`] allocates nothing for numbers. `debug()` cannot print here: its values wait in
//!   [`Variables::drain_debug`].
//! * [`Prng`] and [`SeedPlan`] reproduce pgbench's streams bit for bit, so a seed means the same work in both programs.
//!
//! # Where this is not pgbench 18.6
//!
//! * A variable name that is invalid and a call with more than 16 arguments are refused by the parser; pgbench aborts
//!   the client that meets them.
//! * `abs(true)` is an error; pgbench computes with whatever the boolean's memory holds.
//! * A variable that ends its SQL without a semicolon (`select :x\gset`) works; pgbench then sends bytes from
//!   beyond the text.
//! * `\sleep` counts in 64 bits; in pgbench 2,148 s and more wrap around and may not sleep at all.
//! * Expressions may be 500 levels deep.
//!
//! What only the server or a running client can refuse is the engine's business: pipelines with the simple protocol,
//! unbalanced pipelines, `\gset` inside a pipeline, `\;` with the extended protocol.

mod blocks;
mod builtin;
mod command;
mod error;
mod error_text;
mod eval;
mod expr;
mod function;
mod grammar;
mod hash;
mod meta;
mod names;
mod number;
mod operator;
mod parse;
mod permute;
mod random;
mod seeds;
mod split;
mod sql;
mod token;
mod typing;
mod value;
mod variables;

pub use builtin::{Builtin, BUILTINS};
pub use command::{Argument, Command, Shell, Sleep};
pub use error::{EvalError, ScriptError};
pub use expr::Expr;
pub use names::{Names, Slot};
pub use parse::{Protocol, Script};
pub use random::Prng;
pub use seeds::{choose_script, SeedPlan, ThreadStreams};
pub use sql::{Capture, SqlCommand};
pub use value::Value;
pub use variables::Variables;
