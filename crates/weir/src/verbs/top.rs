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
    let mut terminal = ratatui::try_init().context("this terminal cannot be drawn on")?;
    // It ends with the process: nothing wakes a thread that waits for a key.
    thread::Builder::new().name("keys".to_owned()).spawn(move || read_keys(&events))?;
    let done = show(&mut terminal, &mut state, &heard, &wishes);
    ratatui::restore();
    done
}

fn show(
    terminal: &mut DefaultTerminal,
    state: &mut State,
    events: &Receiver<Event>,
    wishes: &Sender<Wish>,
) -> Result<()> {
    loop {
        terminal.draw(|frame| draw::draw(frame, state))?;
        let wish = match events.recv() {
            Ok(Event::Key(key)) => state.key(key),
            Ok(Event::Resized) => None,
            Ok(Event::Told(told)) => {
                state.told(told);
                None
            }
            Ok(Event::NoKeys) | Err(_) => return Ok(()),
        };
        match wish {
            Some(Wish::Quit) => return Ok(()),
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
