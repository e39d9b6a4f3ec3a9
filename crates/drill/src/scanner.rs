//! The characters of a text, with the place of the next one. Both languages are read from it: scripts, and their code.

use crate::ast::Position;

pub(crate) struct Scanner<'a> {
    pub(crate) at: Position,
    pub(crate) rest: &'a str,
}

impl<'a> Scanner<'a> {
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// The character after the next one.
    pub(crate) fn peek_second(&self) -> Option<char> {
        self.rest.chars().nth(1)
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.skip(c.len_utf8());
        Some(c)
    }

    /// Takes characters as long as they are `wanted`.
    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !wanted(c));
        self.skip(end.unwrap_or(self.rest.len()))
    }

    /// Takes what comes before `end`, and skips `end`. None if that does not come.
    pub(crate) fn take_until(&mut self, end: &str) -> Option<&'a str> {
        let taken = self.rest.find(end)?;
        let taken = self.skip(taken);
        self.skip(end.len());
        Some(taken)
    }

    /// Takes this number of bytes.
    pub(crate) fn skip(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for c in taken.chars() {
            if c == '\n' {
                self.at.line += 1;
                self.at.column = 1;
            } else {
                self.at.column += 1;
            }
        }
        self.rest = rest;
        taken
    }
}
