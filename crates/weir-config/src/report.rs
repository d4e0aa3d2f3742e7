use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// Everything that is wrong with a configuration, in the order of the file. Never empty when returned as an error.
///
/// No secret of the file is in it: they were masked before it was made, so `Debug` and `Display` are safe to log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    source: String,
    problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in a few words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// `None` when it concerns the whole file.
    pub place: Option<Place>,
}

/// Where a problem is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The line as it stands in the file, secrets replaced by `***`.
    pub excerpt: String,
    /// The offending bytes of `excerpt`.
    pub highlight: Range<usize>,
}

impl Report {
    /// `source` is the name of the file, or what stands in its place.
    pub(crate) fn new(source: impl Into<String>, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|p| p.place.as_ref().map(|place| (place.line, place.column)));
        problems.dedup();
        Self { source: source.into(), problems }
    }

    /// A report of one problem that concerns the whole file.
    pub(crate) fn about(source: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(source, vec![Problem::about(message, hint)])
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The report for people: each problem with file, line, column, the offending text and a hint, then their
    /// number. `color` adds terminal escapes. Ends with a newline.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut text = String::new();
        for problem in &self.problems {
            let rendered = renderer.render(&[self.group(problem)]);
            text.push_str(&self.with_true_column(problem, rendered));
            text.push_str("\n\n");
        }
        let number = self.problems.len();
        text.push_str(&format!("{}: {number} problem{}\n", self.source, if number == 1 { "" } else { "s" }));
        text
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let group = Group::with_title(Level::ERROR.primary_title(problem.message.as_str()));
        let group = match &problem.place {
            Some(place) => group.element(
                Snippet::source(place.excerpt.as_str())
                    .path(self.source.as_str())
                    .line_start(place.line)
                    .annotation(AnnotationKind::Primary.span(place.highlight.clone())),
            ),
            None => group.element(Origin::path(self.source.as_str())),
        };
        match &problem.hint {
            Some(hint) => group.element(Level::HELP.message(hint.as_str())),
            None => group,
        }
    }

    /// The renderer counts columns in the excerpt, where a masked secret may be shorter than in the file.
    fn with_true_column(&self, problem: &Problem, rendered: String) -> String {
        let Some(place) = &problem.place else { return rendered };
        let shown = place.excerpt.get(..place.highlight.start).map_or(0, |before| before.chars().count()) + 1;
        let place_of = |column: usize| format!("{}:{}:{column}", self.source, place.line);
        rendered.replacen(&place_of(shown), &place_of(place.column), 1)
    }
}

impl Problem {
    pub(crate) fn about(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()), place: None }
    }
}

impl std::error::Error for Report {}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

#[cfg(test)]
mod tests;
