//! What a load says about TPC-C.

use serde::{Deserialize, Serialize};

use super::Pace;
use crate::error::LoadError;

/// More warehouses than any disk holds: a typo, not a load.
const WAREHOUSES_MAX: u32 = 1_000_000;

/// Whose reading of TPC-C. The differences are in `tpcc/convention.rs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convention {
    /// BenchBase's, which most published figures come from.
    #[default]
    BenchBase,
    /// The specification's.
    Spec,
}

/// The isolation level of every transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    #[default]
    Serializable,
}

impl Isolation {
    /// As SQL spells it.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// TPC-C instead of scripts. Its statements are always prepared, whatever `protocol` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TpccSpec {
    pub warehouses: u32,
    #[serde(default)]
    pub convention: Convention,
    #[serde(default)]
    pub isolation: Isolation,
    /// The specification's key and think times; without them a terminal never rests.
    #[serde(default)]
    pub waits: bool,
}

impl TpccSpec {
    pub(super) fn validate(&self, pace: &Pace) -> Result<(), LoadError> {
        if self.warehouses == 0 || self.warehouses > WAREHOUSES_MAX {
            return Err(LoadError::spec(
                "tpcc.warehouses",
                format!("must be 1 to {WAREHOUSES_MAX}, not {}", self.warehouses),
            ));
        }
        if self.waits && self.convention != Convention::Spec {
            return Err(LoadError::spec(
                "tpcc.waits",
                "are the specification's and need its convention",
            ));
        }
        if self.waits && pace.rate_tps.is_some() {
            return Err(LoadError::spec(
                "tpcc.waits",
                "cannot be had together with pace.rate_tps: both say when a transaction begins",
            ));
        }
        Ok(())
    }
}
