//! What stands over the list: one digest, a rule that may be added, help.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Padding, Paragraph, Wrap};

use super::{Look, in_middle};
use crate::verbs::top::state::{Note, Proposal, State, View};

const HELP: &str = "\
c t m r e h   sort by calls, time, mean, rows, errors, hits
up down       choose a digest (also j k, page keys, home, end)
enter         all about it
a             keep its answers in the cache: asks for the TTL,
              shows the rule, and adds it when you say y
/             show only digests that hold a text; esc shows all
p             pause: the screen stands still
+ -           a longer or shorter interval
q             quit

Figures are of the last interval. time/s: how long clients have
waited, all together; 2.0 s means that two waited at any time.
hits: calls answered by the cache. p50 and p99 of all are
estimates between powers of two.";

pub fn details(frame: &mut Frame<'_>, area: Rect, text: &str, from: u16, look: Look) {
    let block = Block::bordered().border_style(look.quiet()).title("digest");
    let text = Paragraph::new(plain(text)).wrap(Wrap { trim: false });
    let from = from.min(last(&text, area.width.saturating_sub(2), area.height.saturating_sub(2)));
    frame.render_widget(Clear, area);
    frame.render_widget(text.scroll((from, 0)).block(block), area);
}

/// How far a text is scrolled when its last line stands at the end of a place of this size.
fn last(text: &Paragraph<'_>, width: u16, height: u16) -> u16 {
    u16::try_from(text.line_count(width.max(1))).unwrap_or(u16::MAX).saturating_sub(height)
}

pub fn over(frame: &mut Frame<'_>, area: Rect, state: &State, look: Look) {
    match &state.view {
        View::Help => window(frame, area, "help: any key closes it", plain(HELP), 0, look),
        View::Ttl { id, ttl } => {
            let text = format!(
                "Keep the answers to {id} for how long?\n(30s, 5m, 1h)\n\nTTL: {ttl}_\n\nenter shows the rule, esc leaves"
            );
            window(frame, area, "cache", plain(&text), 0, look);
        }
        View::Waiting(what) => window(frame, area, "", plain(&format!("{what} ...")), 0, look),
        // The question stands where no text is too long for it.
        View::Confirm { proposal, from } => {
            window(frame, area, "add this rule? y adds it, n does not", confirm(proposal, look), *from, look);
        }
        View::List | View::Filter(_) | View::Details { .. } => {}
    }
    match &state.note {
        Some(note) if too_long(note, area.width) => {
            window(frame, area, "any key closes it", plain(&note.text), 0, look);
        }
        _ => {}
    }
}

/// Longer than a line of the screen.
pub fn too_long(note: &Note, width: u16) -> bool {
    note.text.contains('\n') || Line::raw(note.text.as_str()).width() > usize::from(width)
}

fn confirm<'s>(proposal: &'s Proposal, look: Look) -> Text<'s> {
    let mut text = Text::default();
    if let Some(doubt) = &proposal.doubt {
        text.push_line(Line::styled(doubt.as_str(), look.bad()));
        text.push_line("");
    }
    text.lines.extend(proposal.toml.trim().lines().map(Line::raw));
    text.push_line("");
    text.push_line(
        "It becomes the last rule, is written to the configuration file and takes effect at once.",
    );
    text
}

fn plain(text: &str) -> Text<'_> {
    Text::from(text.lines().map(Line::raw).collect::<Vec<_>>())
}

/// As large as its text, wrapped where the screen ends.
fn window(frame: &mut Frame<'_>, area: Rect, title: &str, text: Text<'_>, from: u16, look: Look) {
    let wanted = u16::try_from(text.width()).unwrap_or(u16::MAX).clamp(34, 74);
    let width = wanted.saturating_add(4).min(area.width.saturating_sub(2));
    let text = Paragraph::new(text).wrap(Wrap { trim: false });
    let inner = width.saturating_sub(4);
    let height = last(&text, inner, 0).saturating_add(2).min(area.height);
    let from = from.min(last(&text, inner, height.saturating_sub(2)));
    let place = in_middle(area, width, height);
    let block = Block::bordered().border_style(look.name()).title(title).padding(Padding::horizontal(1));
    frame.render_widget(Clear, place);
    frame.render_widget(text.scroll((from, 0)).block(block), place);
}
