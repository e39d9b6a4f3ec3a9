//! Reads tokens into a script. Each submodule reads one kind of element.

mod call;
mod code;
mod options;
mod packet;
mod time;

use crate::ast::{Action, Event, EventTime, Position, Script, ScriptOption};
use crate::error::ScriptError;
use crate::lexer::{self, Token};

/// What an error quotes.
trait Quoted {
    fn shown(&self) -> String;
}

impl Quoted for Token {
    fn shown(&self) -> String {
        Self::shown(self)
    }
}

/// Reads a script.
///
/// # Errors
/// [`ScriptError`] for the first text that is not valid, with its place and what is allowed there.
pub fn parse(text: &str) -> Result<Script, ScriptError> {
    let tokens = lexer::tokens(text)?;
    let mut cursor = Cursor {
        tokens: &tokens.list,
        index: 0,
    };
    let options = cursor.script_options();
    let mut commands = cursor.bare_commands();
    let mut events = Vec::new();
    while *cursor.peek() != Token::End {
        if matches!(cursor.peek(), Token::BackQuoted(_)) {
            // commands at the end of a script clean up
            commands.extend(cursor.bare_commands());
            if *cursor.peek() != Token::End {
                return Err(cursor.expected("the end of the script after the last command"));
            }
            break;
        }
        events.push(cursor.event()?);
    }
    if events.is_empty() {
        return Err(cursor.expected("an event"));
    }
    Ok(Script {
        stack: tokens.stack,
        options,
        commands,
        events,
    })
}

/// The deepest nesting of groups, lists and parentheses.
const DEPTH_MAX: u32 = 32;

/// A position in the tokens of a script, or of its code.
struct Cursor<'a, T = Token> {
    tokens: &'a [(Position, T)],
    index: usize,
}

impl<T: Quoted> Cursor<'_, T> {
    fn peek(&self) -> &T {
        &self.tokens[self.index].1
    }

    fn at(&self) -> Position {
        self.tokens[self.index].0
    }

    /// Moves to the next token. At the end it stays where it is.
    fn skip(&mut self) {
        self.index = (self.index + 1).min(self.tokens.len() - 1);
    }

    fn expected(&self, what: &str) -> ScriptError {
        ScriptError::new(self.at(), what, &self.peek().shown())
    }
}

impl Cursor<'_> {
    /// Moves on if the next token is `sign`. Returns whether it was.
    fn take(&mut self, sign: char) -> bool {
        let is_next = *self.peek() == Token::Sign(sign);
        if is_next {
            self.skip();
        }
        is_next
    }

    /// Moves on if the next token is `word`. Returns whether it was.
    fn take_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Word(next) if next == word);
        if is_next {
            self.skip();
        }
        is_next
    }

    fn need(&mut self, sign: char) -> Result<(), ScriptError> {
        if self.take(sign) {
            return Ok(());
        }
        Err(self.expected(&format!("`{sign}`")))
    }

    /// Reads a whole number that `T` can hold.
    fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, ScriptError> {
        if let Token::Number(number) = *self.peek()
            && let Ok(number) = T::try_from(number)
        {
            self.skip();
            return Ok(number);
        }
        Err(self.expected(what))
    }

    fn script_options(&mut self) -> Vec<ScriptOption> {
        let mut options = Vec::new();
        while let Token::Option(name, value) = self.peek().clone() {
            let at = self.at();
            options.push(ScriptOption { at, name, value });
            self.skip();
        }
        options
    }

    fn bare_commands(&mut self) -> Vec<(Position, String)> {
        let mut commands = Vec::new();
        while let Token::BackQuoted(command) = self.peek().clone() {
            commands.push((self.at(), command));
            self.skip();
        }
        commands
    }

    fn event(&mut self) -> Result<Event, ScriptError> {
        let at = self.at();
        let time = self.event_time()?;
        let action_at = self.at();
        let action = self.action()?;
        let exact = matches!(time, EventTime::Absolute(_) | EventTime::Relative(_));
        if !exact && !matches!(action, Action::Outbound(_)) {
            let expected = "an outbound segment `>` after `*` or a range of times";
            let found = kind_of(&action);
            return Err(ScriptError::new(action_at, expected, found));
        }
        Ok(Event { at, time, action })
    }

    fn action(&mut self) -> Result<Action, ScriptError> {
        match self.peek().clone() {
            Token::Sign('<') => {
                self.skip();
                self.packet().map(Action::Inbound)
            }
            Token::Sign('>') => {
                self.skip();
                self.packet().map(Action::Outbound)
            }
            Token::BackQuoted(command) => {
                self.skip();
                Ok(Action::Command(command))
            }
            Token::Code(text) => {
                let statements = code::parse(self.at(), &text)?;
                self.skip();
                Ok(Action::Code(statements))
            }
            Token::Word(_) | Token::Ellipsis => self.call().map(Action::Call),
            _ => Err(self
                .expected("`<`, `>`, a socket call, a back-quoted command or `%{` after the time")),
        }
    }
}

fn kind_of(action: &Action) -> &'static str {
    match action {
        Action::Inbound(_) => "an inbound segment",
        Action::Outbound(_) => "an outbound segment",
        Action::Call(_) => "a socket call",
        Action::Command(_) => "a back-quoted command",
        Action::Code(_) => "code",
    }
}
