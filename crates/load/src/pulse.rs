//! Whether the engine could run all the time. A load whose process was stopped (SIGSTOP, Ctrl-Z, a debugger) or whose
//! machine was paused (a suspended laptop, a paused virtual machine) counts fewer transactions than the server could
//! have served, and nothing in its figures says so.
//!
//! One thread does nothing but sleep for [`PERIOD`] and look at the clocks. Sleeping too long alone proves nothing: on a
//! busy machine a thread waits for a processor. That wait is known to the kernel (`schedstat`: the time spent runnable
//! on a run queue), and only what it does not explain is called a pause: a stopped thread is on no queue. It must also
//! have been the whole process that stood still: if its threads used the processor meanwhile, only this one was late.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use crate::clock::{Nanos, NEVER};
use crate::os;
use crate::stage::Stage;

/// How long the thread sleeps.
const PERIOD: Nanos = 50_000_000;
/// Shorter ones are the timers and the scheduler of an ordinary machine.
const PAUSE_MIN: Nanos = 100_000_000;

/// What is known about the time in which the engine stood still while it measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    pub total: Nanos,
    pub longest: Nanos,
}

/// One look at the clocks.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    /// The engine's clock: it goes on while the process is stopped, and stands while the machine is suspended.
    at: Nanos,
    /// A clock that goes on while the machine is suspended.
    boot: Nanos,
    /// For how long this thread has waited for a processor; none where the kernel does not say.
    queued: Option<Nanos>,
    /// The processor time of all threads.
    used: Nanos,
}

/// Looks at the clocks until `ended` is dropped at its other end.
pub fn watch(stage: &Stage, threads: usize, ended: &Receiver<()>) -> Pauses {
    let schedstat = File::open("/proc/thread-self/schedstat").ok();
    let look = || Look {
        at: stage.clock.now(),
        boot: os::boot_time(),
        queued: schedstat.as_ref().and_then(queued),
        used: os::process_cpu(),
    };
    let mut pauses = Pauses::default();
    let mut before = look();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(std::time::Duration::from_nanos(PERIOD)) {
        let after = look();
        let window = stage.window();
        if window.warm_up != NEVER {
            pauses.add(pause(&before, &after, threads, window.start, window.end));
        }
        before = after;
    }
    pauses
}

impl Pauses {
    fn add(&mut self, pause: Nanos) {
        self.total += pause;
        self.longest = self.longest.max(pause);
    }
}

/// How much of the time from `start` to `end` the engine stood still between two looks.
fn pause(before: &Look, after: &Look, threads: usize, start: Nanos, end: Nanos) -> Nanos {
    let passed = after.at.saturating_sub(before.at);
    let queued = match (before.queued, after.queued) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => 0,
    };
    let stopped = passed.saturating_sub(PERIOD).saturating_sub(queued);
    // Before the pause began, each thread may have worked for a period.
    let most = PERIOD.saturating_mul(threads as Nanos + 1);
    let used = after.used.saturating_sub(before.used).saturating_sub(most);
    let stopped = if used > stopped / 2 { 0 } else { stopped };
    let measured = after.at.min(end).saturating_sub(before.at.max(start));
    let suspended = match (start..end).contains(&before.at) {
        true => after.boot.saturating_sub(before.boot).saturating_sub(passed),
        false => 0,
    };
    let pause = stopped.min(measured).saturating_add(suspended);
    if pause < PAUSE_MIN {
        0
    } else {
        pause
    }
}

/// The second of three numbers: nanoseconds on a run queue.
fn queued(schedstat: &File) -> Option<Nanos> {
    let mut text = [0; 96];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    const MS: Nanos = 1_000_000;

    /// Looks at 10 s and `passed` later, with so much waiting for a processor and so much work of all threads.
    fn looks(passed: Nanos, queued: Option<Nanos>, used: Nanos) -> (Look, Look) {
        let before = Look {
            at: 10 * SECOND,
            boot: 70 * SECOND,
            queued: Some(5 * SECOND),
            used: 3 * SECOND,
        };
        let after = Look {
            at: before.at + passed,
            boot: before.boot + passed,
            queued: queued.map(|queued| 5 * SECOND + queued),
            used: before.used + used,
        };
        (before, after)
    }

    fn found(looks: &(Look, Look)) -> Nanos {
        pause(&looks.0, &looks.1, 2, 0, 60 * SECOND)
    }

    #[test]
    fn a_stopped_process_is_paused_for_all_but_the_sleep() {
        assert_eq!(found(&looks(4050 * MS, Some(0), 20 * MS)), 4 * SECOND);
        assert_eq!(found(&looks(4050 * MS, Some(300 * MS), 20 * MS)), 3700 * MS);
        assert_eq!(found(&looks(4050 * MS, None, 20 * MS)), 4 * SECOND);
    }

    #[test]
    fn waiting_for_a_processor_is_no_pause() {
        assert_eq!(found(&looks(4050 * MS, Some(3990 * MS), 0)), 0);
        assert_eq!(found(&looks(60 * MS, Some(0), 0)), 0);
        assert_eq!(found(&looks(149 * MS, Some(0), 0)), 0);
        assert_eq!(found(&looks(150 * MS, Some(0), 0)), 100 * MS);
    }

    #[test]
    fn a_process_whose_threads_work_is_not_paused() {
        assert_eq!(found(&looks(1050 * MS, Some(0), 900 * MS)), 0);
        assert_eq!(found(&looks(1050 * MS, Some(0), 150 * MS)), SECOND);
    }

    #[test]
    fn a_suspended_machine_is_found_by_the_clock_that_goes_on() {
        let (before, mut after) = looks(50 * MS, Some(0), 0);
        after.boot += 30 * SECOND;
        assert_eq!(pause(&before, &after, 2, 0, 60 * SECOND), 30 * SECOND);
        assert_eq!(pause(&before, &after, 2, 20 * SECOND, 60 * SECOND), 0);
    }

    #[test]
    fn only_the_measured_time_counts() {
        let (before, after) = looks(4050 * MS, Some(0), 0);
        assert_eq!(pause(&before, &after, 2, 12 * SECOND, 60 * SECOND), 2050 * MS);
        assert_eq!(pause(&before, &after, 2, 0, 11 * SECOND), SECOND);
        assert_eq!(pause(&before, &after, 2, 0, 9 * SECOND), 0);
        assert_eq!(pause(&before, &after, 2, 20 * SECOND, 60 * SECOND), 0);
    }

    #[test]
    fn the_kernel_says_how_long_a_thread_was_queued() {
        let path = std::path::Path::new("/proc/thread-self/schedstat");
        if path.exists() {
            assert!(File::open(path).is_ok_and(|file| queued(&file).is_some()));
        }
        assert!(os::boot_time() > 0 && os::process_cpu() > 0);
    }
}
