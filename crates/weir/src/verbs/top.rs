//! `weir top`: what a running Weir does now.
//!
//! What is on the screen is a value (`state.rs`) that keys (`keys.rs`) and answers change, and that `draw.rs` draws; `asking.rs`
//! asks on a thread of its own.

mod asking;
mod draw;
mod keys;
mod rates;
mod sample;
mod state;

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyEvent};
use ratatui::crossterm::terminal::disable_raw_mode;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::client::Client;
use super::{address, token};
use crate::cli::TopArgs;
use asking::Asking;
use state::{State, Told, Wish};

/// What the screen waits for.
enum Event {
    Key(KeyEvent),
    Resized,
    Told(Told),
    /// No key will come any more.
    NoKeys,
    /// A signal that ends the process, once the terminal is as it was.
    Signal(i32),
}

/// The terminal while it is drawn on. It is as it was before when this is dropped.
struct Drawn(DefaultTerminal);

impl Drawn {
    fn new() -> Result<Self> {
        ratatui::try_init().map(Self).map_err(|error| {
            // It may have come half the way.
            let _ = ratatui::try_restore();
            anyhow::Error::new(error).context("this terminal cannot be drawn on")
        })
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        // Where that fails there is no terminal any more.
        let _ = ratatui::try_restore();
    }
}

pub fn run(args: &TopArgs) -> Result<()> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        bail!(
            "`weir top` draws on a terminal, and this is none: `weir queries` and `weir cache stats` print the same figures \
             once, with --json for programs"
        );
    }
    let address = address(&args.place)?;
    let client = Client::new(address.clone(), token::given(args.token_file.as_deref())?);
    let asking = Asking::new(client.with_patience(asking::PATIENCE));
    // Where nobody answers, or the token is refused, it is said as every verb says it.
    let first = asking.ask_all()?;
    let every = Duration::from_secs(args.interval);
    let mut state = State::new(address.to_string(), every, super::show::colors());
    state.told(Told::Sample(Box::new(first)));
    let (events, heard) = mpsc::channel();
    let (wishes, wished) = mpsc::channel();
    {
        let events = events.clone();
        thread::Builder::new()
            .name("asking".to_owned())
            .spawn(move || asking.run(every, &wished, &events))?;
    }
    {
        let (mut signals, events) = (Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])?, events.clone());
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.forever().fold(0, |before, signal| signalled(before, signal, &events)))?;
    }
    let mut terminal = Drawn::new()?;
    // It ends with the process: nothing wakes a thread that waits for a key.
    thread::Builder::new().name("keys".to_owned()).spawn(move || read_keys(&events))?;
    let done = show(&mut terminal.0, &mut state, &heard, &wishes);
    drop(terminal);
    match done? {
        None => Ok(()),
        Some(signal) => Ok(emulate_default_handler(signal)?),
    }
}

/// A signal has come, behind so many others. The first is an event; the screen may hang, and so the next one ends the process.
fn signalled(before: u32, signal: i32, events: &Sender<Event>) -> u32 {
    if before > 0 || events.send(Event::Signal(signal)).is_err() {
        let _ = disable_raw_mode();
        let _ = emulate_default_handler(signal);
    }
    before + 1
}

/// Until it is left. Returned is the signal that has ended it, if one has.
fn show(
    terminal: &mut DefaultTerminal,
    state: &mut State,
    events: &Receiver<Event>,
    wishes: &Sender<Wish>,
) -> Result<Option<i32>> {
    loop {
        terminal.draw(|frame| draw::draw(frame, state))?;
        let wish = match events.recv() {
            Ok(Event::Key(key)) => state.key(key),
            Ok(Event::Resized) => None,
            Ok(Event::Told(told)) => {
                state.told(told);
                None
            }
            Ok(Event::Signal(signal)) => return Ok(Some(signal)),
            Ok(Event::NoKeys) | Err(_) => return Ok(None),
        };
        match wish {
            Some(Wish::Quit) => return Ok(None),
            Some(wish) => wishes.send(wish).context("nobody asks Weir any more")?,
            None => {}
        }
    }
}

fn read_keys(events: &Sender<Event>) {
    loop {
        let event = match event::read() {
            Ok(event::Event::Key(key)) => Event::Key(key),
            Ok(event::Event::Resize(..)) => Event::Resized,
            Ok(_) => continue,
            Err(_) => Event::NoKeys,
        };
        let last = matches!(event, Event::NoKeys);
        if events.send(event).is_err() || last {
            return;
        }
    }
}
