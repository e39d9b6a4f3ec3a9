//! Splits the characters of a script into tokens with their places.

use std::iter::Peekable;
use std::str::Chars;

use crate::ast::Position;
use crate::error::ScriptError;

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
    rest: Peekable<Chars<'a>>,
    /// the characters after the next one, for looking ahead by two
    after: Chars<'a>,
    at: Position,
    stack: Option<String>,
}

/// Splits a script into tokens.
pub(crate) fn tokens(text: &str) -> Result<Tokens, ScriptError> {
    let mut lexer = Lexer {
        rest: text.chars().peekable(),
        after: text.chars(),
        at: Position { line: 1, column: 1 },
        stack: None,
    };
    lexer.after.next();
    let mut list = Vec::new();
    loop {
        lexer.skip_blank()?;
        let at = lexer.at;
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
    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn peek_second(&self) -> Option<char> {
        self.after.clone().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.after.next();
        if c == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek()
            && wanted(c)
        {
            taken.push(c);
            self.next();
        }
        taken
    }

    fn skip_blank(&mut self) -> Result<(), ScriptError> {
        loop {
            self.take_while(char::is_whitespace);
            match (self.peek(), self.peek_second()) {
                (Some('/'), Some('/')) => {
                    let comment = self.take_while(|c| c != '\n');
                    let directive = comment.trim_start_matches('/').trim();
                    if let Some(name) = directive.strip_prefix("fairport: stack ") {
                        self.stack = Some(name.trim().to_owned());
                    }
                }
                (Some('/'), Some('*')) => self.skip_block()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_block(&mut self) -> Result<(), ScriptError> {
        let start = self.at;
        self.next();
        self.next();
        loop {
            match self.next() {
                Some('*') if self.peek() == Some('/') => {
                    self.next();
                    return Ok(());
                }
                Some(_) => {}
                None => return Err(unclosed(start, "`*/` to close the comment")),
            }
        }
    }

    fn token(&mut self) -> Result<Token, ScriptError> {
        let start = self.at;
        let Some(c) = self.peek() else {
            return Ok(Token::End);
        };
        let second = self.peek_second();
        let begins_number = |c: char, second: Option<char>| {
            c.is_ascii_digit() || (c == '.' && second.is_some_and(|d| d.is_ascii_digit()))
        };
        match c {
            '"' => self.quoted('"').map(Token::Text),
            '`' => self.quoted('`').map(Token::BackQuoted),
            '%' if second == Some('{') => self.code(),
            '-' if second == Some('-') => self.option(),
            '-' if second.is_some_and(|d| d.is_ascii_digit()) => {
                self.next();
                match self.number(start)? {
                    Token::Number(number) => Ok(Token::Number(-number)),
                    token => Err(ScriptError::new(start, "a whole number", &token.shown())),
                }
            }
            '.' if second == Some('.') => self.ellipsis(start),
            _ if begins_number(c, second) => self.number(start),
            _ if is_word(c) => Ok(Token::Word(self.take_while(is_word))),
            _ => {
                self.next();
                Ok(Token::Sign(c))
            }
        }
    }

    fn ellipsis(&mut self, start: Position) -> Result<Token, ScriptError> {
        let dots = [self.next(), self.next(), self.next()];
        if dots == [Some('.'); 3] {
            Ok(Token::Ellipsis)
        } else {
            Err(ScriptError::new(start, "`...`", "`..`"))
        }
    }

    /// Reads a number. As in packetdrill, a word may begin with digits too.
    fn number(&mut self, start: Position) -> Result<Token, ScriptError> {
        let mut text = self.take_while(is_word);
        let point = self.peek() == Some('.');
        if point && self.peek_second().is_some_and(|d| d.is_ascii_digit()) {
            text.push('.');
            self.next();
            text.push_str(&self.take_while(|c| c.is_ascii_digit()));
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
        let start = self.at;
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some(c) if c == quote => return Ok(text),
                Some('\\') => {
                    text.push('\\');
                    text.extend(self.next());
                }
                Some(c) => text.push(c),
                None => return Err(unclosed(start, &format!("`{quote}` to close the text"))),
            }
        }
    }

    fn code(&mut self) -> Result<Token, ScriptError> {
        let start = self.at;
        self.next();
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('}') if self.peek() == Some('%') => {
                    self.next();
                    return Ok(Token::Code(text));
                }
                Some(c) => text.push(c),
                None => return Err(unclosed(start, "`}%` to close the code")),
            }
        }
    }

    fn option(&mut self) -> Result<Token, ScriptError> {
        self.next();
        self.next();
        let start = self.at;
        let name = self.take_while(is_word);
        if name.is_empty() {
            return Err(ScriptError::new(start, "the name of an option", "`--`"));
        }
        if self.peek() != Some('=') {
            return Ok(Token::Option(name, None));
        }
        self.next();
        let value = match self.peek() {
            Some('"') => self.quoted('"')?,
            _ => self.take_while(|c| !c.is_whitespace()),
        };
        Ok(Token::Option(name, Some(value)))
    }
}
