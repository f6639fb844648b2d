//! Bytes to and from PostgreSQL, without sockets: what arrives is fed in, what is to be sent is appended to a buffer.
//!
//! [`Framer`] cuts the server's stream into messages however it is chunked, [`backend`] reads the few bodies that
//! matter, [`frontend`] writes requests exactly as pgbench does, and [`Login`] answers the server until it lets us in.

pub mod backend;
mod frame;
pub mod frontend;
mod login;
pub mod report;

pub use frame::{FrameError, Framer, Message};
pub use login::{Binding, Identity, Login, LoginError};
