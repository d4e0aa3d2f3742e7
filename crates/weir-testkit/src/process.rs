//! Programs started for a test: they end with it, whatever happens to it, and what they print is kept.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

mod signals;

pub use signals::Signal;

/// A running program with its captured output. Dropping it kills the program.
pub struct Program {
    name: String,
    child: Child,
    log: Arc<Log>,
    status: Option<ExitStatus>,
}

impl Program {
    /// Starts `command`, with nothing on its standard input and both outputs captured. The program dies with
    /// this process, even when this process is killed.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(mut command: Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        signals::die_with_parent(&mut command);
        let mut child = spawn_from_lasting_thread(command).with_context(|| format!("cannot start {name}"))?;
        let log = Arc::new(Log::default());
        let outputs: [Option<Box<dyn Read + Send>>; 2] =
            [child.stdout.take().map(|o| Box::new(o) as _), child.stderr.take().map(|o| Box::new(o) as _)];
        for output in outputs.into_iter().flatten() {
            log.follow(output);
        }
        Ok(Self { name, child, log, status: None })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything printed so far, both outputs in the order the lines came in.
    pub fn log(&self) -> String {
        self.log.state().lines.join("\n")
    }

    /// Waits until a line printed contains `text`.
    ///
    /// # Errors
    /// When the program ends first, or `limit` passes; the error carries the last lines printed.
    pub fn wait_for_line(&self, text: &str, limit: Duration) -> Result<()> {
        self.log.wait(limit, |state| state.lines.iter().any(|line| line.contains(text)));
        let state = self.log.state();
        if state.lines.iter().any(|line| line.contains(text)) {
            return Ok(());
        }
        let last = state.lines.iter().rev().take(15).rev().cloned().collect::<Vec<_>>().join("\n");
        let what = if state.open == 0 { "ended" } else { "kept silent" };
        bail!("{} {what} before it printed `{text}`; its last lines:\n{last}", self.name)
    }

    /// True until the program has ended.
    pub fn is_running(&mut self) -> bool {
        self.status.is_none() && matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal. A program that has ended gets none.
    ///
    /// # Errors
    /// What kill(2) reports.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if !self.is_running() {
            return Ok(());
        }
        signals::send(self.child.id(), signal)
    }

    /// Asks the program to end and waits up to `limit`, then kills it.
    ///
    /// # Errors
    /// When the program had to be killed, or cannot be waited for.
    pub fn terminate(&mut self, limit: Duration) -> Result<ExitStatus> {
        self.signal(Signal::Term)?;
        self.log.wait(limit, |state| state.open == 0);
        if self.log.state().open > 0 && self.is_running() {
            self.kill()?;
            bail!("{} did not end within {limit:?} of SIGTERM and was killed", self.name);
        }
        self.wait()
    }

    /// Ends the program at once with SIGKILL, as a crash would.
    ///
    /// # Errors
    /// When the program cannot be waited for.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        if self.status.is_none() {
            self.child.kill().ok();
        }
        self.wait()
    }

    /// Waits for the program to end by itself.
    ///
    /// # Errors
    /// When the program cannot be waited for.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let status = match self.status {
            Some(status) => status,
            None => self.child.wait().with_context(|| format!("cannot wait for {}", self.name))?,
        };
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill().ok();
    }
}

/// Lines printed by a program, and how many of its outputs are still open.
#[derive(Default)]
struct Log {
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Default)]
struct LogState {
    lines: Vec<String>,
    open: usize,
}

impl Log {
    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn follow(self: &Arc<Self>, output: Box<dyn Read + Send>) {
        self.state().open += 1;
        let log = Arc::clone(self);
        thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
                log.state().lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
                log.changed.notify_all();
                line.clear();
            }
            log.state().open -= 1;
            log.changed.notify_all();
        });
    }

    fn wait(&self, limit: Duration, done: impl Fn(&LogState) -> bool) {
        let deadline = Instant::now() + limit;
        let mut state = self.state();
        while !done(&state) && state.open > 0 {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return };
            state = match self.changed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

/// The kernel's "die with the parent" means the thread that started the child. Tests run on threads that end
/// early, so every child is started by one thread that lasts as long as the process.
fn spawn_from_lasting_thread(command: Command) -> io::Result<Child> {
    type Job = (Command, mpsc::Sender<io::Result<Child>>);
    static STARTER: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::spawn(move || {
            for (mut command, reply) in queue {
                reply.send(command.spawn()).ok();
            }
        });
        jobs
    });
    let (reply, answer) = mpsc::channel();
    starter.send((command, reply)).map_err(io::Error::other)?;
    answer.recv().map_err(io::Error::other)?
}
