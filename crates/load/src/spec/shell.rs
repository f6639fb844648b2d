//! Who runs the shell commands of scripts.

use serde::{Deserialize, Serialize};

/// An account of this machine, without any supplementary group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellAccount {
    pub uid: u32,
    pub gid: u32,
}
