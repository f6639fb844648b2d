//! Which engine this is.

/// The version of the crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `release` or `debug`. Only a release build measures the server; a debug build measures itself.
pub const PROFILE: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

/// The ways to move bytes that this build knows, best first.
pub const IO: &[&str] = if cfg!(target_os = "linux") {
    &["io_uring", "epoll", "poll"]
} else {
    &["poll"]
};
