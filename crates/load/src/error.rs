//! What can keep a load from running at all. What happens to transactions while it runs is not an error but a result.

use crate::script::ScriptError;

/// Why a load could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The text is not a `LoadSpec`.
    #[error("the load spec cannot be read: {0}")]
    SpecText(#[from] serde_json::Error),
    /// A value of the spec that no load can have.
    #[error("{field}: {problem}")]
    Spec {
        /// The field of the spec, with its path.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A script that cannot be parsed.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The name of the server's host means no address.
    #[error("no address for {host}: {problem}")]
    Address {
        /// The host as the spec gives it.
        host: String,
        /// What the resolver said.
        problem: String,
    },
    /// The log of transactions cannot be begun.
    #[error("{}: the log cannot be created: {source}", path.display())]
    Log {
        /// The file.
        path: std::path::PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The operating system refused something that the engine needs.
    #[error("{doing}: {source}")]
    System {
        /// What the engine was doing.
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A thread of the engine died: a fault of the engine itself.
    #[error("a thread of the load engine died")]
    ThreadDied,
}

impl LoadError {
    /// Whether the user asked for something that cannot be had, so that trying again is useless.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::SpecText(_) | Self::Spec { .. } | Self::Script(_) | Self::Log { .. }
        )
    }

    pub(crate) fn spec(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Spec {
            field: field.into(),
            problem: problem.into(),
        }
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}
