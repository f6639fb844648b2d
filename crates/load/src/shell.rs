//! Commands of the shell: each runs in a process group of its own and is watched by a thread of its own, because waiting
//! for a child must not stop the clients of an event loop.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{kill_process_group, waitid, Pid, Signal, WaitId, WaitIdOptions};

use crate::spec::{ShellAccount, ShellOutput};

/// pgbench reads no more of a result.
const RESULT_MAX: usize = 63;

/// What an account of its own gets of this process's environment.
const KEPT_VARIABLES: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "PWD"];

/// What is to run.
#[derive(Debug)]
pub struct ShellRequest {
    /// For `sh -c`.
    pub line: Vec<u8>,
    /// The first line of the output is an integer and is wanted.
    pub captures: bool,
    /// Who runs it, if not this process's account.
    pub account: Option<ShellAccount>,
    /// Where the output of a command goes that is not captured.
    pub output: ShellOutput,
}

/// What came of it: the integer, if it was wanted.
pub type ShellOutcome = Result<Option<i64>, String>;

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Waiting,
    Running(Pid),
    /// Its number may belong to another process by now.
    Gone,
    Killed,
}

/// A command that was started, and can be ended from outside.
#[derive(Clone, Debug, Default)]
pub struct ShellProcess {
    stage: Arc<Mutex<Stage>>,
}

impl ShellProcess {
    /// Ends the command and whatever it has started, or keeps it from starting.
    pub fn kill(&self) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Stage::Running(group) = *stage {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if !matches!(*stage, Stage::Gone) {
            *stage = Stage::Killed;
        }
    }

    /// Runs the command to its end. Blocks.
    pub fn run(&self, request: ShellRequest) -> ShellOutcome {
        let captures = request.captures;
        let Some(mut child) = self.spawn(request)? else {
            return Err("the shell command was not started: the load had ended".to_owned());
        };
        let line = child.stdout.take().map(first_line);
        let status = self
            .reap(&mut child)
            .map_err(|error| format!("the shell command: {error}"))?;
        match line {
            Some(line) if captures => integer(&line?).map(Some),
            _ if status.success() => Ok(None),
            _ => Err(format!("the shell command failed: {status}")),
        }
    }

    fn spawn(&self, request: ShellRequest) -> Result<Option<Child>, String> {
        let output = if request.captures {
            Stdio::piped()
        } else {
            output_to(request.output)
        };
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*stage, Stage::Killed) {
            return Ok(None);
        }
        let mut command = Command::new("/bin/sh");
        if let Some(account) = request.account {
            become_account(&mut command, account);
        }
        let child = command
            .arg("-c")
            .arg(OsString::from_vec(request.line))
            .stdin(Stdio::null())
            .stdout(output)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("the shell command could not be started: {error}"))?;
        *stage = Stage::Running(Pid::from_child(&child));
        Ok(Some(child))
    }

    fn reap(&self, child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
        // Until it is reaped its number is its own, so that nobody else can be hit by `kill`.
        waitid(
            WaitId::Pid(Pid::from_child(child)),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )?;
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        *stage = Stage::Gone;
        child.wait()
    }
}

/// Runs the command as the account, in no other group. What else stands in this process's environment, such as a
/// password, is none of the account's business.
fn become_account(command: &mut Command, account: ShellAccount) {
    command.uid(account.uid).gid(account.gid).env_clear().env("HOME", "/");
    for name in KEPT_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

fn output_to(output: ShellOutput) -> Stdio {
    match output {
        ShellOutput::Discard => Stdio::null(),
        ShellOutput::Stdout => Stdio::inherit(),
        ShellOutput::Stderr => std::io::stderr()
            .as_fd()
            .try_clone_to_owned()
            .map_or_else(|_| Stdio::null(), Stdio::from),
    }
}

fn first_line(mut output: impl Read) -> Result<Vec<u8>, String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < RESULT_MAX {
        let count = output
            .read(&mut byte)
            .map_err(|error| format!("reading the result of the shell command: {error}"))?;
        if count == 0 {
            break;
        }
        line.extend_from_slice(&byte);
        if byte == *b"\n" {
            break;
        }
    }
    if line.is_empty() {
        return Err("the shell command gave no result".to_owned());
    }
    Ok(line)
}

/// As pgbench reads it: into 32 bits; an empty line is zero.
fn integer(line: &[u8]) -> Result<i64, String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_matches(|letter: char| letter.is_ascii_whitespace() || letter == '\x0b');
    if text.is_empty() {
        return Ok(0);
    }
    let refused = || format!("the shell command must print an integer, not \"{text}\"");
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    let number: i128 = text.parse().map_err(|_| refused())?;
    let number = number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    Ok(i64::from(number as i32))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn run(line: &str, captures: bool) -> ShellOutcome {
        let line = line.as_bytes().to_vec();
        ShellProcess::default().run(ShellRequest {
            line,
            captures,
            account: None,
            output: ShellOutput::Discard,
        })
    }

    #[test]
    fn results_are_read_as_pgbench_reads_them() {
        assert_eq!(run("echo ' -42 '; echo 7", true), Ok(Some(-42)));
        assert_eq!(run("echo; exit 3", true), Ok(Some(0)));
        assert_eq!(run("echo 4294967297", true), Ok(Some(1)));
        assert_eq!(run("exit 0", false), Ok(None));
        for (line, captures, wanted) in [
            ("echo 12x", true, "integer"),
            ("true", true, "no result"),
            ("exit 3", false, "exit status: 3"),
        ] {
            assert!(run(line, captures).unwrap_err().contains(wanted), "{line}");
        }
    }

    #[test]
    fn a_command_is_ended_with_all_that_it_has_started() {
        let process = ShellProcess::default();
        let other = process.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            other.kill();
        });
        let began = Instant::now();
        let line = b"sleep 60; echo 1".to_vec();
        let request = ShellRequest {
            line,
            captures: true,
            account: None,
            output: ShellOutput::Discard,
        };
        assert!(process.run(request).is_err());
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
