//! Splits the characters of a script into tokens with their places.

use crate::ast::Position;
use crate::error::ScriptError;
use crate::scanner::Scanner;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// letters, digits and underscores that do not form a number
    Word(String),
    /// decimal or hexadecimal number
    Number(i64),
    /// digits as written, with a decimal point among or before them
    Decimal(String),
    Text(String),
    BackQuoted(String),
    /// text between `%{` and `}%`
    Code(String),
    /// `--name=value`
    Option(String, Option<String>),
    /// `...`
    Ellipsis,
    Sign(char),
    End,
}

impl Token {
    /// The token as quoted in an error.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Word(text) | Self::Decimal(text) => format!("`{text}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Text(text) => format!("{text:?}"),
            Self::BackQuoted(_) => "a back-quoted command".to_owned(),
            Self::Code(_) => "`%{`".to_owned(),
            Self::Option(name, _) => format!("`--{name}`"),
            Self::Ellipsis => "`...`".to_owned(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end of the script".to_owned(),
        }
    }
}

/// All tokens of a script, which end with [`Token::End`], and the stack that a comment names.
pub(crate) struct Tokens {
    pub(crate) list: Vec<(Position, Token)>,
    pub(crate) stack: Option<String>,
}

struct Lexer<'a> {
    text: Scanner<'a>,
    stack: Option<String>,
}

/// Splits a script into tokens.
pub(crate) fn tokens(text: &str) -> Result<Tokens, ScriptError> {
    let mut lexer = Lexer {
        text: Scanner {
            at: Position { line: 1, column: 1 },
            rest: text,
        },
        stack: None,
    };
    let mut list = Vec::new();
    loop {
        lexer.skip_blank()?;
        let at = lexer.text.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        list.push((at, token));
        if is_end {
            let stack = lexer.stack;
            return Ok(Tokens { list, stack });
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn unclosed(start: Position, expected: &str) -> ScriptError {
    let opened = format!("{expected} that is opened here");
    ScriptError::new(start, &opened, &Token::End.shown())
}

impl Lexer<'_> {
    fn skip_blank(&mut self) -> Result<(), ScriptError> {
        loop {
            self.text.take_while(char::is_whitespace);
            match (self.text.peek(), self.text.peek_second()) {
                (Some('/'), Some('/')) => {
                    let comment = self.text.take_while(|c| c != '\n');
                    let directive = comment.trim_start_matches('/').trim();
                    if let Some(name) = directive.strip_prefix("fairport: stack ") {
                        self.stack = Some(name.trim().to_owned());
                    }
                }
                (Some('/'), Some('*')) => {
                    self.enclosed("*/")
                        .map_err(|at| unclosed(at, "`*/` to close the comment"))?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn token(&mut self) -> Result<Token, ScriptError> {
        let start = self.text.at;
        let Some(c) = self.text.peek() else {
            return Ok(Token::End);
        };
        let second = self.text.peek_second();
        let begins_number = |c: char, second: Option<char>| {
            c.is_ascii_digit() || (c == '.' && second.is_some_and(|d| d.is_ascii_digit()))
        };
        match c {
            '"' => self.quoted('"').map(Token::Text),
            '`' => self.quoted('`').map(Token::BackQuoted),
            '%' if second == Some('{') => self
                .enclosed("}%")
                .map(Token::Code)
                .map_err(|at| unclosed(at, "`}%` to close the code")),
            '-' if second == Some('-') => self.option(),
            '-' if second.is_some_and(|d| d.is_ascii_digit()) => {
                self.text.next();
                match self.number(start)? {
                    Token::Number(number) => Ok(Token::Number(-number)),
                    token => Err(ScriptError::new(start, "a whole number", &token.shown())),
                }
            }
            '.' if second == Some('.') => self.ellipsis(start),
            _ if begins_number(c, second) => self.number(start),
            _ if is_word(c) => Ok(Token::Word(self.text.take_while(is_word).to_owned())),
            _ => {
                self.text.next();
                Ok(Token::Sign(c))
            }
        }
    }

    fn ellipsis(&mut self, start: Position) -> Result<Token, ScriptError> {
        let dots = [self.text.next(), self.text.next(), self.text.next()];
        if dots == [Some('.'); 3] {
            Ok(Token::Ellipsis)
        } else {
            Err(ScriptError::new(start, "`...`", "`..`"))
        }
    }

    /// Reads a number. As in packetdrill, a word may begin with digits too.
    fn number(&mut self, start: Position) -> Result<Token, ScriptError> {
        let mut text = self.text.take_while(is_word).to_owned();
        let point = self.text.peek() == Some('.');
        if point && self.text.peek_second().is_some_and(|d| d.is_ascii_digit()) {
            text.push('.');
            self.text.next();
            text.push_str(self.text.take_while(|c| c.is_ascii_digit()));
            return if text.chars().all(|c| c.is_ascii_digit() || c == '.') {
                Ok(Token::Decimal(text))
            } else {
                Err(ScriptError::new(start, "a number", &format!("`{text}`")))
            };
        }
        let read = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None if text.chars().all(|c| c.is_ascii_digit()) => text.parse(),
            None => return Ok(Token::Word(text)),
        };
        read.map(Token::Number).map_err(|_| {
            ScriptError::new(start, "a number of 64 bits at most", &format!("`{text}`"))
        })
    }

    /// Reads the text between two `quote` characters. A character after a backslash does not end it.
    fn quoted(&mut self, quote: char) -> Result<String, ScriptError> {
        let start = self.text.at;
        self.text.next();
        let mut text = String::new();
        loop {
            match self.text.next() {
                Some(c) if c == quote => return Ok(text),
                Some('\\') => {
                    text.push('\\');
                    text.extend(self.text.next());
                }
                Some(c) => text.push(c),
                None => return Err(unclosed(start, &format!("`{quote}` to close the text"))),
            }
        }
    }

    /// The text between two signs that are two characters long. Without the second, the place of the first.
    fn enclosed(&mut self, end: &str) -> Result<String, Position> {
        let start = self.text.at;
        self.text.skip(2);
        let text = self.text.take_until(end).ok_or(start)?;
        Ok(text.to_owned())
    }

    fn option(&mut self) -> Result<Token, ScriptError> {
        self.text.skip(2);
        let start = self.text.at;
        let name = self.text.take_while(is_word).to_owned();
        if name.is_empty() {
            return Err(ScriptError::new(start, "the name of an option", "`--`"));
        }
        if self.text.peek() != Some('=') {
            return Ok(Token::Option(name, None));
        }
        self.text.next();
        let value = match self.text.peek() {
            Some('"') => self.quoted('"')?,
            _ => self.text.take_while(|c| !c.is_whitespace()).to_owned(),
        };
        Ok(Token::Option(name, Some(value)))
    }
}
