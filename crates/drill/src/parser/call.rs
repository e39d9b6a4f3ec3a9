//! Reads a socket call after the time of its event, as in `+.1...0.2 write(4, ..., 1000) = 1000`.

use super::{Cursor, DEPTH_MAX};
use crate::ast::{Call, Expr};
use crate::error::ScriptError;
use crate::lexer::Token;

impl Cursor<'_> {
    pub(super) fn call(&mut self) -> Result<Call, ScriptError> {
        let until = if *self.peek() == Token::Ellipsis {
            self.skip();
            Some(self.time("the time at which the call returns, after `...`")?)
        } else {
            None
        };
        let Token::Word(name) = self.peek().clone() else {
            return Err(self.expected("the name of a socket call"));
        };
        self.skip();
        self.need('(')?;
        let arguments = self.expressions(')', 0)?;
        self.need('=')?;
        let result = self.expression(0)?;
        let errno = match self.peek().clone() {
            Token::Word(errno) => {
                self.skip();
                Some(errno)
            }
            _ => None,
        };
        if self.take('(') {
            self.note()?;
        }
        Ok(Call {
            until,
            name,
            arguments,
            result,
            errno,
        })
    }

    /// Skips a note for readers, as in `(Operation now in progress)`.
    fn note(&mut self) -> Result<(), ScriptError> {
        loop {
            if self.take(')') {
                return Ok(());
            }
            match self.peek() {
                Token::Word(_) | Token::Number(_) | Token::Sign(_) => self.skip(),
                _ => return Err(self.expected("`)` after the note")),
            }
        }
    }

    /// Reads expressions up to `close`, separated by commas.
    fn expressions(&mut self, close: char, depth: u32) -> Result<Vec<Expr>, ScriptError> {
        let mut list = Vec::new();
        if self.take(close) {
            return Ok(list);
        }
        loop {
            list.push(self.expression(depth)?);
            if !self.take(',') {
                self.need(close)?;
                return Ok(list);
            }
        }
    }

    fn expression(&mut self, depth: u32) -> Result<Expr, ScriptError> {
        let left = self.alternatives(depth)?;
        if depth > 0 && self.take('=') {
            let value = self.alternatives(depth)?;
            return Ok(Expr::Named(Box::new(left), Box::new(value)));
        }
        Ok(left)
    }

    fn alternatives(&mut self, depth: u32) -> Result<Expr, ScriptError> {
        let first = self.term(depth)?;
        if !self.take('|') {
            return Ok(first);
        }
        let mut all = vec![first, self.term(depth)?];
        while self.take('|') {
            all.push(self.term(depth)?);
        }
        Ok(Expr::Or(all))
    }

    fn term(&mut self, depth: u32) -> Result<Expr, ScriptError> {
        if depth > DEPTH_MAX {
            return Err(self.expected("brackets nested less deeply"));
        }
        match self.peek().clone() {
            Token::Ellipsis => {
                self.skip();
                Ok(Expr::Any)
            }
            Token::Number(number) => {
                self.skip();
                Ok(Expr::Number(number))
            }
            Token::Text(first) => {
                self.skip();
                let mut text = first;
                while let Token::Text(more) = self.peek().clone() {
                    text.push_str(&more);
                    self.skip();
                }
                if *self.peek() == Token::Ellipsis {
                    self.skip();
                }
                Ok(Expr::Text(text))
            }
            Token::Word(word) => {
                self.skip();
                if self.take('(') {
                    return Ok(Expr::Apply(word, self.expressions(')', depth + 1)?));
                }
                Ok(Expr::Word(word))
            }
            Token::Sign('[') => {
                self.skip();
                Ok(Expr::List(self.expressions(']', depth + 1)?))
            }
            Token::Sign('{') => {
                self.skip();
                Ok(Expr::Group(self.expressions('}', depth + 1)?))
            }
            _ => Err(self.expected("a number, a name, a string, `...`, `[` or `{`")),
        }
    }
}
