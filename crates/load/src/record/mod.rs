//! What happened, counted. A thread owns its recorder: nothing here is shared or locked. When the load is over the
//! recorders are merged; once a second each thread reports the second that has passed, so that the run can be followed.

mod failures;
mod histogram;
mod recorder;
mod seconds;

pub use failures::{Code, FailureKey};
pub use histogram::{Histogram, Precision};
pub use recorder::{Recorder, ScriptRecord};
pub use seconds::{FoldedSecond, Phase, SecondFolder, SecondReport, SecondTotal, Window};
