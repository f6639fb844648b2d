//! What happened, counted. A thread owns its recorder: nothing here is shared or locked. When the load is over the
//! recorders are merged; once a second each thread reports the second that has passed, so that the run can be followed.

mod errors;
mod failures;
mod histogram;
mod log;
mod log_interval;
mod recorder;
mod scripts;
mod seconds;
mod window;
mod windows;

pub use errors::ErrorMessages;
pub use failures::{Code, Fault};
pub use histogram::{Histogram, Precision};
pub use log::{LogOutcome, LogOwner, TransactionLog};
pub use recorder::{Recorder, RecorderPlan};
pub use scripts::{Course, ScriptRecord};
pub use seconds::{FoldedSecond, SecondFolder, SecondReport, SecondTotal};
pub use window::{Phase, Window};
pub use windows::{WindowRecord, WindowTally};
